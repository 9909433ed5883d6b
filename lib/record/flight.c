/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: the last segment is the one the writer is filling; all before it are whole.
 */
#include "lib/record/flight.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"

struct segment {
	struct segment *next;
	int64_t end_ns; /* when it was cut */
	struct buf text;
};

static int append_bytes(struct ige_sink *sink, enum ige_put_kind kind, const void *p, size_t n,
			uint32_t events, struct err *e)
{
	struct record_flight *f = (struct record_flight *)sink;

	(void)kind;
	(void)events;
	if (!f->last) {
		f->first = f->last = calloc(1, sizeof(*f->last));
		if (!f->last)
			return err_nomem(e);
	}
	buf_add(&f->last->text, p, n);
	f->bytes += n;
	return f->last->text.failed ? err_nomem(e) : 0;
}

void record_flight_init(struct record_flight *f, uint64_t window_ns, uint64_t bytes_max)
{
	*f = (struct record_flight){ .sink = { append_bytes },
				     .window_ns = window_ns,
				     .bytes_max = bytes_max };
}

static void drop_oldest(struct record_flight *f)
{
	struct segment *s = f->first;

	f->first = s->next;
	if (!f->first)
		f->last = NULL;
	f->bytes -= s->text.n;
	buf_free(&s->text);
	free(s);
}

void record_flight_free(struct record_flight *f)
{
	while (f->first)
		drop_oldest(f);
}

uint64_t record_flight_filling(const struct record_flight *f)
{
	return f->last ? f->last->text.n : 0;
}

void record_flight_cut(struct record_flight *f, int64_t now_ns, int64_t want_ns)
{
	struct segment *last = f->last, *next;

	if (!last || last->text.n == 0)
		return;
	last->end_ns = now_ns;
	/* A segment is needed as long as its end lies in the window. */
	while (f->first != last && want_ns - f->first->end_ns > (int64_t)f->window_ns)
		drop_oldest(f);
	while (f->first != last && f->bytes > f->bytes_max) {
		f->given_up_ns = f->first->end_ns;
		drop_oldest(f);
	}
	next = calloc(1, sizeof(*next));
	if (!next) /* the next segment joins this one: longer, as good */
		return;
	last->next = next;
	f->last = next;
}

int record_flight_dump(const struct record_flight *f, int fd, uint64_t *bytes, struct err *e)
{
	int rc = 0;

	*bytes = 0;
	for (const struct segment *s = f->first; s && rc == 0; s = s->next) {
		rc = write_all(fd, s->text.p, s->text.n, e);
		*bytes += s->text.n;
	}
	return rc;
}
