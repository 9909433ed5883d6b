/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of small programs written by hand, whose reasons are known: what each rule of
 * the partition says of one wait.
 */
#include "tests/tap.h"

#include "lib/path/mixes.h"
#include "lib/path/path.h"
#include "lib/path/timed_waits.h"
#include "tests/unit/path_run.h"

/* main waits for worker, which computes, sleeps for 30 ms and waits for a third thread itself. */
static void chain(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work"),
		     c = stage_actor(&s, 10, 12, 1, "io");
	struct outcome t;

	sleep_for(&s, c, 0, 1 * MS);
	sleep_for(&s, b, 0, 5 * MS);
	sleep_for(&s, a, 0, 1 * MS);
	stage_set(wait_for(&s, a, OBJECT_FUTEX, 10 * MS, 90 * MS, 90 * MS, b), COL_WAKING_NS,
		  2 * MS);
	sleep_for(&s, b, 20 * MS, 50 * MS);
	stage_set(wait_for(&s, b, OBJECT_FD, 60 * MS, 80 * MS, 80 * MS, c), COL_WAKING_NS, 0);
	t = run(&s, a.thread, 100 * MS);
	is_u64(ns_of(&t, PATH_SLEEP, b.thread), 30 * MS, "a sleep of the thread waited for");
	is_u64(ns_of(&t, PATH_OWN, b.thread), 28 * MS, "what it computed: 10, 10 and 8 ms");
	is_u64(ns_of(&t, PATH_OWN, c.thread), 20 * MS, "and the thread that it waited for");
	is_u64(ns_of(&t, PATH_WAKE_UP, 0), 2 * MS, "from where it acted the wake-up was under way");
	is_u64(ns_of(&t, PATH_OWN, 0), 19 * MS, "own code before and behind");
	is_u64(ns_of(&t, PATH_SLEEP, 0), 1 * MS, "the path's own sleep");
	outcome_free(&t);
	stage_free(&s);
}

/* Without waking_ns: a waker that went to sleep less than 300 us before the wake-up arrived
 * acted when it did; one that has been asleep for longer did not. */
static void in_flight(int64_t before)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work");
	struct outcome t;

	sleep_for(&s, b, 0, 5 * MS);
	sleep_for(&s, a, 0, 1 * MS);
	wait_for(&s, a, OBJECT_FD, 10 * MS, 50 * MS, 50 * MS, b);
	sleep_for(&s, b, 50 * MS - before, 90 * MS);
	t = run(&s, a.thread, 100 * MS);
	if (before < PATH_IN_FLIGHT_NS) {
		is_u64(ns_of(&t, PATH_OWN, b.thread), (uint64_t)(40 * MS - before),
		       "asleep for %d us: it acted before", (int)(before / US));
		is_u64(ns_of(&t, PATH_WAKE_UP, 0), (uint64_t)before, "the rest is the way");
	} else {
		is_u64(ns_of(&t, PATH_BLOCKED, b.thread), 40 * MS,
		       "asleep for %d us: it is named, and not asked what it did",
		       (int)(before / US));
	}
	outcome_free(&t);
	stage_free(&s);
}

/* main runnable behind a thread that releases it three times, or fewer. */
static void one_cpu(unsigned releases)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work");
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	sleep_for(&s, b, 0, 1 * MS);
	for (unsigned i = 0; i < releases; i++) {
		int64_t at = (10 + 10 * (int64_t)i) * MS;

		stage_set(wait_for(&s, a, OBJECT_FD, at, at + 5 * MS, at + 5 * MS, b),
			  COL_WAKING_NS, 0);
	}
	stage_offcpu(&s, a, 0, 60 * MS, 80 * MS, 20 * MS, 0);
	stage_occupied(&s, b, 0, 60 * MS, 80 * MS);
	sleep_for(&s, b, 80 * MS, 95 * MS);
	t = run(&s, a.thread, 100 * MS);
	is_u64(ns_of(&t, PATH_TAKEN, b.thread), releases < 3 ? 20 * MS : 0,
	       "released %u times: a competitor takes the CPU, a partner does not", releases);
	is_u64(ns_of(&t, PATH_OWN, b.thread), (releases * 5 + (releases < 3 ? 0 : 20)) * MS,
	       "what a partner did with it stands there");
	outcome_free(&t);
	stage_free(&s);
}

/* main waits for a child that is made by a third thread only half way through. */
static void young(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "fork"),
		     c = stage_actor(&s, 12, 12, 10, "child");
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	sleep_for(&s, b, 0, 1 * MS);
	stage_set(wait_for(&s, a, OBJECT_CHILD, 10 * MS, 90 * MS, 90 * MS, c), COL_WAKING_NS, 0);
	stage_set(stage_event(&s, OP_PROC_FORK, b.ctx, 0, 40 * MS, 40 * MS), COL_CHILD, c.thread);
	sleep_for(&s, c, 50 * MS, 70 * MS);
	t = run(&s, a.thread, 100 * MS);
	is_u64(ns_of(&t, PATH_OWN, b.thread), 30 * MS, "before there was the child, who made it");
	is_u64(ns_of(&t, PATH_OWN, c.thread), 30 * MS, "then the child");
	is_u64(ns_of(&t, PATH_SLEEP, c.thread), 20 * MS, "and its sleep");
	outcome_free(&t);
	stage_free(&s);
}

/* A damaged recording in which two threads made each other, and wait for each other: there is an
 * end to it. */
static void in_circles(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 11, 11, 1, "one"),
		     c = stage_actor(&s, 12, 12, 1, "two");
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	wait_for(&s, a, OBJECT_FD, 10 * MS, 90 * MS, 90 * MS, b);
	stage_set(stage_event(&s, OP_PROC_FORK, b.ctx, 0, 40 * MS, 40 * MS), COL_CHILD, c.thread);
	stage_set(stage_event(&s, OP_PROC_FORK, c.ctx, 0, 50 * MS, 50 * MS), COL_CHILD, b.thread);
	stage_set(wait_for(&s, b, OBJECT_FD, 55 * MS, 85 * MS, 85 * MS, c), COL_WAKING_NS, 0);
	stage_set(wait_for(&s, c, OBJECT_FD, 52 * MS, 86 * MS, 86 * MS, b), COL_WAKING_NS, 0);
	t = run(&s, a.thread, 100 * MS);
	is_u64(path_parts_ns(&t.parts.list), 100 * MS,
	       "threads that made and woke each other: the sum is the life");
	ok(ns_of(&t, PATH_TOO_DEEP, 0) > 0, "a circle is a chain too deep");
	outcome_free(&t);
	stage_free(&s);
}

/* Waits that nobody in the recording ends. */
static void by_object(void)
{
	static const struct {
		unsigned object;
		enum path_class class;
	} all[] = { { OBJECT_TIMER, PATH_SLEEP },    { OBJECT_DISK, PATH_DISK },
		    { OBJECT_FAULT, PATH_FAULT },    { OBJECT_GPU, PATH_DEVICE },
		    { OBJECT_CHILD, PATH_CHILD },    { OBJECT_STOP, PATH_STOPPED },
		    { OBJECT_POLL, PATH_OUTSIDE },   { OBJECT_SOCKET, PATH_OUTSIDE },
		    { OBJECT_GIL, PATH_LOCK },	     { OBJECT_FREEZER, PATH_FROZEN },
		    { OBJECT_PROBE, PATH_RECORDER }, { OBJECT_FD, PATH_BLOCKED },
		    { OBJECT_NONE, PATH_BLOCKED } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct stage s = stage_new();
		struct actor a = stage_actor(&s, 10, 10, 1, "main");
		struct event *ev = stage_offcpu(&s, a, 0, 10 * MS, 30 * MS, 0, 0);
		struct outcome t;

		stage_set(ev, COL_OBJECT_KIND, all[i].object);
		stage_set(ev, COL_WAKER_KIND, WAKER_SOFTIRQ);
		t = run(&s, a.thread, 40 * MS);
		is_u64(ns_of(&t, all[i].class, 0), 20 * MS, "object %u: %s", all[i].object,
		       path_class_text(all[i].class));
		outcome_free(&t);
		stage_free(&s);
	}
}

/* A wait for requests that were handed to the kernel before is one for a disk if a disk ended one
 * of its process then. */
static void by_request(void)
{
	static const struct {
		unsigned syscall, waker;
		int64_t request_ns; /* when the request ended */
		enum path_class class;
		const char *what;
	} all[] = {
		{ 426, WAKER_HARDIRQ, 30 * MS - 10 * US, PATH_DISK, "io_uring_enter" },
		{ 208, WAKER_SOFTIRQ, 30 * MS - 10 * US, PATH_DISK, "io_getevents" },
		{ 333, WAKER_HARDIRQ, 30 * MS - 10 * US, PATH_DISK, "io_pgetevents" },
		{ 292, WAKER_HARDIRQ, 30 * MS - 10 * US, PATH_DISK, "the same on arm64" },
		{ 232, WAKER_HARDIRQ, 30 * MS - 10 * US, PATH_OUTSIDE, "epoll_wait" },
		{ 426, WAKER_TIMER, 30 * MS - 10 * US, PATH_OUTSIDE, "a time-out" },
		{ 426, WAKER_HARDIRQ, 20 * MS, PATH_OUTSIDE, "a request that ended before" },
		{ 426, WAKER_HARDIRQ, 0, PATH_OUTSIDE, "no request" },
		{ 82, WAKER_SOFTIRQ, 30 * MS - 10 * US, PATH_DISK, "rename" },
		{ 82, WAKER_SOFTIRQ, 20 * MS, PATH_DISK, "rename, of a disk that is not known" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct stage s = stage_new();
		struct actor a = stage_actor(&s, 10, 10, 1, "main"),
			     b = stage_actor(&s, 10, 11, 1, "submits"),
			     other = stage_actor(&s, 20, 20, 1, "other");
		struct event *ev = stage_offcpu(&s, a, 0, 10 * MS, 30 * MS, 0, 0);
		struct outcome t;

		stage_set(ev, COL_OBJECT_KIND, all[i].syscall == 82 ? OBJECT_DISK : OBJECT_POLL);
		stage_set(ev, COL_SYSCALL, all[i].syscall);
		stage_set(ev, COL_WAKER_KIND, all[i].waker);
		ev = stage_event(&s, OP_IO_BLOCK, all[i].request_ns ? b.ctx : other.ctx, 0, 9 * MS,
				 all[i].request_ns ? all[i].request_ns : 30 * MS - 10 * US);
		stage_set(ev, COL_DEVICE, 254 << 20);
		t = run(&s, a.thread, 40 * MS);
		is_u64(ns_of(&t, all[i].class, 0), 20 * MS, "a wait for requests: %s", all[i].what);
		is_u64(disk_of(&t),
		       all[i].class == PATH_DISK && all[i].request_ns > 20 * MS ? 254 << 20 : 0,
		       "which disk");
		outcome_free(&t);
		stage_free(&s);
	}
}

/* In a call that waits for the device a poll is the device; one that never ended is told as
 * that, whatever it is of. */
static void device_and_end(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	struct event *ev = stage_offcpu(&s, a, 1, 12 * MS, 30 * MS, 0, 0);
	struct outcome t;

	stage_set(ev, COL_OBJECT_KIND, OBJECT_POLL);
	stage_set(ev, COL_WAKER_KIND, WAKER_HARDIRQ);
	stage_call(&s, a, OP_CUDA_STREAM_SYNC, 0, 10 * MS, 31 * MS);
	ev = stage_offcpu(&s, a, 0, 50 * MS, 90 * MS, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_FUTEX);
	ev->present &= ~(1u << op_column(op_builtin(OP_SCHED_OFFCPU), COL_CPU_IN));
	t = run(&s, a.thread, 90 * MS);
	is_u64(ns_of(&t, PATH_DEVICE, 0), 21 * MS, "asleep and awake in a call that waits");
	is_u64(ns_of(&t, PATH_UNENDED, 0), 40 * MS, "a wait without an end");
	is_u64(ns_of(&t, PATH_OWN, 0), 19 * MS, "own code between them");
	outcome_free(&t);
	stage_free(&s);
}

/* The interpreter's lock is asked for every 5 ms, for half a second: all of it was a wait for
 * who let it go in the end. */
static void asked_again(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work");
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	sleep_for(&s, b, 0, 1 * MS);
	for (int64_t i = 0; i < 100; i++) {
		struct event *ev = stage_offcpu(&s, a, 0, (10 + 5 * i) * MS + 50 * US,
						(15 + 5 * i) * MS, 0, 0);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
		stage_set(ev, COL_OBJECT, 0x1000 + 8 * (i % 2));
		stage_set(ev, COL_WAKER_KIND, i < 99 ? WAKER_TIMER : WAKER_TASK);
		if (i < 99)
			continue;
		stage_set(ev, COL_WAKER, b.thread);
		stage_set(ev, COL_WAKING_NS, 0);
	}
	sleep_for(&s, b, 550 * MS, 560 * MS);
	t = run(&s, a.thread, 600 * MS);
	is_u64(ns_of(&t, PATH_OWN, b.thread), 500 * MS - 100 * 50 * US,
	       "a hundred waits for one lock are waits for who had it");
	is_u64(ns_of(&t, PATH_LOCK, 0), 0, "none of them is told without that one");
	outcome_free(&t);
	stage_free(&s);
}

static struct event *gil_wait(struct stage *s, struct actor a, int64_t start, int64_t end,
			      uint32_t waker)
{
	struct event *ev = stage_offcpu(s, a, 0, start, end, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
	stage_set(ev, COL_WAKER_KIND, waker ? WAKER_TASK : WAKER_TIMER);
	stage_set(ev, COL_WAKER, waker);
	if (waker)
		stage_set(ev, COL_WAKING_NS, 0);
	return ev;
}

/* The clock ends a wait for the interpreter's lock, and the thread has it then: the holder waits
 * for it from `after` behind that on, until the thread wakes it. */
static struct outcome give_way(struct stage *s, struct actor a, struct actor b, int64_t after)
{
	sleep_for(s, a, 0, 1 * MS);
	sleep_for(s, b, 0, 1 * MS);
	gil_wait(s, a, 10 * MS, 15 * MS, 0);
	gil_wait(s, b, 15 * MS + after, 40 * MS, a.thread);
	sleep_for(s, a, 50 * MS, 51 * MS);
	return run(s, a.thread, 600 * MS);
}

static void gave_way(int64_t after)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work");
	struct outcome t = give_way(&s, a, b, after);
	bool had = after >= 0 && after <= TIMED_GAVE_WAY_NS;

	is_u64(ns_of(&t, PATH_OWN, b.thread), had ? 5 * MS : 0, "who wants it back after %d us",
	       (int)(after / US));
	is_u64(ns_of(&t, PATH_LOCK, 0), had ? 0 : 5 * MS, "else nobody is known to have had it");
	outcome_free(&t);
	stage_free(&s);
}

/* Nobody gave way: a thread of another process, one that wanted the lock all the time, and
 * one that computes, or sleeps. */
static void gave_no_way(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 20, 20, 1, "hog");
	struct outcome t = give_way(&s, a, b, 30 * US);

	is_u64(ns_of(&t, PATH_LOCK, 0), 5 * MS, "another interpreter's threads have another lock");
	outcome_free(&t);
	stage_free(&s);
	s = stage_new();
	a = stage_actor(&s, 10, 10, 1, "main");
	b = stage_actor(&s, 10, 11, 1, "work");
	gil_wait(&s, b, 9 * MS, 14 * MS, 0);
	t = give_way(&s, a, b, 30 * US);
	is_u64(ns_of(&t, PATH_LOCK, 0), 5 * MS, "who waited for it meanwhile did not have it");
	outcome_free(&t);
	stage_free(&s);
	s = stage_new();
	a = stage_actor(&s, 10, 10, 1, "main");
	b = stage_actor(&s, 10, 11, 1, "work");
	gil_wait(&s, a, 10 * MS, 15 * MS, 0);
	sleep_for(&s, b, 8 * MS, 60 * MS);
	t = run(&s, a.thread, 600 * MS);
	is_u64(ns_of(&t, PATH_LOCK, 0), 5 * MS, "who sleeps does not have it");
	outcome_free(&t);
	stage_free(&s);
}

/* A memory section says of the last 100 ms what they were, and begins where the thread waits: that
 * it had been woken at the end, and not then. */
static void section_behind_wait(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work");
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	sleep_for(&s, b, 0, 1 * MS);
	sleep_for(&s, b, 10 * MS, 50 * MS);
	wait_for(&s, a, OBJECT_FUTEX, 5 * MS, 100 * MS, 100 * MS, b);
	stage_event(&s, OP_MEM_RECLAIM, a.ctx, 0, 2 * MS, 120 * MS);
	t = run(&s, a.thread, 130 * MS);
	is_u64(ns_of(&t, PATH_RECLAIM, 0), 20 * MS, "the section is what was on a CPU");
	is_u64(ns_of(&t, PATH_SLEEP, b.thread), 40 * MS,
	       "the wait stays whole: who ended it slept");
	is_u64(ns_of(&t, PATH_OWN, b.thread), 55 * MS, "and computed");
	outcome_free(&t);
	stage_free(&s);
}

/* A stack of one frame, which is its call site. */
static uint32_t stack_at(struct stage *s, uint64_t offset, uint32_t *frame)
{
	struct world_frame f = { .kind = FRAME_UNKNOWN, .offset = offset };

	*frame = world_frame(s->w, &f);
	return world_stack(s->w, frame, 1);
}

/* main waits twice for worker, which waits for a third thread that sleeps: the part of its sleep
 * says where each of them was, how often, and when it was longest. */
static void told_where(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work"),
		     c = stage_actor(&s, 10, 12, 1, "io");
	uint32_t at, at_c, stack_a = stack_at(&s, 1, &at), stack_b = stack_at(&s, 2, &at),
			   stack_c = stack_at(&s, 3, &at_c);
	const struct track_part *p = NULL;
	struct outcome t;

	sleep_for(&s, c, 0, 1 * MS);
	sleep_for(&s, b, 0, 1 * MS);
	sleep_for(&s, a, 0, 1 * MS);
	for (int64_t from = 10 * MS; from <= 50 * MS; from += 40 * MS) {
		struct event *ev =
			wait_for(&s, a, OBJECT_FD, from, from + 30 * MS, from + 30 * MS, b);

		ev->stack = stack_a;
		stage_set(ev, COL_WAKING_NS, 0);
		ev = wait_for(&s, b, OBJECT_FD, from + 1 * MS, from + 29 * MS, from + 29 * MS, c);
		ev->stack = stack_b;
		stage_set(ev, COL_WAKING_NS, 0);
		sleep_for(&s, c, from + 2 * MS, from + 10 * MS + from / 10);
		s.ev.v[s.ev.n - 1].stack = stack_c;
	}
	t = run(&s, a.thread, 100 * MS);
	for (size_t i = 0; i < t.parts.list.v.n; i++) {
		if (t.parts.list.v.v[i].class == PATH_SLEEP && t.parts.list.v.v[i].culprit)
			p = &t.parts.list.v.v[i];
	}
	if (!ok(p != NULL, "the sleep of the third thread is a part"))
		return;
	is_u64(p->ns, 22 * MS, "of both sleeps");
	is_u64(p->pieces, 2, "how often");
	is_u64(p->longest_ns, 13 * MS, "the longest");
	is_u64((uint64_t)p->longest_from_ns, 52 * MS, "when that was");
	is_u64(p->line, at_c, "where it slept");
	is_u64(p->stack, stack_a, "where main waited");
	is_u64(p->leaf, c.thread, "whose sleep it was");
	outcome_free(&t);
	stage_free(&s);
}

/* A wait for a socket is for somebody who asks, or for an answer: its event comes before the
 * interval or behind it, or what was ready is said afterwards. */
static void outside(void)
{
	static const enum path_class class[] = { PATH_DEMAND, PATH_REPLY, PATH_OUTSIDE };

	for (unsigned how = 0; how < 9; how++) {
		struct stage s = stage_new();
		struct actor a = stage_actor(&s, 10, 10, 1, "main");
		const struct track_parts *list;
		struct path_parts parts;
		struct path *p;
		uint64_t ns = 0;

		path_parts_init(&parts, s.w, NULL, NULL);
		p = parts.path;
		if (path_socket(p, 1, true, NULL) || path_socket(p, 2, false, NULL))
			abort();
		sleep_for(&s, a, 0, 1 * MS);
		stage_set(stage_offcpu(&s, a, 0, 10 * MS, 30 * MS, 0, 0), COL_OBJECT_KIND,
			  how / 3 == 2 ? OBJECT_POLL : OBJECT_SOCKET);
		stage_set(stage_event(&s, OP_NET_SOCKET, a.ctx, 0, 10 * MS, 30 * MS), COL_SOCKET,
			  1 + how % 3);
		for (unsigned i = 0; i < (how / 3 == 2 ? 2 : 3); i++) {
			unsigned at = i == 0 || how / 3 != 1 ? i : 3 - i;

			if (path_event(p, &s.ev.v[at], NULL))
				abort();
		}
		if ((how / 3 == 2 && path_ready(p, a.thread, 1 + how % 3, 30 * MS, NULL)) ||
		    path_finish(p, 100 * MS, NULL))
			abort();
		list = path_parts_of(&parts, a.thread);
		for (size_t i = 0; i < list->v.n; i++)
			ns += list->v.v[i].class == class[how % 3] ? list->v.v[i].ns : 0;
		is_u64(ns, 20 * MS, "a socket, said %s: %s",
		       how / 3 == 0   ? "behind"
		       : how / 3 == 1 ? "before"
				      : "as ready",
		       path_class_text(class[how % 3]));
		path_free(p);
		path_parts_free(&parts);
		stage_free(&s);
	}
}

/* What the recorder does to a program is told apart from what others do. */
static void by_recorder(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     r = stage_actor(&s, 20, 20, 1, "ingero-record");
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	wait_for(&s, a, OBJECT_STOP, 10 * MS, 30 * MS, 30 * MS, r);
	t = run(&s, a.thread, 100 * MS);
	is_u64(ns_of(&t, PATH_RECORDER, r.thread), 20 * MS, "stopped by the recorder");
	is_u64(ns_of(&t, PATH_STOPPED, r.thread), 0, "nobody else is blamed for that");
	outcome_free(&t);
	stage_free(&s);
	s = stage_new();
	a = stage_actor(&s, 10, 10, 1, "main");
	r = stage_actor(&s, 20, 20, 1, "ingero-record");
	sleep_for(&s, a, 0, 1 * MS);
	sleep_for(&s, r, 0, 1 * MS);
	stage_set(wait_for(&s, a, OBJECT_FD, 10 * MS, 30 * MS, 30 * MS, r), COL_WAKING_NS, 0);
	t = run(&s, a.thread, 100 * MS);
	is_u64(ns_of(&t, PATH_OWN, r.thread), 20 * MS,
	       "a program that the recorder started had its name, and is not the recorder");
	outcome_free(&t);
	stage_free(&s);
}

/* ---- checkpoints ---- */

struct cut_sums {
	uint64_t ns[3];
	const struct segment_keys *keys;
	int64_t at_ns; /* where the last piece ended */
	unsigned gaps;
};

static void add_cut(void *ctx, int64_t from, int64_t to, uint32_t key)
{
	struct cut_sums *sums = ctx;
	const struct segment *s = &segment_key_get(sums->keys, key)->s;

	sums->gaps += from != sums->at_ns || to <= from;
	sums->at_ns = to;
	sums->ns[s->line] += (uint64_t)(to - from);
}

/* However a checkpoint is cut, its parts sum to what they were, and none is told twice. */
static void cuts(void)
{
	struct segment_keys keys = { 0 };
	struct segment_log log = { .keys = &keys, .thread = 7 };
	struct mixes m = { 0 };
	struct cut_sums sums = { .keys = &keys };
	uint32_t number;
	int64_t at = 0;

	segment_log_begin(&log, 0);
	for (uint32_t i = 0; i < 30; i++) {
		struct segment s = { .state = SEGMENT_CALL, .line = i % 3 };

		at += (int64_t)(i % 3 * 100 + 7);
		s.end_ns = at;
		if (!segment_log_push(&log, &s))
			abort();
	}
	ok(mixes_fold(&m, &log, at, 1000000) && log.v.n == 1 && log.v.v[0].end_ns == at,
	   "thirty segments become one");
	number = log.v.v[0].key & ~SEGMENT_KEY_KIND;
	for (int64_t from = 0; from < at; from += 13)
		mixes_cut(&m, number, 0, at, from, from + 13 < at ? from + 13 : at, add_cut, &sums);
	is_u64(sums.gaps, 0, "pieces of cuts leave no gap");
	is_u64(sums.ns[0], 70, "first kind");
	is_u64(sums.ns[1], 1070, "second");
	is_u64(sums.ns[2], 2070, "third");
	mixes_release(&m, &log);
	is_u64(m.parts, 0, "nothing is held afterwards");
	mixes_free(&m);
	segment_log_free(&log);
	segment_keys_free(&keys);
}

/* Whatever was asked for before, the first segment that ends behind is found. */
static void found(void)
{
	struct segment_keys keys = { 0 };
	struct segment_log log = { .keys = &keys, .thread = 7 };
	size_t wrong = 0;

	segment_log_begin(&log, 0);
	is_u64(segment_log_find(&log, 5), 0, "in an empty log nothing is");
	for (uint32_t i = 0; i < 1000; i++) {
		const struct segment s = { .state = SEGMENT_CALL,
					   .line = i % 3,
					   .end_ns = 10 * (int64_t)(i + 1) };

		if (!segment_log_push(&log, &s))
			abort();
	}
	for (int64_t i = 0; i < 100000; i++) {
		int64_t at = i * 7919 % 10100;
		size_t right = at < 10000 ? (size_t)at / 10 : 1000;

		wrong += segment_log_find(&log, at) != right;
	}
	is_u64(wrong, 0, "the segment of each time, in any order");
	log.v.n = 3; /* the rest was folded */
	is_u64(segment_log_find(&log, 5000), 3, "behind the end of a log that has become shorter");
	is_u64(segment_log_find(&log, 15), 1, "and in it");
	segment_log_free(&log);
	segment_keys_free(&keys);
}

int main(void)
{
	found();
	chain();
	in_flight(100 * US);
	in_flight(400 * US);
	one_cpu(2);
	one_cpu(3);
	young();
	in_circles();
	by_object();
	by_request();
	device_and_end();
	asked_again();
	gave_way(30 * US);
	gave_way(150 * US);
	gave_way(-30 * US);
	gave_no_way();
	section_behind_wait();
	told_where();
	outside();
	by_recorder();
	cuts();
	return tap_done();
}
