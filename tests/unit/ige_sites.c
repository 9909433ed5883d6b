/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites with arguments are bounded in a segment: what comes after the last of them carries its
 * arguments in columns, what is known already still has them in its site, and nobody who reads
 * events sees a difference.
 */
#include <stdio.h>

#include "lib/ige/columns.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define NEW   (IGE_SITE_ARGS_MAX + 5000) /* kernels, each launched once */
#define AGAIN 3000 /* events after them: kernels in turn from before and from behind the bound */

/* Which kernel event i launches. */
static uint64_t func_of(uint32_t i)
{
	uint32_t kernel = i < NEW ? i : i % 2 ? i - NEW : NEW - 1 - (i - NEW);

	return 0x400000 + (uint64_t)kernel * 16;
}

static bool is_known(uint32_t i)
{
	return (func_of(i) - 0x400000) / 16 < IGE_SITE_ARGS_MAX;
}

static void write_launches(const struct fixture *f, struct buf *out, bool archive)
{
	struct ige_writer_options opt = { .clock_id = 1, .boot = 77, .archive = archive };
	const struct op_def *def = op_builtin(OP_CUDA_LAUNCH);
	struct fixture_sink s = { .sink = { fixture_put } };
	struct ige_writer *wr;
	int rc = ige_writer_new(&wr, f->w, &s.sink, &opt, NULL);

	for (uint32_t i = 0; !rc && i < NEW + AGAIN; i++) {
		struct event ev = fixture_event(f, 6 + 8); /* any */

		ev = (struct event){ .op = OP_CUDA_LAUNCH,
				     .end_ns = 1000000000 + (int64_t)i * 10,
				     .dur_ns = 5,
				     .ctx = ev.ctx };
		event_set(&ev, def, COL_FUNC, func_of(i));
		event_set(&ev, def, COL_STREAM, 7);
		rc = ige_writer_event(wr, &ev, NULL);
	}
	if (rc || ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	*out = s.bytes;
}

static void test_events(const struct buf *file, const char *what)
{
	const struct op_def *def = op_builtin(OP_CUDA_LAUNCH);
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, file->p, file->n);
	struct event_stream *s = ige_reader_stream(r);
	struct stream_item item;
	uint64_t wrong = 0;
	uint32_t n = 0;

	while (s->next(s, &item, NULL) == 1)
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++, n++) {
			uint64_t func = 0, stream = 0;

			wrong += !event_get(&item.events[i], def, COL_FUNC, &func) ||
				 !event_get(&item.events[i], def, COL_STREAM, &stream) ||
				 func != func_of(n) || stream != 7;
		}
	is_u64(n, NEW + AGAIN, "%s: all events", what);
	is_u64(wrong, 0, "with their arguments, wherever those stand");
	is_u64(ige_reader_report(r)->segments, 1, "of one segment");
	ige_reader_free(r);
	world_free(w);
}

static void test_places(const struct buf *file)
{
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, file->p, file->n);
	const struct ige_dict_reader *dict;
	struct ige_block b;
	uint64_t wrong = 0, with = 0, without = 0;
	uint32_t n = 0;

	ige_reader_want(r, IGE_WANT_OWN);
	dict = ige_reader_dict(r);
	while (ige_reader_block(r, &b, NULL) == 1) {
		const struct ige_arrays *a = ige_reader_arrays(r);

		for (uint32_t i = 0; a && i < a->n; i++, n++)
			wrong += !dict->sites.v[a->column[IGE_SITE][i]].args == is_known(n);
	}
	for (size_t i = 1; i < dict->sites.n; i++)
		*(dict->sites.v[i].args ? &with : &without) += 1;
	is_u64(n, NEW + AGAIN, "columns of all events");
	is_u64(wrong, 0, "arguments of sites already known still stand in the site, others do not");
	is_u64(with, IGE_SITE_ARGS_MAX, "so many sites have arguments");
	is_u64(without, 1, "all others are one");
	ige_reader_free(r);
	world_free(w);
}

int main(void)
{
	struct fixture f;
	struct buf file = { 0 };

	fixture_init(&f);
	write_launches(&f, &file, false);
	test_events(&file, "plain");
	test_places(&file);
	buf_free(&file);
	write_launches(&f, &file, true);
	test_events(&file, "for keeping");
	buf_free(&file);
	world_free(f.w);
	return tap_done();
}
