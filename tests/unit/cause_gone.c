/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that come and go for long, each of which leaves its memory to the driver to free, as
 * most do: what is kept of them does not grow with how many there were, and the last of them are as
 * well known as the first.
 */
#include "tests/tap.h"

#include "lib/account/analysis_state.h"
#include "tests/unit/kinds.h"

#define MANY   12000
#define EVERY  (10 * MS)
#define LASTED (5 * MS)
/* Of the last seconds all are there: until nothing more can come of them. */
#define RECENT (2 * ENDED_NS / EVERY)
#define TOLD   (LIVE_TOLD + RECENT)

static int nothing(struct cause_sink *s, const struct record *r, struct err *e)
{
	(void)s;
	(void)r;
	(void)e;
	return 0;
}

/* The stack in which the i-th allocates: every process has code of its own. */
static uint32_t stack_of(struct stage *s, unsigned i)
{
	struct world_frame f = { .kind = FRAME_PYTHON,
				 .offset = i,
				 .name = world_string(s->w, bytes_of("load")),
				 .file = world_string(s->w, bytes_of("/srv/job.py")) };
	uint32_t frame = world_frame(s->w, &f);

	return world_stack(s->w, &frame, 1);
}

/* Where there is no more room for places, those that are known go on, and nothing goes to somebody
 * else's. */
static void full(void)
{
	struct where w = { 0 };
	struct where_place top[2];

	for (uint32_t i = 0; i < WHERE_MAX; i++)
		where_add(&w, 1, OP_CUDA_MALLOC, i + 1, 1, 1);
	where_add(&w, 1, OP_CUDA_MALLOC, 7, 100, 100);
	is_u64(where_top(&w, 1, top, 1), 1, "a place that was known");
	is_u64(top[0].stack, 7, "gets what happens there");
	is_u64(top[0].lost_ns, 101, "and had");
	where_add(&w, 1, OP_CUDA_MALLOC, WHERE_MAX + 1, 200, 200);
	is_u64(where_top(&w, 1, top, 1), 1, "a new one");
	is_u64(top[0].stack, 0, "names no stack");
	for (uint32_t i = 0; i < 2 * WHERE_MAX; i++)
		where_add(&w, 2 + i, OP_CUDA_FREE, 1, 5, 5);
	is_u64(where_top(&w, WHERE_MAX, top, 2), 1, "where not even those fit");
	is_u64(top[0].lost_ns, 5, "each has its own");
	is_u64(where_top(&w, 1 + 2 * WHERE_MAX, top, 2), 0, "or none");
	where_free(&w);
}

int main(void)
{
	struct stage s = stage_new();
	struct cause_sink sink = { nothing };
	struct cause *c = cause_new(s.w, NULL, &sink);
	struct stream_item it = { .kind = STREAM_EVENTS };
	const struct live_site *last = NULL;
	uint32_t stack = 0;
	unsigned bad = 0;

	for (unsigned i = 0; i < MANY; i++) {
		struct actor a = stage_actor(&s, 100 + i, 100 + i, 1, "job");
		int64_t at = i * EVERY;
		struct event *ev = stage_call(&s, a, OP_CUDA_MALLOC, 0, at, at + 10 * US);

		stack = ev->stack = stack_of(&s, i);
		stage_set(ev, COL_BYTES, 1 << 20);
		stage_set(ev, COL_PTR, 0x7000000);
		stage_event(&s, OP_PROC_EXIT, a.ctx, 0, at + LASTED, at + LASTED);
		it.events = s.ev.v;
		it.n = s.ev.n;
		bad += cause_item(c, &it, NULL) < 0;
		s.ev.n = 0;
	}
	is_u64(bad, 0, "%u processes that ended with memory", MANY);
	ok(c->live->processes.n <= TOLD, "%zu of them are kept", c->live->processes.n);
	ok(c->live->sites.n <= TOLD, "and %zu of their places", c->live->sites.n);
	for (size_t i = 0; i < c->live->sites.n; i++) {
		if (c->live->sites.v[i].stack == stack)
			last = &c->live->sites.v[i];
	}
	ok(last != NULL, "the last one's among them");
	is_int(cause_finish(c, NULL), 0, "and analyzed");
	cause_free(c);
	stage_free(&s);
	full();
	return tap_done();
}
