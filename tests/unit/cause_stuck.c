/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose steps stop: a hang where nothing from outside would end the wait, and none where
 * somebody may ask.
 */
#include "tests/unit/kinds.h"

#define STEP (2 * MS)

static struct stage s;
static struct actor v, helper;
static uint32_t place;

static int64_t make_steps(unsigned n)
{
	int64_t now = 0;

	for (unsigned i = 0; i < n; i++) {
		stage_call(&s, v, OP_CUDA_MEMCPY_ASYNC, 0, now, now + 10 * US)->stack = place;
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, now + 20 * US, now + 25 * US)->stack = place;
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, now + 30 * US, now + STEP)->stack = place;
		now += STEP;
	}
	return now;
}

/* A wait in which the recording ends. */
static void wait_on(struct actor a, unsigned object, int64_t from_ns, int64_t to_ns)
{
	struct event *ev = stage_offcpu(&s, a, 0, from_ns, to_ns, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, object);
	stage_set(ev, COL_OBJECT, 0x100 + object);
	ev->present &= ~(1u << op_column(op_builtin(OP_SCHED_OFFCPU), COL_CPU_IN));
}

int main(void)
{
	const struct world_frame frame = { .kind = FRAME_NATIVE, .offset = 0x1000 };
	int64_t now;

	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	helper = stage_actor(&s, 100, 101, 1, "helper");
	place = world_stack(s.w, (uint32_t[]){ world_frame(s.w, &frame) }, 1);

	now = make_steps(1000);
	wait_on(v, OBJECT_FUTEX, now, now + 8000 * MS);
	tells(&s, "hang", "made no step in the last 8.00 s: it waits to the end for a lock",
	      8000 * MS);

	now = make_steps(1000);
	wait_on(v, OBJECT_FUTEX, now, now + 500 * MS);
	not_told(&s, "hang", "a wait of half a second");

	now = make_steps(1000);
	wait_on(v, OBJECT_POLL, now, now + 8000 * MS);
	not_told(&s, "hang", "descriptors of whatever kind");

	now = make_steps(1000);
	stage_set(stage_event(&s, OP_CPU_SAMPLE, helper.ctx, 0, now, now), COL_CPU, 1);
	wait_on(v, OBJECT_TIMER, now, now + 8000 * MS);
	not_told(&s, "hang", "a sleep");
	stage_free(&s);
	return tap_done();
}
