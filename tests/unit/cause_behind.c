/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that feeds the device while the main thread waits for it, and wants the interpreter
 * while that one goes on.
 */
#include "tests/unit/kinds.h"

#define LENGTH (5000 * MS)
#define EVERY  (20 * MS)

static struct stage s;
static struct actor v, helper;

static void gil(struct event *ev)
{
	stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
	stage_set(ev, COL_FUTEX_OP, 9);
}

/* Five ms until the clock asks for it, then until the main thread lets go, which wants it back at
 * once. */
static void wants_interpreter(int64_t t)
{
	struct event *ev = stage_lock(&s, helper, 0, t, t + 5 * MS, t + 5 * MS, v, 0x7000);

	gil(ev);
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
	stage_set(ev, COL_WAKER, 0);
	t += 5 * MS + 200 * US;
	gil(stage_lock(&s, helper, 0, t, t + MS, t + MS, v, 0x7004));
	t += MS;
	gil(stage_lock(&s, v, 0, t + 20 * US, t + 120 * US, t + 120 * US, helper, 0x7000));
}

/* work_ns: that the main thread waits for, of 4 ms that the helper runs. */
static void steps(int64_t work_ns)
{
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + 500 * US, t + 600 * US);
		stage_set(stage_lock(&s, v, 0, t + MS, t + MS + work_ns, t + MS + work_ns, helper,
				     0x1000),
			  COL_FUTEX_OP, 9);
		stage_call(&s, helper, OP_CUDA_LAUNCH, 0, t + 2 * MS, t + 2 * MS + 100 * US);
		wants_interpreter(t + 5 * MS);
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + 14 * MS, t + 14 * MS + 100 * US);
		stage_set(stage_lock(&s, helper, 0, t + 12 * MS, t + EVERY + MS, t + EVERY + MS, v,
				     0x1000),
			  COL_FUTEX_OP, 9);
	}
}

int main(void)
{
	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	helper = stage_actor(&s, 100, 101, 1, "pt_autograd_0");
	steps(4 * MS);
	not_told(&s, "lock-wait", "the main thread goes on, and waits for it when it needs it");
	steps(MS);
	told_among(&s, "lock-wait", "train (pid 100) waited for", 1500 * MS);
	stage_free(&s);
	return tap_done();
}
