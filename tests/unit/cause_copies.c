/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that a thread waits for, and copies that only look like it.
 */
#include "tests/unit/kinds.h"

#define STEPS 500
#define EVERY (10 * MS)

static struct stage s;
static struct actor v;

static void copy(uint16_t op, int64_t start, int64_t ns, uint64_t bytes, uint64_t direction)
{
	struct event *ev = stage_call(&s, v, op, 0, start, start + ns);

	stage_set(ev, COL_BYTES, bytes);
	stage_set(ev, COL_DIRECTION, direction);
}

static void kernel(int64_t start)
{
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, start, start + 5 * US);
}

int main(void)
{
	int64_t t;

	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY, t, 2 * MS, 16 << 20, 1);
		kernel(t + 2 * MS);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 4 * MS, t + EVERY);
	}
	tells(&s, "copy-bound", "to the device", STEPS * 2 * MS);

	/* memory that is not pinned: the asynchronous call returns when the bytes have been moved */
	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY_ASYNC, t, 3 * MS, 16 << 20, 1);
		kernel(t + 4 * MS);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 5 * MS, t + EVERY);
	}
	tells(&s, "copy-bound", "to the device", STEPS * 3 * MS);

	/* of a copy that waits for kernels, what other copies take for so many bytes */
	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY, t, MS, 8 << 20, 2);
		kernel(t + MS);
		copy(OP_CUDA_MEMCPY, t + 4 * MS, 6 * MS, 8 << 20, 2);
	}
	tells(&s, "copy-bound", "from the device", STEPS * (2 * MS + 20 * US));

	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY_ASYNC, t, 8 * US, 64 << 20, 1);
		kernel(t + MS);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 2 * MS, t + EVERY);
	}
	silent(&s, "copies that go on while kernels run");

	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		kernel(t);
		copy(OP_CUDA_MEMCPY, t + MS, 9 * MS, 4, 2);
	}
	silent(&s, "the loss is read with a copy, which waits for the kernels");

	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY, t, 80 * US, 512 << 10, 1);
		kernel(t + 80 * US);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 2 * MS, t + EVERY);
	}
	silent(&s, "copies that take 0.8 % of the time");

	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		for (unsigned i = 0; i < 20; i++)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + i * 100 * US,
				   t + i * 100 * US + 60 * US);
		copy(OP_CUDA_MEMCPY_ASYNC, t + 3 * MS, 130 * US, 256 << 10, 1);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 4 * MS, t + EVERY);
	}
	silent(&s, "where every submission is slow, copies are too");
	stage_free(&s);
	return tap_done();
}
