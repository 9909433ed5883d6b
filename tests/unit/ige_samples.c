/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sample of the format, cut at every byte and with a bit of every byte turned: the reading
 * ends, what comes out is of this world, a cut gives the beginning of what there was, and no turned
 * bit of a sound recording goes unnoticed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/hash.h"
#include "lib/base/io.h"
#include "lib/base/vec.h"
#include "tests/tap.h"
#include "tests/unit/samples.h"
#include "tests/unit/fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__) || defined(INGERO_SLOW)
#define STEP 5 /* a prime, so that in each sample other bytes of headers are met */
#else
#define STEP 1
#endif

struct heard {
	VEC(uint64_t) events; /* a number each */
	struct ige_report report;
	bool wrong;
	int rc;
};

static int fd = -1;

static void hear(struct heard *h, const void *p, size_t n)
{
	struct world *w = world_new();
	struct ige_reader *r;
	struct event_stream *s;
	struct stream_item item;
	struct err e = { 0 };

	if (fd < 0)
		fd = memfd_create("sample", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, p, n, 0) != (ssize_t)n ||
	    lseek(fd, 0, SEEK_SET) || ige_reader_open(&r, w, fd, false, "sample", &e))
		abort();
	h->events.n = 0;
	h->wrong = false;
	s = ige_reader_stream(r);
	while ((h->rc = s->next(s, &item, &e)) == 1)
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++) {
			const struct event *ev = &item.events[i];
			const struct op_def *def = world_op(w, ev->op);

			h->wrong |= !def || ev->present >> def->ncols ||
				    ev->ctx > world_count(w, WORLD_CTX) ||
				    ev->stack > world_count(w, WORLD_STACK);
			if (!vec_push(&h->events,
				      hash_u64((uint64_t)ev->end_ns ^ hash_u64(ev->dur_ns) ^
					       hash_u64(ev->op + 1ull))))
				abort();
		}
	h->report = *ige_reader_report(r);
	ige_reader_free(r);
	world_free(w);
}

static bool begins(const struct heard *part, const struct heard *whole)
{
	return part->events.n <= whole->events.n &&
	       (!part->events.n || !memcmp(part->events.v, whole->events.v,
					   part->events.n * sizeof(part->events.v[0])));
}

static void test_sample(const char *kind, const char *path)
{
	bool good = !strcmp(kind, "good"), newer = !strcmp(kind, "future");
	struct buf file = { 0 };
	struct heard whole = { .rc = 0 }, part = { .rc = 0 };
	char first[80] = "";
	unsigned bad = 0;

	if (read_file(path, &file, 1 << 20, NULL))
		abort();
	hear(&whole, file.p, file.n);
	for (size_t cut = 0; cut < file.n; cut += STEP) {
		bool fine;

		hear(&part, file.p, cut);
		fine = !part.wrong && (part.rc == 0 || part.rc == ERR_DAMAGED || newer);
		if (good || newer)
			fine &= begins(&part, &whole) && !part.report.damaged_blocks;
		if (!fine && !bad++)
			snprintf(first, sizeof(first), ": first cut at %zu", cut);
	}
	for (size_t at = 0; at < file.n; at += STEP) {
		char was = file.p[at];
		bool fine;

		file.p[at] ^= (char)(1 << (at * 5 + at / 8) % 8);
		hear(&part, file.p, file.n);
		file.p[at] = was;
		fine = !part.wrong &&
		       (part.rc == 0 || part.rc == ERR_DAMAGED || newer || part.rc == whole.rc);
		if (good)
			/* What only helps seekers may change unseen, as long as nothing else does. */
			fine &= part.rc || part.report.damaged_blocks ||
				part.report.skipped_bytes ||
				(strstr(path, "index") && begins(&whole, &part));
		if (!fine && !bad++)
			snprintf(first, sizeof(first), ": first flip at %zu", at);
	}
	is_u64(bad, 0, "%s%s", path, first);
	vec_free(&whole.events);
	vec_free(&part.events);
	buf_free(&file);
}

int main(void)
{
	unsigned n = samples_each(test_sample);

	ok(n > 80, "%u samples", n);
	return tap_done();
}
