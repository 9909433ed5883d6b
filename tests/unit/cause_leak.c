/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory that grows to the end (gpu-leak), and what only looks like it.
 */
#include "tests/unit/memory_loop.h"

static void leaks(unsigned i, int64_t t)
{
	if (i % 10 == 0)
		get(t, 50 * US, 0x1000 + i, 4 * MIB);
}

/* Its machine's recording ends, and another's goes on for as long again. */
static void others_go_on(void)
{
	struct world_node n = { .uuid = { 9, 9, 9 }, .boot = 8 };
	struct record *r = stage_record(&s, RECORD_CLOCK);
	uint32_t node = s.node;
	struct actor other;

	REC_SET(r, CLOCK, mono_ns, STEPS * EVERY);
	REC_SET(r, CLOCK, node, node);
	s.node = world_node(s.w, &n);
	other = stage_actor(&s, 200, 200, 1, "other");
	stage_call(&s, other, OP_CUDA_LAUNCH, 0, 2 * STEPS * EVERY - MS, 2 * STEPS * EVERY);
	s.node = node;
}

/* In a program that allocates and frees for every operation, with few calls beside. */
static void leaks_among_others(unsigned i, int64_t t)
{
	for (unsigned k = 0; k < 24; k++) {
		get(t + k * 20 * US, 2 * US, 0x100000 + k, (1 + k) * 4096);
		put(t + k * 20 * US + 10 * US, 2 * US, 0x100000 + k);
	}
	leaks(i, t + MS);
}

/* It works on some blocks at a time, more than a section of the time grows by, and puts these away
 * before it exits. */
static void leaks_and_tidies(unsigned i, int64_t t)
{
	if (i >= 60)
		put(t + 100 * US, 5 * US, 0x90000 + i - 60);
	get(t + 200 * US, 5 * US, 0x90000 + i, 8 * MIB);
	leaks(i, t + MS);
	if (i < STEPS - 1)
		return;
	for (unsigned k = 0; k < 60; k++)
		put(t + 9300 * US + k * 10 * US, 5 * US, 0x90000 + i - k);
	stage_call(&s, v, OP_PROC_EXIT, 0, t + 9990 * US, t + 9990 * US);
}

static void fills(unsigned i, int64_t t)
{
	if (i % 10 == 0 && i < 300)
		get(t, 50 * US, 0x1000 + i, 4 * MIB);
}

static void comes_and_goes(unsigned i, int64_t t)
{
	if (i % 300 == 0) {
		for (unsigned k = 0; i && k < 300; k += 10)
			put(t + k * US, 5 * US, 0x1000 + k);
	}
	if (i % 10 == 0)
		get(t + MS, 50 * US, 0x1000 + i % 300, 4 * MIB);
}

/* One block replaces another; the new one before the old one goes. */
static void replaces(unsigned i, int64_t t)
{
	if (i % 10 == 0)
		get(t, 50 * US, 0x1000 + i, 4 * MIB);
	if (i % 10 == 5 && i > 10)
		put(t, 50 * US, 0x1000 + i - 15);
}

static void keeps_for(unsigned i, int64_t t, unsigned steps)
{
	get(t, 50 * US, 0x1000 + i, 4 * MIB);
	if (i >= steps)
		put(t + 100 * US, 50 * US, 0x1000 + i - steps);
}

static void keeps_shortly(unsigned i, int64_t t)
{
	keeps_for(i, t, 17);
}

static void keeps_long(unsigned i, int64_t t)
{
	keeps_for(i, t, 317);
}

static void leaks_and_keeps(unsigned i, int64_t t)
{
	line = stack_of("keep", "/srv/train.py", 1);
	keeps_for(i, t, 17);
	line = stack_of("lose", "/srv/train.py", 2);
	get(t + MS, 50 * US, 0x100000 + i, MIB);
	line = 0;
}

static void in_windows(void (*each)(unsigned i, int64_t t), int64_t ns, int64_t every)
{
	window_ns = ns;
	every_ns = every;
	for (int64_t t = ns; t < STEPS * EVERY; t += every) {
		struct record r = { .kind = RECORD_PAUSED };

		REC_SET(&r, PAUSED, since_ns, t);
		REC_SET(&r, PAUSED, until_ns, t + every - ns);
		REC_SET(&r, PAUSED, tier, TIER_ALLOCATIONS);
		if (!vec_push(&s.rec, r))
			abort();
	}
	steps(each);
	window_ns = 0;
}

int main(void)
{
	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	steps(leaks);
	tells(&s, "gpu-leak", "never freed", 0);
	steps(leaks);
	never_says(&s, "of it",
		   "what was never freed may be more than it grew by while that was judged");
	steps(leaks);
	others_go_on();
	told_among(&s, "gpu-leak", "never freed", 0);
	steps(leaks_among_others);
	told_among(&s, "gpu-leak", "never freed", 0);
	steps(leaks_and_tidies);
	told_among(&s, "gpu-leak", "never freed", 0);
	steps(fills);
	silent(&s, "what grows for the first third only");
	steps(comes_and_goes);
	silent(&s, "what comes and goes");
	steps(replaces);
	silent(&s, "blocks that replace each other");
	in_windows(leaks, 500 * MS, 1000 * MS);
	told_among(&s, "gpu-leak", "that were recorded; at least", 0);
	in_windows(leaks_and_keeps, 500 * MS, 1000 * MS);
	/* 500 were recorded, of 1 MiB; of the others, of 4 MiB, 17 a window look as if they stayed */
	told_among(&s, "gpu-leak", "at least 500 MiB from", 0);
	in_windows(keeps_shortly, 500 * MS, 1000 * MS);
	silent(&s, "blocks that were freed between windows");
	in_windows(keeps_long, 500 * MS, 1000 * MS);
	silent(&s, "blocks that live longer than windows");
	in_windows(keeps_long, 50 * MS, 1000 * MS);
	silent(&s, "blocks of which no free call lies in a window");
	stage_free(&s);
	return tap_done();
}
