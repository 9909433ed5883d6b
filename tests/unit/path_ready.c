/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was ready when a wait for several descriptors ended, said apart from the wait; and waits
 * that a timer ended.
 */
#include "tests/tap.h"

#include "lib/path/path.h"
#include "tests/unit/path_run.h"

/* What was ready is said for a block of waits at once, before or behind them. Of each wait that
 * ends then it is said; of none else. */
static void ready_in_blocks(bool behind)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	const struct track_parts *list;
	struct path_parts parts;
	uint64_t ns[PATH_CLASSES] = { 0 };
	struct path *p;

	path_parts_init(&parts, s.w, NULL, NULL);
	p = parts.path;
	if (path_socket(p, 1, true, NULL) || path_socket(p, 2, false, NULL))
		abort();
	sleep_for(&s, a, 0, 1 * MS);
	for (int i = 1; i <= 4; i++)
		stage_set(stage_offcpu(&s, a, 0, i * 10 * MS, (i * 10 + i) * MS, 0, 0),
			  COL_OBJECT_KIND, OBJECT_POLL);
	for (size_t i = 0; behind && i < s.ev.n; i++)
		if (path_event(p, &s.ev.v[i], NULL))
			abort();
	/* The first for nobody's answer; of the third nothing is said; the last for both. */
	if (path_ready(p, a.thread, 1, 11 * MS, NULL) ||
	    path_ready(p, a.thread, 2, 22 * MS, NULL) ||
	    path_ready(p, a.thread, 1, 44 * MS, NULL) || path_ready(p, a.thread, 2, 44 * MS, NULL))
		abort();
	for (size_t i = 0; !behind && i < s.ev.n; i++)
		if (path_event(p, &s.ev.v[i], NULL))
			abort();
	if (path_finish(p, 100 * MS, NULL))
		abort();
	list = path_parts_of(&parts, a.thread);
	for (size_t i = 0; i < list->v.n; i++)
		ns[list->v.v[i].class] += list->v.v[i].ns;
	is_u64(ns[PATH_DEMAND], behind ? 0 : 1 * MS, "%s: nobody asked until then",
	       behind ? "behind all" : "before all");
	is_u64(ns[PATH_REPLY], behind ? 0 : 2 * MS, "there was no answer until then");
	is_u64(ns[PATH_OUTSIDE], behind ? 10 * MS : 7 * MS, "of the others it is not known");
	path_free(p);
	path_parts_free(&parts);
	stage_free(&s);
}

/* An event loop may wait for the next request while others are not answered yet: whether nobody
 * asked is not known. That it waits for an answer is. */
static void in_event_loop(bool answer)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	struct world_frame f = { .kind = FRAME_PYTHON, .offset = 1884 };
	struct event *ev;
	struct path_parts parts;
	const struct track_parts *list;
	uint64_t ns[PATH_CLASSES] = { 0 };
	uint32_t frame;

	f.name = world_string(s.w, bytes_of("BaseEventLoop._run_once"));
	f.file = world_string(s.w, bytes_of("/usr/lib/python3.11/asyncio/base_events.py"));
	frame = world_frame(s.w, &f);
	path_parts_init(&parts, s.w, NULL, NULL);
	sleep_for(&s, a, 0, 1 * MS);
	ev = stage_offcpu(&s, a, 0, 10 * MS, 30 * MS, 0, 0);
	ev->stack = world_stack(s.w, &frame, 1);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_POLL);
	if (path_socket(parts.path, 1, !answer, NULL) ||
	    path_ready(parts.path, a.thread, 1, 30 * MS, NULL))
		abort();
	for (size_t i = 0; i < s.ev.n; i++)
		if (path_event(parts.path, &s.ev.v[i], NULL))
			abort();
	if (path_finish(parts.path, 100 * MS, NULL))
		abort();
	list = path_parts_of(&parts, a.thread);
	for (size_t i = 0; i < list->v.n; i++)
		ns[list->v.v[i].class] += list->v.v[i].ns;
	is_u64(ns[answer ? PATH_REPLY : PATH_OUTSIDE], 20 * MS, "an event loop: %s",
	       answer ? "an answer" : "the next request");
	path_free(parts.path);
	path_parts_free(&parts);
	stage_free(&s);
}

/* A timer is read that has a pace: the read is a sleep. */
static void timer_is_read(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	struct event *ev;
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	ev = stage_offcpu(&s, a, 0, 10 * MS, 30 * MS, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
	t = run(&s, a.thread, 100 * MS);
	is_u64(ns_of(&t, PATH_SLEEP, 0), 21 * MS, "a read that a timer ended is a sleep");
	outcome_free(&t);
	stage_free(&s);
}

int main(void)
{
	ready_in_blocks(false);
	ready_in_blocks(true);
	in_event_loop(false);
	in_event_loop(true);
	timer_is_read();
	return tap_done();
}
