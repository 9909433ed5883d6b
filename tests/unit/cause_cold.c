/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose first calls take long, and what looks like it: one that was there before, slow
 * calls later on, a call that is made only once, calls that the host held up.
 */
#include "tests/unit/kinds.h"

#define WARM	      2000
#define ALWAYS_INLINE (50 * US)
#define SLOW	      (40 * MS)
#define SLOWS	      6
#define LAUNCH	      OP_CUDA_LAUNCH

static struct stage s;
static struct actor v;

/* So many calls one after the other from t on. Returns when the last one ends. */
static int64_t calls(int64_t t, unsigned n, uint16_t op, int64_t ns)
{
	for (unsigned i = 0; i < n; i++, t += ns + 20 * US)
		stage_call(&s, v, op, 0, t, t + ns);
	return t;
}

/* The recording began before the process did: it started at 100 us since boot. */
static void began_before(bool is)
{
	struct record r = { .kind = RECORD_CLOCK };

	REC_SET(&r, CLOCK, mono_ns, 0);
	REC_SET(&r, CLOCK, boot_ns, is ? 50 * US : 200 * US);
	if (!vec_push(&s.rec, r))
		abort();
}

/* Four threads that start side by side. */
static void together(void)
{
	struct kinds_run p;
	double share = -1;

	began_before(true);
	for (unsigned i = 0; i < 4; i++) {
		v = stage_actor(&s, 100, 100 + i, 1, "train");
		calls(calls(MS, SLOWS, LAUNCH, SLOW), WARM, LAUNCH, ALWAYS_INLINE);
	}
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		if (bytes_equal(p.list.v.v[i].kind, bytes_of("cold-start")))
			share = p.list.v.v[i].share;
	}
	ok(share > 0.5 && share < 1, "threads side by side take no more than there is: %g", share);
	chain_list_free(&p.list);
}

int main(void)
{
	int64_t t;

	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");

	began_before(true);
	calls(calls(MS, SLOWS, LAUNCH, SLOW), WARM, LAUNCH, ALWAYS_INLINE);
	tells(&s, "cold-start", "train (pid 100) starts cold", SLOWS * (SLOW - ALWAYS_INLINE));

	began_before(false);
	calls(calls(MS, SLOWS, LAUNCH, SLOW), WARM, LAUNCH, ALWAYS_INLINE);
	silent(&s, "a process that was there before");
	calls(calls(MS, SLOWS, LAUNCH, SLOW), WARM, LAUNCH, ALWAYS_INLINE);
	silent(&s, "a recording that does not say when it began");

	began_before(true);
	t = calls(MS, WARM, LAUNCH, ALWAYS_INLINE);
	calls(calls(t, SLOWS, LAUNCH, SLOW), WARM, LAUNCH, ALWAYS_INLINE);
	silent(&s, "slow calls after a thousand that were not");

	began_before(true);
	t = calls(MS, 1, LAUNCH, ALWAYS_INLINE);
	calls(calls(t, 1, OP_CUDA_MALLOC_HOST, 400 * MS), WARM, LAUNCH, ALWAYS_INLINE);
	silent(&s, "a call that is made once");

	/* Small ones between are a line of their own. */
	began_before(true);
	t = calls(MS, 1, LAUNCH, SLOW);
	for (unsigned i = 0; i < 300; i++) {
		stage_call(&s, v, LAUNCH, 0, t, t + 5 * MS)->stack = world_stack(
			s.w,
			(uint32_t[]){ world_frame(s.w, &(struct world_frame){ .kind = FRAME_PYTHON,
									      .offset = 15 }) },
			1);
		t = calls(t + 6 * MS, 2, LAUNCH, ALWAYS_INLINE);
	}
	not_told(&s, "cold-start", "calls of a line of which later ones are as slow");

	began_before(true);
	t = calls(MS, SLOWS, LAUNCH, SLOW);
	for (unsigned i = 0; i < SLOWS; i++) {
		int64_t from = MS + i * (SLOW + 20 * US) + 10 * US;

		stage_set(stage_offcpu(&s, v, 1, from, from + SLOW - 30 * US, 0, 0),
			  COL_OBJECT_KIND, OBJECT_DISK);
	}
	calls(t, WARM, LAUNCH, ALWAYS_INLINE);
	not_told(&s, "cold-start", "calls that wait for a disk: those are disk-stall");
	together();
	stage_free(&s);
	return tap_done();
}
