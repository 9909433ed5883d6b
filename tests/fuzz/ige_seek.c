/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes, checksums made to fit, sought. Where a reader of the whole finds
 * nothing wrong, the events of a stretch are those it finds there: an index that lies costs nothing
 * but time.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/ige/seek.h"
#include "tests/fuzz/mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct found {
	uint64_t n, hash, all, lost;
	int64_t first, last;
	int rc;
};

static struct found find_all(struct event_stream *s, int64_t since, int64_t until)
{
	struct found f = { .first = INT64_MAX, .last = INT64_MIN };
	struct stream_item item;
	struct err e = { 0 };

	while ((f.rc = s->next(s, &item, &e)) == 1) {
		f.all += item.n + item.skipped;
		f.lost += item.lost;
		for (size_t i = 0; i < item.n; i++) {
			const struct event *ev = &item.events[i];
			uint64_t v[] = { (uint64_t)ev->end_ns, ev->dur_ns };

			if (ev->end_ns < since || event_start(ev) >= until)
				continue;
			f.n++;
			f.hash = hash_bytes(v, sizeof(v), f.hash);
			f.first = ev->end_ns < f.first ? ev->end_ns : f.first;
			f.last = ev->end_ns > f.last ? ev->end_ns : f.last;
		}
	}
	return f;
}

static void compare(struct ige_seek *s, struct world *w, int fd, int64_t since, int64_t until)
{
	struct ige_reader *r;
	struct found a, b;

	if (lseek(fd, 0, SEEK_SET) || ige_reader_open(&r, w, fd, false, "input", NULL))
		abort();
	a = find_all(ige_reader_stream(r), since, until);
	ige_reader_free(r);
	b = find_all(ige_seek_stream(s, since, until, IGE_SEEK_EVENTS | IGE_SEEK_RECORDS, 0), since,
		     until);
	if (a.n != b.n || a.hash != b.hash || a.all != b.all || a.lost != b.lost || a.rc != b.rc)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	unsigned char *copy = n > (1u << 20) ? NULL : malloc(n + 1);
	struct world *w = world_new();
	struct ige_seek *s = NULL;
	struct ige_reader *r;
	const struct ige_report *report;
	struct found whole;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (!copy || !w || fd < 0)
		goto out;
	memcpy(copy, p, n);
	mend(copy, n);
	if (write(fd, copy, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
		abort();
	if (ige_reader_open(&r, w, fd, false, "input", NULL))
		abort();
	whole = find_all(ige_reader_stream(r), INT64_MIN, INT64_MAX);
	report = ige_reader_report(r);
	if (!ige_seek_open(&s, w, fd, "input", NULL)) {
		if (!whole.rc && !report->damaged_blocks && !report->unknown_blocks &&
		    (!report->skipped_bytes || report->truncated)) {
			compare(s, w, fd, INT64_MIN, INT64_MAX);
			if (whole.n) {
				compare(s, w, fd, whole.first, whole.first + 1);
				compare(s, w, fd, whole.last - 20000, whole.last);
			}
		} else {
			/* Whatever it gives, it ends. */
			find_all(ige_seek_stream(s, INT64_MIN, INT64_MAX, IGE_SEEK_EVENTS, 0),
				 INT64_MIN, INT64_MAX);
		}
		ige_seek_free(s);
	}
	ige_reader_free(r);
out:
	if (fd >= 0)
		close(fd);
	world_free(w);
	free(copy);
	return 0;
}
