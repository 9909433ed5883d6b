/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading columns tells the same as reading events: on every sample of the format, whole and cut,
 * the events that come of the arrays are those that a reader of events gives, and damage is told
 * alike, except that of columns nobody asked for.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/hash.h"
#include "lib/base/io.h"
#include "lib/ige/columns.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

struct heard {
	uint64_t sum, n; /* sum does not depend on order: rows of grouped blocks stand as stored */
	struct ige_report report;
	int rc;
};

static int fd = -1;

static struct ige_reader *begin(struct world *w, const void *p, size_t n)
{
	struct ige_reader *r;

	if (fd < 0)
		fd = memfd_create("sample", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, p, n, 0) != (ssize_t)n ||
	    lseek(fd, 0, SEEK_SET) || ige_reader_open(&r, w, fd, false, "sample", NULL))
		abort();
	return r;
}

static void add(struct heard *h, int64_t end, uint64_t dur, uint16_t depth, uint32_t ctx,
		uint16_t op, int32_t ret, uint32_t stack)
{
	uint64_t v = hash_u64((uint64_t)end ^ hash_u64(dur ^ hash_u64(ctx + 1ull)));

	v = hash_u64(v ^ ((uint64_t)op << 48 | (uint64_t)depth << 32 | (uint32_t)ret));
	h->sum += hash_u64(v ^ stack);
	h->n++;
}

static void hear_events(struct heard *h, const void *p, size_t n)
{
	struct world *w = world_new();
	struct ige_reader *r = begin(w, p, n);
	struct event_stream *s = ige_reader_stream(r);
	struct stream_item item;

	*h = (struct heard){ 0 };
	while ((h->rc = s->next(s, &item, NULL)) == 1)
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++) {
			const struct event *ev = &item.events[i];

			add(h, ev->end_ns, ev->dur_ns, ev->depth, ev->ctx, ev->op, ev->ret,
			    ev->stack);
		}
	h->report = *ige_reader_report(r);
	ige_reader_free(r);
	world_free(w);
}

static void hear_columns(struct heard *h, const void *p, size_t n)
{
	struct world *w = world_new();
	struct ige_reader *r = begin(w, p, n);
	struct ige_block b;

	*h = (struct heard){ 0 };
	ige_reader_want(r, IGE_WANT_OWN);
	while ((h->rc = ige_reader_block(r, &b, NULL)) == 1) {
		const struct ige_arrays *a = ige_reader_arrays(r);
		struct ige_dict_reader *dict = ige_reader_dict(r);

		for (uint32_t i = 0; a && i < a->n; i++) {
			const struct ige_read_site *site = &dict->sites.v[a->column[IGE_SITE][i]];

			if (site->op)
				add(h, a->header.end_min + (int64_t)a->column[IGE_END][i],
				    a->column[IGE_DUR][i],
				    (uint16_t)(a->column[IGE_DEPTH] ? a->column[IGE_DEPTH][i] : 0),
				    ige_dict_world_id(dict, WORLD_CTX, a->column[IGE_CTX][i]),
				    site->op, site->ret, site->stack);
		}
	}
	h->report = *ige_reader_report(r);
	ige_reader_free(r);
	world_free(w);
}

/* damage: of a sparse column is none to a reader of columns, so it may tell less. */
static bool same(const struct heard *a, const struct heard *b)
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

static void test_sample(const char *path)
{
	struct buf file = { 0 };
	struct heard events, columns;
	unsigned bad = 0;
	char first[80] = "";

	if (read_file(path, &file, 1 << 20, NULL))
		abort();
	hear_events(&events, file.p, file.n);
	hear_columns(&columns, file.p, file.n);
	ok(same(&events, &columns), "%s: %llu events, %llu of columns; status %d, %d", path,
	   (unsigned long long)events.n, (unsigned long long)columns.n, events.rc, columns.rc);
	for (size_t cut = 0; cut < file.n; cut += 7) {
		hear_events(&events, file.p, cut);
		hear_columns(&columns, file.p, cut);
		if (!same(&events, &columns) && !bad++)
			snprintf(first, sizeof(first), ": first cut at %zu", cut);
	}
	is_u64(bad, 0, "%s, cut%s", path, first);
	buf_free(&file);
}

int main(void)
{
	static const char *const kinds[] = { "good", "truncated", "damaged", "future" };
	unsigned n = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		char path[600];
		struct dirent **entry;
		int many;

		snprintf(path, sizeof(path), "formats/samples/v1/%s", kinds[k]);
		many = scandir(path, &entry, NULL, alphasort);
		for (int i = 0; i < many; free(entry[i++])) {
			const char *name = entry[i]->d_name, *end = strrchr(name, '.');

			if (!end || strcmp(end, ".ige"))
				continue;
			snprintf(path, sizeof(path), "formats/samples/v1/%s/%s", kinds[k], name);
			test_sample(path);
			n++;
		}
		if (many >= 0)
			free(entry);
	}
	ok(n > 80, "%u samples", n);
	return tap_done();
}
