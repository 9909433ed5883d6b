/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if by replay of small programs written by hand, whose gains are known: where removing a
 * cause is a promise that subtraction keeps, and where slack or the device eats it.
 */
#include "tests/tap.h"

#include "lib/path/path_state.h"
#include "lib/path/replay.h"
#include "tests/unit/path_run.h"

static void mark_states(struct replay *r, struct outcome *t, uint32_t thread,
			enum segment_state state, bool exclusion)
{
	const struct segment_log *log = &t->path->threads.v[thread]->log;

	for (size_t i = 0; i < log->v.n; i++) {
		struct replay_mark m = { .thread = thread, .exclusion = exclusion };

		m.s = *segment_log_what(log, i);
		if (m.s.state == state && m.s.object != OBJECT_SOCKET && !replay_mark(r, &m))
			abort();
	}
}

/* What this thread does of that state, and those that it makes, is the only cause. */
static struct replay_gains without(struct outcome *t, struct actor anchor, int64_t end,
				   struct actor of, enum segment_state state, bool exclusion)
{
	struct replay_gains g;
	struct replay *r = replay_new(t->path);
	const struct replay_span all = { 0, end };

	for (uint32_t i = 0; i < t->path->threads.n; i++)
		if (t->path->threads.v[i] &&
		    (i == of.thread || t->path->threads.v[i]->creator == of.thread))
			mark_states(r, t, i, state, exclusion);
	if (!replay_run(r, anchor.thread, &all, 1, &g))
		abort();
	replay_free(r);
	return g;
}

static void is_gain(const struct replay_gains *g, int64_t least, int64_t most, const char *what)
{
	const struct replay_gain *lane = &g->lanes[0];

	ok(lane->whole_ns[REPLAY_CAUTIOUS] == least && lane->whole_ns[REPLAY_HOPEFUL] == most,
	   "%s: %.3f to %.3f ms", what, (double)lane->whole_ns[REPLAY_CAUTIOUS] / 1e6,
	   (double)lane->whole_ns[REPLAY_HOPEFUL] / 1e6);
}

static void release(struct stage *s, struct actor a, unsigned object, int64_t start, int64_t end,
		    struct actor by)
{
	stage_set(wait_for(s, a, object, start, end, end, by), COL_WAKING_NS, 0);
}

/* main sleeps and then reads what a helper, who computes all along, has ready at 60 ms: it waits
 * there the longer. */
static void slack(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "help");
	struct replay_gains g;
	struct outcome t;

	sleep_for(&s, b, 0, 1 * MS);
	sleep_for(&s, a, 10 * MS, 40 * MS);
	release(&s, a, OBJECT_FD, 50 * MS, 60 * MS, b);
	sleep_for(&s, b, 90 * MS, 95 * MS);
	t = run(&s, a.thread, 100 * MS);
	g = without(&t, a, 100 * MS, a, SEGMENT_BLOCKED, false);
	is_gain(&g, 0, 0, "the helper is not done any earlier");
	is_u64(g.lanes[0].whole_path_ns, 30 * MS, "subtraction would have promised the sleep");
	g = without(&t, a, 100 * MS, b, SEGMENT_OWN, false);
	is_gain(&g, 10 * MS, 10 * MS, "of 59 ms of the helper's main waits for 10");
	outcome_free(&t);
	stage_free(&s);
}

/* A reader that sleeps, and works ahead: 20 ms a piece, of which main needs one every 30 ms. */
static void ahead(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "read");
	struct replay_gains g;
	struct outcome t;

	sleep_for(&s, b, 0, 15 * MS);
	release(&s, a, OBJECT_FD, 10 * MS, 20 * MS, b);
	sleep_for(&s, b, 20 * MS, 35 * MS);
	sleep_for(&s, b, 40 * MS, 80 * MS);
	release(&s, a, OBJECT_FD, 50 * MS, 90 * MS, b);
	sleep_for(&s, b, 95 * MS, 99 * MS);
	t = run(&s, a.thread, 100 * MS);
	g = without(&t, a, 100 * MS, b, SEGMENT_BLOCKED, false);
	is_gain(&g, 50 * MS, 50 * MS, "both waits vanish, though 45 ms of them are the sleeps'");
	is_u64(g.lanes[0].whole_path_ns, 35 * MS, "what subtraction promises");
	outcome_free(&t);
	stage_free(&s);
}

/* The holder of a mutex sleeps with it: who comes first without that is not known. preempted: and
 * somebody else has its CPU then. */
static void holder(bool preempted, int64_t most, const char *what)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "hold");
	struct replay_gains g;
	struct outcome t;
	struct event *ev;

	sleep_for(&s, a, 0, 1 * MS);
	sleep_for(&s, b, 0, 1 * MS);
	ev = wait_for(&s, a, OBJECT_FUTEX, 10 * MS, 50 * MS, 50 * MS, b);
	stage_set(ev, COL_WAKING_NS, 0);
	stage_set(ev, COL_FUTEX_VAL, 2);
	stage_set(ev, COL_FUTEX_OP, 0);
	sleep_for(&s, b, 5 * MS, 40 * MS);
	if (preempted)
		stage_offcpu(&s, b, 0, 42 * MS, 49 * MS, 7 * MS, 0);
	sleep_for(&s, b, 60 * MS, 70 * MS);
	t = run(&s, a.thread, 100 * MS);
	g = without(&t, a, 100 * MS, b, SEGMENT_BLOCKED, true);
	is_gain(&g, 30 * MS, most, what);
	outcome_free(&t);
	stage_free(&s);
}

/* A server that sleeps before it answers, and waits on a socket on which it is not seen who asks:
 * main asks it every 30 ms, or somebody else does. The answer may come in two parts, or from a
 * thread that is made for it. */
enum serves { TO_MAIN, TO_OTHERS, IN_PARTS, BY_THREADS };

static void server(enum serves how, int64_t gained, const char *what)
{
	const bool main_asks = how != TO_OTHERS;
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     b = stage_actor(&s, 20, 20, 1, "serve");
	struct path_parts parts;
	struct replay_gains g;
	struct outcome t;

	for (int64_t at = 10 * MS; at < 100 * MS; at += 30 * MS) {
		int64_t from = main_asks ? at : at + 5 * MS;
		struct actor by = b;
		struct event *ev;

		stage_set(stage_event(&s, OP_NET_SOCKET, b.ctx, 0, at - 8 * MS, from), COL_SOCKET,
			  1);
		ev = stage_offcpu(&s, b, 0, at - 8 * MS, from, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_SOCKET);
		if (how == BY_THREADS) {
			by = stage_actor(&s, 20, 21 + (uint32_t)(at / MS), 1, "answer");
			stage_set(stage_event(&s, OP_PROC_FORK, b.ctx, 0, from + 5 * US,
					      from + 5 * US),
				  COL_CHILD, by.thread);
		}
		sleep_for(&s, by, from + 10 * US, at + 20 * MS);
		/* Long since it waits where somebody else asks. */
		from = main_asks ? at : at - 9 * MS;
		stage_set(stage_event(&s, OP_NET_SOCKET, a.ctx, 0, from, at + 20 * MS + 10 * US),
			  COL_SOCKET, 2);
		release(&s, a, OBJECT_SOCKET, from, at + 20 * MS + 10 * US, by);
		if (how != IN_PARTS)
			continue;
		from = at + 20 * MS + 20 * US;
		stage_set(stage_event(&s, OP_NET_SOCKET, a.ctx, 0, from, from + 50 * US),
			  COL_SOCKET, 2);
		release(&s, a, OBJECT_SOCKET, from, from + 50 * US, b);
	}
	stage_sort(&s);
	path_parts_init(&parts, s.w, NULL, NULL);
	t.path = parts.path;
	if (path_socket(t.path, 1, true, NULL) || path_socket(t.path, 2, false, NULL))
		abort();
	for (size_t i = 0; i < s.ev.n; i++)
		if (path_event(t.path, &s.ev.v[i], NULL))
			abort();
	if (path_finish(t.path, 120 * MS, NULL))
		abort();
	path_parts_of(&parts, a.thread);
	t.parts = parts;
	g = without(&t, a, 120 * MS, b, SEGMENT_BLOCKED, false);
	is_gain(&g, gained, gained, what);
	outcome_free(&t);
	stage_free(&s);
}

/* A call that gives the device work, and one that sleeps until it is done. */
static void device(int64_t host_to, int64_t done, int64_t least, int64_t most, const char *what)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	struct replay_gains g;
	struct outcome t;
	struct event *ev;

	sleep_for(&s, a, 0, 1 * MS);
	stage_event(&s, OP_CUDA_LAUNCH, a.ctx, 0, 10 * MS, 10 * MS + 10 * US);
	sleep_for(&s, a, 12 * MS, host_to);
	if (done > host_to) {
		ev = stage_offcpu(&s, a, 1, host_to + 1 * MS, done, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_GPU);
		stage_set(ev, COL_WAKER_KIND, WAKER_SOFTIRQ);
	}
	stage_event(&s, OP_CUDA_STREAM_SYNC, a.ctx, 0, host_to + 1 * MS,
		    (done > host_to ? done : host_to + 1 * MS) + 5 * US);
	t = run(&s, a.thread, 100 * MS);
	g = without(&t, a, 100 * MS, a, SEGMENT_BLOCKED, false);
	is_gain(&g, least, most, what);
	outcome_free(&t);
	stage_free(&s);
}

/* A competitor that takes the CPU of the thread that main waits for, and of main itself. */
static void taker(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 10, 11, 1, "work"),
		     hog = stage_actor(&s, 20, 20, 1, "hog");
	const struct replay_span all = { 0, 100 * MS };
	struct replay_gains g;
	struct replay *r;
	struct outcome t;

	sleep_for(&s, a, 0, 1 * MS);
	sleep_for(&s, b, 0, 1 * MS);
	release(&s, a, OBJECT_FD, 10 * MS, 60 * MS, b);
	stage_offcpu(&s, b, 0, 20 * MS, 40 * MS, 20 * MS, 0);
	stage_occupied(&s, hog, 0, 20 * MS, 40 * MS);
	stage_offcpu(&s, a, 0, 70 * MS, 75 * MS, 5 * MS, 0);
	stage_occupied(&s, hog, 0, 70 * MS, 75 * MS);
	sleep_for(&s, b, 80 * MS, 90 * MS);
	t = run(&s, a.thread, 100 * MS);
	r = replay_new(t.path);
	if (!replay_mark(r, &(struct replay_mark){ .thread = b.thread, .occupant = hog.thread }) ||
	    !replay_run(r, a.thread, &all, 1, &g))
		abort();
	is_gain(&g, 25 * MS, 25 * MS, "what it took of both");
	is_i64(g.lanes[REPLAY_ALL].whole_ns[REPLAY_CAUTIOUS], 25 * MS, "so without all");
	replay_free(r);
	r = replay_new(t.path);
	if (!replay_mark(r, &(struct replay_mark){ .thread = b.thread,
						   .occupant = hog.thread,
						   .stays = true }) ||
	    !replay_run(r, a.thread, &all, 1, &g))
		abort();
	is_gain(&g, 25 * MS, 25 * MS, "one that stays by itself");
	is_i64(g.lanes[REPLAY_ALL].whole_ns[REPLAY_CAUTIOUS], 0, "not without all");
	replay_free(r);
	outcome_free(&t);
	stage_free(&s);
}

/* main computes and sleeps 200 times: until the next tick of a clock, or always as long. */
static void ticks(bool pace, const char *what)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	int64_t at = 0, own = 0, end;
	struct replay_gains g;
	struct outcome t;
	uint32_t random = 1;

	for (int i = 1; i <= 200; i++) {
		int64_t work, late;

		random = random * 1664525 + 1013904223;
		work = MS + (random >> 16) % 64 * 10 * US;
		late = (random >> 24) % 8 * US;
		end = pace ? i * 5 * MS + late : at + work + 3 * MS + late;
		sleep_for(&s, a, at + work, end);
		own += i > 1 ? work : 0;
		at = end;
	}
	t = run(&s, a.thread, at);
	g = without(&t, a, at, a, SEGMENT_OWN, false);
	is_gain(&g, pace ? 0 : own, pace ? 0 : own, what);
	outcome_free(&t);
	stage_free(&s);
}

int main(void)
{
	ticks(true, "what is gained before a tick is waited for");
	ticks(false, "where sleeps add up it is gained");
	slack();
	ahead();
	server(TO_MAIN, 59970 * US, "each sleep of a server that main asks");
	server(TO_OTHERS, 14990 * US, "somebody else asks it, when that is so");
	server(IN_PARTS, 59970 * US, "of one whose answer comes in two parts");
	server(BY_THREADS, 59970 * US, "of one that makes a thread for each answer");
	holder(false, 30 * MS, "what of the sleep lay in the wait is gained, no more");
	holder(true, 37 * MS, "and perhaps in what it could not leave the lock");
	device(40 * MS, 80 * MS, 1 * MS, 1 * MS,
	       "behind a device that works longer nothing is gained");
	device(40 * MS, 30 * MS, 1 * MS, 29 * MS,
	       "the call found it done: between nothing and all");
	taker();
	return tap_done();
}
