/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about memory of the device, and what only looks like them.
 */
#include "tests/unit/kinds.h"

#define STEPS 600
#define EVERY (10 * MS)
#define MIB   (1 << 20)

static struct stage s;
static struct actor v;
static unsigned line; /* of the stacks that the calls carry */

static struct event *memory(uint16_t op, int64_t start, int64_t ns, uint64_t ptr, uint64_t bytes)
{
	struct event *ev = stage_call(&s, v, op, 0, start, start + ns);

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

/* What a loop does besides. */
static void step(int64_t t)
{
	for (unsigned i = 0; i < 30; i++)
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + 2 * MS + i * 10 * US,
			   t + 2 * MS + i * 10 * US + 5 * US);
	stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 3 * MS, t + 9 * MS);
}

static void steps(void (*each)(unsigned i, int64_t t))
{
	for (unsigned i = 0; i < STEPS; i++) {
		each(i, i * EVERY);
		step(i * EVERY);
	}
}

/* ---- alloc-churn ---- */

static void churn(unsigned i, int64_t t)
{
	(void)i;
	get(t, 300 * US, 0x1000, 32 * MIB);
	put(t + MS, 200 * US, 0x1000);
}

static void many_sizes(unsigned i, int64_t t)
{
	get(t, 300 * US, 0x1000, (1 + i * 7 % 16) * MIB);
	put(t + MS, 200 * US, 0x1000);
}

static void cheap_churn(unsigned i, int64_t t)
{
	(void)i;
	get(t, 40 * US, 0x1000, 32 * MIB);
	put(t + MS, 10 * US, 0x1000);
}

static void held_long(unsigned i, int64_t t)
{
	if (i >= 150)
		put(t, 200 * US, 0x1000 + i - 150);
	get(t + MS, 300 * US, 0x1000 + i, 32 * MIB);
}

int main(void)
{
	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	steps(churn);
	tells(&s, "alloc-churn", "same 32.0 MiB", (STEPS - 1) * 500 * US);
	steps(many_sizes);
	silent(&s, "blocks of many sizes are looked for");
	steps(cheap_churn);
	silent(&s, "pairs that take 0.5 % of the time");
	steps(held_long);
	silent(&s, "blocks that are held for 1.5 s");
	stage_free(&s);
	return tap_done();
}
