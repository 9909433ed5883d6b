/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of waits that never ended, by hand: for each way to know whom a thread waits for, and each
 * end of a chain.
 */
#include "tests/tap.h"

#include "lib/path/path_unended.h"
#include "tests/unit/events.h"

struct cast {
	struct stage s;
	struct unended_facts f;
	struct actor main, work, third, child, other;
};

static void open_cast(struct cast *c)
{
	*c = (struct cast){ .s = stage_new() };
	c->f.w = c->s.w;
	c->main = stage_actor(&c->s, 10, 10, 1, "main");
	c->work = stage_actor(&c->s, 10, 11, 1, "work");
	c->third = stage_actor(&c->s, 10, 12, 1, "third");
	c->child = stage_actor(&c->s, 20, 20, 10, "child");
	c->other = stage_actor(&c->s, 30, 30, 1, "other");
}

/* All are seen, then what was written down happens. */
static void finish_cast(struct cast *c)
{
	const struct actor all[] = { c->main, c->work, c->third, c->child };

	stage_sort(&c->s);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct event ev = { .op = OP_CPU_SAMPLE, .ctx = all[i].ctx, .stack = 5 };

		if (!unended_event(&c->f, &ev))
			abort();
	}
	for (size_t i = 0; i < c->s.ev.n; i++) {
		if (unended_wants(c->s.ev.v[i].op) && !unended_event(&c->f, &c->s.ev.v[i]))
			abort();
	}
	for (size_t i = 0; i < c->s.rec.n; i++) {
		if (!unended_record(&c->f, &c->s.rec.v[i]))
			abort();
	}
}

static void close_cast(struct cast *c)
{
	unended_facts_free(&c->f);
	stage_free(&c->s);
}

/* A wait for an object that goes on. */
static struct event *hang(struct cast *c, struct actor a, unsigned object, uint64_t at)
{
	struct event *ev = stage_offcpu(&c->s, a, 0, 50 * MS, 100 * MS, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, object);
	stage_set(ev, COL_OBJECT, at);
	ev->present &= ~(1u << op_column(op_builtin(OP_SCHED_OFFCPU), COL_CPU_IN));
	ev->stack = 7;
	return ev;
}

static void waited_from(struct cast *c, struct actor a, unsigned object, uint64_t at,
			struct actor by, int64_t from_ns, int64_t to_ns)
{
	struct event *ev = stage_offcpu(&c->s, a, 0, from_ns, to_ns, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, object);
	stage_set(ev, COL_OBJECT, at);
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, by.thread);
	ev->stack = 7;
}

/* One that another thread ended. */
static void waited(struct cast *c, struct actor a, unsigned object, uint64_t at, struct actor by)
{
	waited_from(c, a, object, at, by, 10 * MS, 20 * MS);
}

/* One of 20 ms that took as long as it may. */
static void ran_out(struct cast *c, struct actor a, unsigned object, uint64_t at, int64_t to_ns)
{
	struct event *ev = stage_offcpu(&c->s, a, 0, to_ns - 20 * MS, to_ns, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, object);
	stage_set(ev, COL_OBJECT, at);
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
	ev->stack = 7;
}

static void exits(struct cast *c, struct actor a, int64_t at, uint64_t status)
{
	stage_set(stage_event(&c->s, OP_PROC_EXIT, a.ctx, 0, at, at), COL_STATUS, status);
}

static struct record *owner(struct cast *c, struct actor sleeper, uint64_t at, uint32_t tid)
{
	struct record *r = stage_record(&c->s, RECORD_OWNER);

	REC_SET(r, OWNER, time_ns, 90 * MS);
	REC_SET(r, OWNER, thread, sleeper.thread);
	REC_SET(r, OWNER, since_ns, 50 * MS);
	REC_SET(r, OWNER, object, at);
	REC_SET(r, OWNER, tid, tid);
	return r;
}

static void owned_by(struct cast *c, struct actor sleeper, uint64_t at, struct actor who,
		     uint32_t pid)
{
	struct record *r = owner(c, sleeper, at, who.thread);

	REC_SET(r, OWNER, owner, who.thread);
	REC_SET(r, OWNER, pid, pid);
}

static void pipe_of(struct cast *c, struct actor waiter, uint32_t fd, int64_t at, uint32_t pid)
{
	struct record *r = stage_record(&c->s, RECORD_PIPE);

	REC_SET(r, PIPE, time_ns, at);
	REC_SET(r, PIPE, process, waiter.process);
	REC_SET(r, PIPE, fd, fd);
	REC_SET(r, PIPE, write, 0);
	if (pid)
		REC_SET(r, PIPE, pid, pid);
}

/* Who is waited for first, and how the chain ends. */
static void is_chain(struct cast *c, unsigned n, uint32_t second, enum path_known known,
		     enum path_by by, enum path_ends ends, const char *what)
{
	struct path_unended u;

	finish_cast(c);
	path_unended_of(&c->f, c->main.thread, &u);
	if (!ok(u.n == n && u.ends == ends &&
			(n < 2 ||
			 (u.v[1].thread == second && u.v[1].known == known && u.v[1].by == by)),
		"%s: %s", what, path_ends_text(ends)))
		printf("# %u steps, then thread %u, known %u, \"%s\", \"%s\"\n", u.n, u.v[1].thread,
		       u.v[1].known, path_by_text(u.v[1].by), path_ends_text(u.ends));
	ok(u.v[0].thread == c->main.thread && u.v[0].waits && u.v[0].since_ns == 50 * MS &&
		   u.v[0].stack == 7,
	   "%s: where it waits itself", what);
	close_cast(c);
}

static void locks(void)
{
	struct cast c;
	struct record *r;

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	owned_by(&c, c.main, 0x100, c.work, 10);
	is_chain(&c, 2, c.work.thread, PATH_PROVEN, PATH_BY_OWNER, PATH_ENDS_RUNS, "an owner");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	owned_by(&c, c.main, 0x200, c.work, 10);
	is_chain(&c, 1, 0, 0, 0, PATH_ENDS_UNKNOWN, "an owner of another lock");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	hang(&c, c.work, OBJECT_FUTEX, 0x200);
	owned_by(&c, c.main, 0x100, c.work, 10);
	owned_by(&c, c.work, 0x200, c.main, 10);
	is_chain(&c, 2, c.work.thread, PATH_PROVEN, PATH_BY_OWNER, PATH_ENDS_CYCLE, "a deadlock");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	owner(&c, c.main, 0x100, 77);
	is_chain(&c, 1, 0, 0, 0, PATH_ENDS_GONE, "an owner that has ended");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	owned_by(&c, c.main, 0x100, c.child, 20);
	is_chain(&c, 2, c.child.thread, PATH_PROVEN, PATH_BY_OWNER, PATH_ENDS_FORKED,
		 "a lock of before a fork");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	owned_by(&c, c.main, 0x100, c.child, 20);
	r = &c.s.rec.v[0];
	REC_SET(r, OWNER, shared, 1);
	is_chain(&c, 2, c.child.thread, PATH_PROVEN, PATH_BY_OWNER, PATH_ENDS_RUNS,
		 "a lock of several processes");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	waited(&c, c.third, OBJECT_FUTEX, 0x100, c.work);
	is_chain(&c, 2, c.third.thread, PATH_LIKELY, PATH_BY_TAKER, PATH_ENDS_RUNS,
		 "who took the lock last");

	open_cast(&c);
	hang(&c, c.main, OBJECT_GIL, 0x100);
	waited(&c, c.third, OBJECT_GIL, 0x180, c.work);
	is_chain(&c, 2, c.third.thread, PATH_LIKELY, PATH_BY_TAKER, PATH_ENDS_RUNS,
		 "the interpreter's lock, whichever address");
}

static void hand_offs(void)
{
	struct path_unended u;
	struct cast c;
	struct event *ev;

	open_cast(&c);
	hang(&c, c.main, OBJECT_FD, 4);
	pipe_of(&c, c.main, 4, 90 * MS, 20);
	is_chain(&c, 2, c.child.thread, PATH_PROVEN, PATH_BY_PIPE, PATH_ENDS_RUNS, "a pipe");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FD, 4);
	pipe_of(&c, c.main, 4, 70 * MS, 30);
	pipe_of(&c, c.main, 4, 90 * MS, 20);
	is_chain(&c, 2, c.child.thread, PATH_PROVEN, PATH_BY_PIPE, PATH_ENDS_RUNS,
		 "a later look at the pipe");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FD, 4);
	pipe_of(&c, c.main, 4, 90 * MS, 10);
	pipe_of(&c, c.main, 4, 90 * MS, 77);
	is_chain(&c, 2, 0, PATH_PROVEN, PATH_BY_PIPE, PATH_ENDS_OUTSIDE,
		 "a pipe of a process that is not recorded");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FD, 4);
	pipe_of(&c, c.main, 4, 90 * MS, 0);
	is_chain(&c, 1, 0, 0, 0, PATH_ENDS_NOBODY, "a pipe that nobody has");

	open_cast(&c);
	hang(&c, c.main, OBJECT_SOCKET, 4);
	stage_set(stage_event(&c.s, OP_NET_SOCKET, c.main.ctx, 0, 50 * MS, 100 * MS), COL_SOCKET,
		  99);
	stage_peer(&c.s, 99, 20, "child");
	is_chain(&c, 2, c.child.thread, PATH_PROVEN, PATH_BY_PEER, PATH_ENDS_RUNS, "a socket");

	for (unsigned own = 0; own < 2; own++) {
		open_cast(&c);
		hang(&c, c.main, OBJECT_SOCKET, 4);
		stage_set(stage_event(&c.s, OP_NET_SOCKET, c.main.ctx, 0, 50 * MS, 100 * MS),
			  COL_SOCKET, 99);
		stage_peer(&c.s, 99, own ? 10 : 20, "child");
		if (!own)
			stage_peer(&c.s, 99, 30, "third");
		is_chain(&c, 1, 0, 0, 0, PATH_ENDS_UNKNOWN,
			 own ? "a socket whose other end it has itself"
			     : "a socket whose other end two have");
	}

	open_cast(&c);
	hang(&c, c.main, OBJECT_FD, 4);
	waited(&c, c.main, OBJECT_FD, 4, c.work);
	stage_event(&c.s, OP_PROC_EXIT, c.work.ctx, 0, 30 * MS, 30 * MS);
	is_chain(&c, 2, c.work.thread, PATH_LIKELY, PATH_BY_RELEASER, PATH_ENDS_EXITED,
		 "a producer that has ended");

	open_cast(&c);
	waited(&c, c.main, OBJECT_FD, 4, c.work);
	exits(&c, c.work, 30 * MS, 0);
	waited_from(&c, c.main, OBJECT_FD, 4, c.other, 50 * MS, 100 * MS);
	exits(&c, c.main, 101 * MS, 15);
	is_chain(&c, 2, c.work.thread, PATH_LIKELY, PATH_BY_RELEASER, PATH_ENDS_EXITED,
		 "the same of a program that was killed while it waited: not for who killed it");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FD, 4);
	waited(&c, c.main, OBJECT_FD, 4, c.work);
	waited(&c, c.work, OBJECT_FD, 5, c.other);
	exits(&c, c.work, 500 * MS, 15);
	is_chain(&c, 2, c.work.thread, PATH_LIKELY, PATH_BY_RELEASER, PATH_ENDS_EXITED,
		 "one that was killed later had got what it waited for");

	open_cast(&c);
	hang(&c, c.main, OBJECT_POLL, 2);
	waited(&c, c.main, OBJECT_POLL, 2, c.work);
	is_chain(&c, 2, c.work.thread, PATH_CANDIDATE, PATH_BY_RELEASER, PATH_ENDS_RUNS,
		 "who ended a wait there once");

	open_cast(&c);
	ev = hang(&c, c.main, OBJECT_FUTEX, 0x100);
	stage_set(ev, COL_FUTEX_OP, 9);
	ev->stack = 8;
	waited(&c, c.main, OBJECT_FD, 4, c.work);
	hang(&c, c.work, OBJECT_STOP, 0);
	finish_cast(&c);
	path_unended_of(&c.f, c.main.thread, &u);
	ok(u.n == 2 && u.v[1].thread == c.work.thread && u.v[1].known == PATH_CANDIDATE &&
		   u.v[1].by == PATH_BY_LAST && u.ends == PATH_ENDS_STOPPED,
	   "who ended its last wait, elsewhere");
	close_cast(&c);

	open_cast(&c);
	hang(&c, c.main, OBJECT_CHILD, 0);
	hang(&c, c.child, OBJECT_TIMER, 0);
	is_chain(&c, 2, c.child.thread, PATH_PROVEN, PATH_BY_CHILD, PATH_ENDS_SLEEPS, "a child");

	open_cast(&c);
	ev = hang(&c, c.main, OBJECT_FUTEX, 0x100);
	stage_set(ev, COL_FUTEX_OP, 9);
	stage_set(ev, COL_FUTEX_VAL, 11);
	ev = hang(&c, c.work, OBJECT_DISK, 0);
	is_chain(&c, 2, c.work.thread, PATH_LIKELY, PATH_BY_JOIN, PATH_ENDS_DISK,
		 "the end of a thread");
}

static uint32_t python_stack(struct cast *c, const char *function, const char *file)
{
	struct world_frame f = { .kind = FRAME_PYTHON, .offset = 12 };
	uint32_t frame;

	f.name = world_string(c->s.w, bytes_of(function));
	f.file = world_string(c->s.w, bytes_of(file));
	frame = world_frame(c->s.w, &f);
	return world_stack(c->s.w, &frame, 1);
}

static uint32_t native_stack(struct cast *c, const char *library)
{
	struct world_module m = { .path = world_string(c->s.w, bytes_of(library)) };
	struct world_frame f = { .kind = FRAME_NATIVE, .offset = 0x89226 };
	uint32_t frame;

	f.module = world_module(c->s.w, &m);
	frame = world_frame(c->s.w, &f);
	return world_stack(c->s.w, &frame, 1);
}

/* Threads that mostly sleep may have no sample, or an old one. */
static void last_places(void)
{
	static const char *const out[] = { "_wait_for_tstate_lock", "run", "_bootstrap_inner",
					   "_delete", "_bootstrap" };
	static const char *const libraries[] = { "/usr/lib/libpython3.11.so.1.0",
						 "/usr/lib/x86_64-linux-gnu/libc.so.6" };
	struct path_unended u;
	struct cast c;
	uint32_t own;

	open_cast(&c);
	for (unsigned i = 0; i < 8; i++) /* others than where all are sampled */
		python_stack(&c, "main", "/home/me/train.py");
	own = python_stack(&c, "produce", "/home/me/train.py");
	hang(&c, c.main, OBJECT_FD, 4);
	waited(&c, c.main, OBJECT_FD, 4, c.work);
	stage_offcpu(&c.s, c.work, 0, 21 * MS, 22 * MS, 0, 0)->stack = own;
	for (unsigned i = 0; i < 3; i++)
		stage_offcpu(&c.s, c.work, 0, (23 + i) * MS, (24 + i) * MS, 0, 0)->stack =
			python_stack(&c, out[i], "/usr/lib/python3.11/threading.py");
	for (unsigned i = 0; i < 2; i++)
		stage_offcpu(&c.s, c.work, 0, (26 + i) * MS, (27 + i) * MS, 0, 0)->stack =
			native_stack(&c, libraries[i]);
	exits(&c, c.work, 30 * MS, 0);
	finish_cast(&c);
	path_unended_of(&c.f, c.main.thread, &u);
	ok(u.n == 2 && u.v[1].stack == own,
	   "where a thread that ended was last seen: its own line");
	close_cast(&c);

	open_cast(&c);
	hang(&c, c.main, OBJECT_FD, 4);
	waited(&c, c.main, OBJECT_FD, 4, c.work);
	for (unsigned i = 0; i < 8; i++)
		stage_offcpu(&c.s, c.work, 0, (23 + i) * MS, (24 + i) * MS, 0, 0)->stack = own =
			python_stack(&c, out[i % 5], "/usr/lib/python3.11/threading.py");
	exits(&c, c.work, 40 * MS, 0);
	finish_cast(&c);
	path_unended_of(&c.f, c.main.thread, &u);
	ok(u.n == 2 && u.v[1].stack == own, "that has none: the newest");
	close_cast(&c);
}

static void socket_of(struct cast *c, uint64_t id, const char *role)
{
	struct record *r = stage_record(&c->s, RECORD_SOCKET);

	REC_SET(r, SOCKET, id, id);
	REC_SET(r, SOCKET, role, bytes_of(role));
}

static void on_socket(struct cast *c, struct actor a, uint64_t id)
{
	hang(c, a, OBJECT_SOCKET, 4);
	stage_set(stage_event(&c->s, OP_NET_SOCKET, a.ctx, 0, 50 * MS, 100 * MS), COL_SOCKET, id);
}

/* A condition: whoever ends the wait does not leave anything. */
static struct event *on_condition(struct cast *c, struct actor a, uint64_t at, uint32_t stack)
{
	struct event *ev = hang(c, a, OBJECT_FUTEX, at);

	stage_set(ev, COL_FUTEX_OP, 9);
	ev->stack = stack;
	return ev;
}

/* Each of the two last ones, and the same of a wait of six seconds. */
static void judge(struct cast *c, bool hangs, bool longer, bool outside, const char *what)
{
	struct path_unended u;

	finish_cast(c);
	path_unended_of(&c->f, c->main.thread, &u);
	ok(path_unended_is_hang(&u, 2000 * MS) == hangs &&
		   path_unended_is_hang(&u, 6000 * MS) == longer &&
		   path_unended_is_outside(&u) == outside,
	   "%s: %s", what, path_ends_text(u.ends));
	close_cast(c);
}

static void outside(void)
{
	struct cast c;
	struct record *r;

	open_cast(&c);
	socket_of(&c, 99, "accepted");
	on_socket(&c, c.main, 99);
	stage_peer(&c.s, 99, 20, "child");
	judge(&c, false, false, true, "a client that asks no more");

	open_cast(&c);
	socket_of(&c, 99, "connected");
	on_socket(&c, c.main, 99);
	judge(&c, true, true, false, "a server that does not answer");

	open_cast(&c);
	socket_of(&c, 99, "connected");
	on_socket(&c, c.main, 99);
	stage_peer(&c.s, 99, 20, "child");
	hang(&c, c.child, OBJECT_TIMER, 0);
	judge(&c, false, true, false, "a server that sleeps");

	open_cast(&c);
	socket_of(&c, 99, "listening");
	r = stage_record(&c.s, RECORD_READY);
	REC_SET(r, READY, thread, c.work.thread);
	REC_SET(r, READY, socket, 99);
	hang(&c, c.work, OBJECT_POLL, 2);
	waited(&c, c.main, OBJECT_FD, 7, c.work);
	hang(&c, c.main, OBJECT_FD, 7);
	judge(&c, false, false, true, "what waits for a thread that waits for clients");

	for (unsigned i = 0; i < 2; i++) {
		open_cast(&c);
		socket_of(&c, 99, "listening");
		r = stage_record(&c.s, RECORD_READY);
		REC_SET(r, READY, thread, c.work.thread);
		REC_SET(r, READY, socket, 99);
		ran_out(&c, c.work, OBJECT_POLL, 2, i ? 70 * MS : 98 * MS);
		waited(&c, c.main, OBJECT_FD, 7, c.work);
		hang(&c, c.main, OBJECT_FD, 7);
		judge(&c, false, false, !i,
		      i ? "but not one that had gone on for longer than it had waited"
			: "that looks up now and then, and just did");
	}

	open_cast(&c);
	hang(&c, c.main, OBJECT_FD, 0);
	judge(&c, false, false, true, "a terminal");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	judge(&c, true, true, false, "a lock that nobody is known to have");

	open_cast(&c);
	hang(&c, c.main, OBJECT_FUTEX, 0x100);
	owned_by(&c, c.main, 0x100, c.work, 10);
	judge(&c, false, false, false, "a lock whose owner computes");
}

static void beside(void)
{
	struct cast c;

	open_cast(&c);
	on_condition(&c, c.main, 0x100, 7);
	on_condition(&c, c.work, 0x200, 8);
	hang(&c, c.third, OBJECT_POLL, 2);
	is_chain(&c, 2, c.work.thread, PATH_CANDIDATE, PATH_BY_BESIDE, PATH_ENDS_CYCLE,
		 "another one of the process that never woke up");

	open_cast(&c);
	on_condition(&c, c.main, 0x100, 7);
	waited(&c, c.work, OBJECT_FUTEX, 0x200, c.third);
	hang(&c, c.work, OBJECT_FUTEX, 0x200);
	is_chain(&c, 1, 0, 0, 0, PATH_ENDS_UNKNOWN, "but not one where it rests");
}

/* Each request has a thread of its own. */
static void makers(void)
{
	struct cast c;

	open_cast(&c);
	for (uint32_t i = 0; i < 4; i++) {
		struct actor one = stage_actor(&c.s, 10, 40 + i, 1, "request");
		struct event *ev = stage_event(&c.s, OP_PROC_FORK, c.work.ctx, 0, 8 * MS, 8 * MS);

		stage_set(ev, COL_CHILD, one.thread);
		waited_from(&c, c.main, OBJECT_FD, 4, one, (10 + i) * MS, (11 + i) * MS);
		exits(&c, one, 20 * MS, 0);
	}
	hang(&c, c.main, OBJECT_FD, 4);
	hang(&c, c.work, OBJECT_TIMER, 0);
	is_chain(&c, 2, c.work.thread, PATH_LIKELY, PATH_BY_MAKER, PATH_ENDS_SLEEPS,
		 "who starts the threads that each ended one such wait");
}

/* What the recorder says of a sleep that goes on holds until the thread runs again. */
static void asleep(void)
{
	struct cast c;
	struct record r = { .kind = RECORD_ASLEEP };
	struct path_unended u;

	open_cast(&c);
	waited(&c, c.main, OBJECT_FD, 4, c.work);
	finish_cast(&c);
	REC_SET(&r, ASLEEP, time_ns, 15 * MS);
	REC_SET(&r, ASLEEP, thread, c.main.thread);
	REC_SET(&r, ASLEEP, since_ns, 10 * MS);
	REC_SET(&r, ASLEEP, object_kind, OBJECT_FD);
	REC_SET(&r, ASLEEP, object, 4);
	REC_SET(&r, ASLEEP, cpu_out, 1);
	ok(unended_record(&c.f, &r), "a record of a wait that is over");
	path_unended_of(&c.f, c.main.thread, &u);
	ok(u.n == 1 && u.ends == PATH_ENDS_RUNS, "it is over");
	REC_SET(&r, ASLEEP, since_ns, 30 * MS);
	REC_SET(&r, ASLEEP, time_ns, 90 * MS);
	ok(unended_record(&c.f, &r), "a record of a wait that goes on");
	path_unended_of(&c.f, c.main.thread, &u);
	ok(u.n == 2 && u.v[1].thread == c.work.thread && u.v[0].since_ns == 30 * MS,
	   "it waits for whoever ended the wait before");
	close_cast(&c);
}

int main(void)
{
	locks();
	hand_offs();
	asleep();
	outside();
	beside();
	makers();
	last_places();
	return tap_done();
}
