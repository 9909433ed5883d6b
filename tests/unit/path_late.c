/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that came behind others which ended after them.
 */
#include "tests/tap.h"

#include "tests/unit/path_run.h"

/* A wait of 1 ms, or the call around everything, that came behind what followed it: the rest is
 * known all the same. */
static void late(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work");
	struct outcome t = { 0 };
	struct event *ev;
	size_t n;

	sleep_for(&s, a, 0, 1 * MS);
	sleep_for(&s, b, 0, 1 * MS);
	sleep_for(&s, a, 50 * MS, 60 * MS);
	sleep_for(&s, b, 90 * MS, 95 * MS);
	n = s.ev.n;
	/* Main is known until 60 ms, work until 95. */
	sleep_for(&s, a, 20 * MS, 21 * MS);
	stage_call(&s, a, OP_CUDA_MALLOC, 0, 32 * MS, 35 * MS);
	stage_event(&s, OP_CPU_SAMPLE, a.ctx, 0, 30 * MS, 30 * MS);
	ev = stage_offcpu(&s, a, 1, 70 * MS, 75 * MS, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
	stage_call(&s, a, OP_CUDA_MALLOC, 0, 65 * MS, 85 * MS);
	path_parts_init(&t.parts, s.w, NULL, NULL);
	t.path = t.parts.path;
	for (size_t i = 0; i < s.ev.n; i++)
		if (i < n ? path_event(t.path, &s.ev.v[i], NULL)
			  : path_late(t.path, &s.ev.v[i], NULL))
			abort();
	if (path_finish(t.path, 100 * MS, NULL))
		abort();
	path_parts_of(&t.parts, a.thread);
	is_u64(ns_of(&t, PATH_UNKNOWN, 0), 4 * MS, "what was taken for its own code is unknown");
	is_u64(ns_of(&t, PATH_SLEEP, 0), 16 * MS, "a wait that was not yet asked for is one");
	is_u64(ns_of(&t, PATH_CALL, 0), 15 * MS, "a call behind all that is known is one");
	is_u64(path_parts_ns(&t.parts.list), 100 * MS, "the sum is the life");
	outcome_free(&t);
	stage_free(&s);
}

int main(void)
{
	late();
	return tap_done();
}
