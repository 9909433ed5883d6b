/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording read twice: as events, and as columns of which events are made. What was heard must
 * be the same, whatever the bytes are.
 */
#ifndef INGERO_TESTS_FUZZ_BOTH_H
#define INGERO_TESTS_FUZZ_BOTH_H

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/ige/columns.h"

struct heard {
	uint64_t sum, n; /* sum does not depend on order: rows of grouped blocks stand as stored */
	struct ige_report report;
	int rc;
};

static inline struct ige_reader *both_begin(struct world *w, const void *p, size_t n)
{
	static int fd = -1;
	struct ige_reader *r;

	if (fd < 0)
		fd = memfd_create("sample", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, p, n, 0) != (ssize_t)n ||
	    lseek(fd, 0, SEEK_SET) || ige_reader_open(&r, w, fd, false, "sample", NULL))
		abort();
	return r;
}

static inline void both_add(struct heard *h, int64_t end, uint64_t dur, uint16_t depth,
			    uint32_t ctx, uint16_t op, int32_t ret, uint32_t stack)
{
	uint64_t v = hash_u64((uint64_t)end ^ hash_u64(dur ^ hash_u64(ctx + 1ull)));

	v = hash_u64(v ^ ((uint64_t)op << 48 | (uint64_t)depth << 32 | (uint32_t)ret));
	h->sum += hash_u64(v ^ stack);
	h->n++;
}

static inline void hear_events(struct heard *h, const void *p, size_t n)
{
	struct world *w = world_new();
	struct ige_reader *r = both_begin(w, p, n);
	struct event_stream *s = ige_reader_stream(r);
	struct stream_item item;

	*h = (struct heard){ 0 };
	while ((h->rc = s->next(s, &item, NULL)) == 1)
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++) {
			const struct event *ev = &item.events[i];

			both_add(h, ev->end_ns, ev->dur_ns, ev->depth, ev->ctx, ev->op, ev->ret,
				 ev->stack);
		}
	h->report = *ige_reader_report(r);
	ige_reader_free(r);
	world_free(w);
}

static inline void hear_columns(struct heard *h, const void *p, size_t n)
{
	struct world *w = world_new();
	struct ige_reader *r = both_begin(w, p, n);
	struct ige_block b;

	*h = (struct heard){ 0 };
	ige_reader_want(r, IGE_WANT_OWN | IGE_WANT(IGE_ORDER));
	while ((h->rc = ige_reader_block(r, &b, NULL)) == 1) {
		const struct ige_arrays *a = ige_reader_arrays(r);
		struct ige_dict_reader *dict = ige_reader_dict(r);

		for (uint32_t i = 0; a && i < a->n; i++) {
			const struct ige_read_site *site = &dict->sites.v[a->column[IGE_SITE][i]];

			if (site->op)
				both_add(h, a->header.end_min + (int64_t)a->column[IGE_END][i],
					 a->column[IGE_DUR][i],
					 (uint16_t)(a->column[IGE_DEPTH] ? a->column[IGE_DEPTH][i]
									 : 0),
					 ige_dict_world_id(dict, WORLD_CTX, a->column[IGE_CTX][i]),
					 site->op, site->ret, site->stack);
		}
	}
	h->report = *ige_reader_report(r);
	ige_reader_free(r);
	world_free(w);
}

/* damage: of a sparse column is none to a reader of columns, so it may tell less. */
static inline bool both_same(const struct heard *a, const struct heard *b)
{
	return a->rc == b->rc && a->n == b->n && a->sum == b->sum &&
	       a->report.events == b->report.events && a->report.blocks == b->report.blocks &&
	       a->report.segments == b->report.segments &&
	       a->report.skipped_bytes == b->report.skipped_bytes &&
	       a->report.truncated == b->report.truncated &&
	       a->report.unterminated == b->report.unterminated &&
	       a->report.too_new == b->report.too_new &&
	       b->report.damaged_blocks <= a->report.damaged_blocks;
}

#endif
