/* SPDX-License-Identifier: Apache-2.0 */
/* Several recordings read as one, in canonical order, whatever the order of operands. */
#include "lib/input/input.h"

#include "lib/world/event_order.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

static char names[3][32];

static void write_parts(struct fixture *f, uint32_t n)
{
	for (int part = 0; part < 3; part++) {
		struct fixture_sink s = { 0 };
		struct ige_writer *wr = fixture_writer(f, &s, 64);
		int fd;

		for (uint32_t i = 0; i < n; i++) {
			struct event ev = fixture_event(f, i);

			if (i % 3 == (uint32_t)part)
				ige_writer_event(wr, &ev, NULL);
		}
		ige_writer_finish(wr, NULL);
		ige_writer_free(wr);
		snprintf(names[part], sizeof(names[part]), "/tmp/ingero-join-XXXXXX");
		fd = mkstemp(names[part]);
		if (fd < 0 || write(fd, s.bytes.p, s.bytes.n) != (ssize_t)s.bytes.n)
			abort();
		close(fd);
		buf_free(&s.bytes);
	}
}

static uint64_t read_joined(const char *a, const char *b, const char *c, uint64_t *disorder,
			    uint64_t *lasts)
{
	const char *operands[] = { a, b, c };
	struct world *w = world_new();
	struct input *in;
	struct stream_item item;
	struct err e = { 0 };
	struct event last = { .end_ns = INT64_MIN };
	uint64_t sum = 0, i = 0;

	*disorder = *lasts = 0;
	if (input_open(&in, w, operands, 3, &e))
		abort();
	while (input_stream(in)->next(input_stream(in), &item, &e) == 1) {
		*lasts += item.kind == STREAM_LAST;
		for (size_t k = 0; item.kind == STREAM_EVENTS && k < item.n; k++, i++) {
			*disorder += i && world_event_order(w, &last, &item.events[k]) > 0;
			last = item.events[k];
			sum = sum * 31 + (uint64_t)last.end_ns + last.op;
		}
	}
	is_u64(i, 3000, "all events of all three");
	is_int(input_verdict(in, &(struct buf){ 0 }), 0, "all read whole");
	input_free(in);
	world_free(w);
	return sum;
}

int main(void)
{
	struct fixture f;
	struct buf notes = { 0 };
	struct input *in;
	struct err e = { 0 };
	uint64_t disorder, lasts, sum;
	const char *missing[] = { "/nonexistent/run.ige" };

	fixture_init(&f);
	write_parts(&f, 3000);
	sum = read_joined(names[0], names[1], names[2], &disorder, &lasts);
	is_u64(disorder, 0, "in canonical order");
	is_u64(lasts, 1, "one clean end");
	is_u64(read_joined(names[2], names[0], names[1], &disorder, &lasts), sum,
	       "operands in another order, same stream");
	for (int i = 0; i < 3; i++)
		unlink(names[i]);
	is_int(input_open(&in, f.w, missing, 1, &e), ERR_CANNOT, "a missing file is refused");
	like(e.text, "cannot open /nonexistent/run.ige: No such file", "by name and reason");
	buf_free(&notes);
	world_free(f.w);
	return tap_done();
}
