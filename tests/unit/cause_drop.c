/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that becomes slower and stays so, and what looks like it: one that recovers, a pause, a
 * slow beginning, the host taking the time, a loop that ends.
 */
#include "tests/unit/kinds.h"

#define ALWAYS_INLINE (2 * MS)
#define SLOW	      (3 * MS)

static struct stage s;
static struct actor v, hog;
static int64_t now;
static uint32_t place;

/* One step: a copy, a launch, a wait for the device until the step is over. */
static void step(int64_t ns)
{
	stage_call(&s, v, OP_CUDA_MEMCPY_ASYNC, 0, now, now + 10 * US)->stack = place;
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, now + 20 * US, now + 25 * US)->stack = place;
	stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, now + 30 * US, now + ns)->stack = place;
	now += ns;
}

static void steps(int64_t for_ns, int64_t ns)
{
	int64_t until = now + for_ns;

	while (now < until)
		step(ns);
}

static void begins(void)
{
	now = 0;
}

int main(void)
{
	const struct world_frame frame = { .kind = FRAME_NATIVE, .offset = 0x1000 };

	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	hog = stage_actor(&s, 200, 200, 50, "hog");
	place = world_stack(s.w, (uint32_t[]){ world_frame(s.w, &frame) }, 1);

	/* The steps of the cell in which it changes are told with the slow ones or not at all. */
	begins();
	steps(12000 * MS, ALWAYS_INLINE);
	steps(12000 * MS, SLOW);
	tells(&s, "throughput-drop", "instead of 2.00 ms, because of the GPU", 12000 / 3 * MS);

	begins();
	steps(8000 * MS, ALWAYS_INLINE);
	steps(8000 * MS, SLOW);
	steps(8000 * MS, ALWAYS_INLINE);
	silent(&s, "slower for a while");

	begins();
	steps(8000 * MS, SLOW);
	steps(16000 * MS, ALWAYS_INLINE);
	silent(&s, "slow at the beginning");

	begins();
	for (unsigned i = 0; i < 12000; i++)
		step(i % 400 == 399 ? 100 * MS : ALWAYS_INLINE);
	silent(&s, "a slow step now and then");

	begins();
	steps(12000 * MS, ALWAYS_INLINE);
	now += 12000 * MS;
	step(ALWAYS_INLINE);
	silent(&s, "a loop that ends");

	begins();
	steps(12000 * MS, ALWAYS_INLINE);
	for (unsigned i = 0; i < 4000; i++) {
		stage_offcpu(&s, v, 0, now, now + MS, MS, 0);
		stage_occupied(&s, hog, 0, now, now + MS);
		now += MS;
		step(ALWAYS_INLINE);
	}
	not_told(&s, "throughput-drop", "somebody takes the CPU from then on");
	stage_free(&s);
	return tap_done();
}
