/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes, checksums made to fit, as two recordings that are merged. Whatever
 * they are, what comes out is sound and ends cleanly, holds each event that a reader of the two
 * finds, and is the same in either order; a run with pseudonyms holds as many.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/input/merge.h"
#include "tests/fuzz/mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct out {
	struct merge_target target;
	struct ige_sink sink;
	struct buf bytes;
};

static int put(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n, uint32_t events,
	       struct err *e)
{
	struct out *out = (struct out *)((char *)s - offsetof(struct out, sink));

	(void)kind;
	(void)events;
	(void)e;
	buf_add(&out->bytes, p, n);
	return 0;
}

static int sink_of(struct merge_target *t, uint32_t node, struct ige_sink **sink, struct err *e)
{
	(void)node;
	(void)e;
	*sink = &((struct out *)t)->sink;
	return 0;
}

/* Of two files; < 0: not even one can be read so far. */
static int merge(const char *a, const char *b, bool mask, struct out *out, uint64_t *lost)
{
	const char *names[] = { a, b };
	struct keyhash key = keyhash_from("fuzz", 4);
	struct world *w = world_new(), *masked = mask ? world_new() : NULL;
	struct merge_options opt = { .recover = true,
				     .anonymize = mask ? &key : NULL,
				     .masked = masked };
	struct merge_result result = { 0 };
	struct input *in = NULL;
	int rc;

	*out = (struct out){ .target = { .sink = sink_of }, .sink = { put } };
	rc = input_open_counted(&in, w, names, 2, NULL);
	if (!rc)
		rc = merge_run(w, in, &opt, &out->target, &result, NULL);
	*lost = 0;
	/* What is written is what was read, but for times no file can hold. */
	if (!rc && result.events != input_report(in).events)
		abort();
	input_free(in);
	world_free(masked);
	world_free(w);
	return rc;
}

/* Events in sound bytes. */
static uint64_t count(const struct buf *bytes, uint64_t *lost)
{
	struct world *w = world_new();
	int fd = memfd_create("merged", MFD_CLOEXEC);
	const struct ige_report *report;
	struct event_stream *s;
	struct ige_reader *r;
	struct stream_item item;
	uint64_t n = 0;

	if (fd < 0 || write(fd, bytes->p, bytes->n) != (ssize_t)bytes->n ||
	    lseek(fd, 0, SEEK_SET) || ige_reader_open(&r, w, fd, true, "merged", NULL))
		abort();
	s = ige_reader_stream(r);
	while (s->next(s, &item, NULL) == 1)
		n += item.n;
	report = ige_reader_report(r);
	if (report->damaged_blocks || report->skipped_bytes || report->truncated ||
	    report->unterminated)
		abort();
	*lost = report->lost_events;
	ige_reader_free(r);
	world_free(w);
	return n;
}

static int file_of(const uint8_t *p, size_t n, char path[32])
{
	unsigned char *copy = malloc(n + 1);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (!copy || fd < 0)
		abort();
	memcpy(copy, p, n);
	mend(copy, n);
	if (write(fd, copy, n) != (ssize_t)n)
		abort();
	free(copy);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	size_t half = n < 4 ? n : 4 + (size_t)le_get(p, 4) % (n - 3);
	char a[32], b[32];
	struct out one, other, hidden;
	uint64_t lost;
	int fds[2], rc;

	if (n < 4 || n > 1u << 20)
		return 0;
	fds[0] = file_of(p + 4, half - 4, a);
	fds[1] = file_of(p + half, n - half, b);
	rc = merge(a, b, false, &one, &lost);
	/* Of two that cannot be read the first one met is told. */
	if (!merge(b, a, false, &other, &lost) != !rc || !merge(a, b, true, &hidden, &lost) != !rc)
		abort();
	if (!rc) {
		uint64_t events;

		if (one.bytes.n != other.bytes.n ||
		    (one.bytes.n && memcmp(one.bytes.p, other.bytes.p, one.bytes.n) != 0))
			abort();
		if (one.bytes.n) {
			events = count(&one.bytes, &lost);
			if (count(&hidden.bytes, &lost) != events)
				abort();
		}
	}
	buf_free(&one.bytes);
	buf_free(&other.bytes);
	buf_free(&hidden.bytes);
	close(fds[0]);
	close(fds[1]);
	return 0;
}
