/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that allocates and frees memory of the device, for tests of what is told of that.
 */
#ifndef INGERO_TESTS_MEMORY_LOOP_H
#define INGERO_TESTS_MEMORY_LOOP_H

#include "lib/event/tier.h"
#include "tests/unit/kinds.h"

#define STEPS 1000
#define EVERY (10 * MS)
#define MIB   (1 << 20)

static struct stage s;
static struct actor v;
static unsigned line; /* of the stacks that the calls carry */
static int64_t window_ns,
	every_ns = 1; /* memory is recorded for so long of each of those; 0: all of it */

static struct event *memory(uint16_t op, int64_t start, int64_t ns, uint64_t ptr, uint64_t bytes)
{
	static struct event unrecorded;
	struct event *ev = window_ns && start % every_ns >= window_ns
				   ? &unrecorded
				   : stage_call(&s, v, op, 0, start, start + ns);

	ev->op = op;
	ev->stack = line;
	stage_set(ev, COL_PTR, ptr);
	if (bytes)
		stage_set(ev, COL_BYTES, bytes);
	return ev;
}

static void get(int64_t start, int64_t ns, uint64_t ptr, uint64_t bytes)
{
	memory(OP_CUDA_MALLOC, start, ns, ptr, bytes);
}

static void put(int64_t start, int64_t ns, uint64_t ptr)
{
	memory(OP_CUDA_FREE, start, ns, ptr, 0);
}

static uint32_t stack_of(const char *function, const char *file, unsigned line_number)
{
	struct world_frame f = { .kind = FRAME_PYTHON,
				 .offset = line_number,
				 .name = world_string(s.w, bytes_of(function)),
				 .file = world_string(s.w, bytes_of(file)) };
	uint32_t frame = world_frame(s.w, &f);

	return world_stack(s.w, &frame, 1);
}

/* What a loop does besides. */
static void step(int64_t t)
{
	for (unsigned i = 0; i < 30; i++)
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + 2 * MS + i * 10 * US,
			   t + 2 * MS + i * 10 * US + 5 * US);
	/* the device always has something to do, on a stream that nobody waits for */
	stage_set(stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + 2900 * US, t + 2905 * US), COL_STREAM,
		  9);
	stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 3 * MS, t + 9 * MS);
}

static void steps(void (*each)(unsigned i, int64_t t))
{
	for (unsigned i = 0; i < STEPS; i++) {
		each(i, i * EVERY);
		step(i * EVERY);
	}
}

#endif
