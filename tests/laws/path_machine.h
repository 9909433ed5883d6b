/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated machine with fewer CPUs than threads, and the scheduler events that a recorder would
 * have written of it: off-CPU intervals, slices, moves and waking times, exact to the nanosecond.
 * What its threads do is in path_stream.h.
 */
#ifndef INGERO_TESTS_LAWS_PATH_MACHINE_H
#define INGERO_TESTS_LAWS_PATH_MACHINE_H

#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/world/event_order.h"
#include "lib/world/world.h"

#define STREAM_BEGIN   INT64_C(1000000000000)
#define STREAM_THREADS 40
#define STREAM_CPUS    3
#define STREAM_LOCKS   3
#define STREAM_PIPES   3
#define STREAM_DEPTH   3

enum stream_state { STREAM_RUNS, STREAM_QUEUED, STREAM_BLOCKED, STREAM_WAKING, STREAM_DEAD };

struct stream_thread {
	uint32_t thread, process, ctx; /* world ids */
	bool recorded;
	enum stream_state state;
	unsigned cpu, cpu_out;
	int64_t run_ns, slice_ns; /* left until it acts, until its slice is over */
	int64_t off_ns, act_ns, ready_ns,
		wake_ns; /* went off; was woken; that arrived; a timer wakes it (0: none) */
	uint32_t waker;
	unsigned waker_kind, object, address;
	int lock, pipe; /* waited for, -1 none */
	int again;	/* a lock to be tried again, -1 none */
	unsigned held;	/* mask of locks */
	unsigned depth;
	struct {
		uint16_t op;
		int64_t start_ns;
		uint32_t stack;
	} calls[STREAM_DEPTH];
	int64_t section_ns; /* a memory section began; 0: it is in none */
	int64_t mark_ns;    /* end of its last event, or start of its last call */
};

struct stream_open {
	uint32_t thread, stack;
	uint16_t op;
	unsigned depth;
	int64_t start_ns;
};

struct path_stream {
	struct world *w;
	uint64_t random;
	bool no_waking; /* as older recordings: when the waker acted is not said */
	bool python;	/* who has the interpreter's lock is asked for it, and gives way */
	uint32_t node, cpu_ctx, idle, stacks[16];
	struct stream_thread t[STREAM_THREADS];
	unsigned n, processes;
	int64_t now_ns, end_ns;
	struct {
		int running; /* -1: idle */
		int64_t since_ns, busy_until_ns;
	} cpus[STREAM_CPUS];
	int owner[STREAM_LOCKS]; /* -1: free */
	unsigned tokens[STREAM_PIPES];
	VEC(struct event) ev;
	VEC(struct stream_open)
	open; /* calls that had not returned, innermost first of each thread */
};

static inline uint64_t stream_any(struct path_stream *s, uint64_t below)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random % below;
}

static inline struct event *stream_put(struct path_stream *s, uint32_t ctx, uint16_t op,
				       int64_t start_ns, int64_t end_ns, unsigned depth,
				       uint32_t stack)
{
	struct event ev = { .end_ns = end_ns,
			    .dur_ns = (uint64_t)(end_ns - start_ns),
			    .op = op,
			    .depth = (uint16_t)depth,
			    .ctx = ctx,
			    .stack = stack,
			    .site = (uint32_t)s->ev.n };

	if (!vec_push(&s->ev, ev))
		abort();
	return &s->ev.v[s->ev.n - 1];
}

static inline void stream_col(struct event *ev, uint16_t column, uint64_t value)
{
	event_set(ev, op_builtin(ev->op), column, value);
}

static inline uint32_t stream_stack(struct path_stream *s)
{
	return s->stacks[stream_any(s, 16)];
}

/* A new thread of a process (0: of a new one). */
static inline int stream_thread_new(struct path_stream *s, uint32_t process, bool recorded)
{
	struct stream_thread *t = &s->t[s->n];
	uint32_t tid = 100 + s->n;
	struct world_process p = { .node = s->node, .tgid = tid, .start_ns = tid };
	struct world_thread th = { .tid = tid, .start_ns = tid };
	struct world_ctx ctx = { .node = s->node };

	if (s->n == STREAM_THREADS)
		return -1;
	memset(t, 0, sizeof(*t));
	th.process = process ? process : world_process(s->w, &p);
	th.comm = world_string(s->w, bytes_of(recorded ? "worker" : "hog"));
	t->process = th.process;
	t->thread = ctx.thread = world_thread(s->w, &th);
	t->ctx = world_ctx(s->w, &ctx);
	t->recorded = recorded;
	t->lock = t->pipe = t->again = -1;
	t->state = STREAM_QUEUED;
	t->off_ns = t->act_ns = t->ready_ns = t->mark_ns = s->now_ns;
	t->cpu = t->cpu_out = (unsigned)stream_any(s, STREAM_CPUS);
	t->run_ns = 1 + (int64_t)stream_any(s, 50000);
	return (int)s->n++;
}

/* ---- CPUs ---- */

/* Whoever had the CPU had it until now. */
static inline void stream_slice(struct path_stream *s, unsigned cpu)
{
	int who = s->cpus[cpu].running;
	struct event *ev;

	if (s->cpus[cpu].since_ns < s->now_ns) {
		ev = stream_put(s, s->cpu_ctx, OP_SCHED_OCCUPIED, s->cpus[cpu].since_ns, s->now_ns,
				0, 0);
		stream_col(ev, COL_CPU, cpu);
		stream_col(ev, COL_OCCUPANT, who < 0 ? s->idle : s->t[who].thread);
	}
	s->cpus[cpu].since_ns = s->now_ns;
}

static inline void stream_leave(struct path_stream *s, struct stream_thread *t,
				enum stream_state state)
{
	stream_slice(s, t->cpu);
	s->cpus[t->cpu].running = -1;
	s->cpus[t->cpu].busy_until_ns = s->now_ns;
	t->state = state;
	t->cpu_out = t->cpu;
	t->off_ns = t->act_ns = t->ready_ns = s->now_ns;
	t->waker = 0;
	t->waker_kind = WAKER_NONE;
	t->object = OBJECT_NONE;
}

static inline void stream_offcpu(struct path_stream *s, struct stream_thread *t, bool ended)
{
	int64_t ready = t->state == STREAM_QUEUED ? t->ready_ns : s->now_ns;
	struct event *ev;

	if (!t->recorded || t->off_ns == s->now_ns)
		return;
	ev = stream_put(s, t->ctx, OP_SCHED_OFFCPU, t->off_ns, s->now_ns, t->depth,
			stream_stack(s));
	stream_col(ev, COL_WAIT_NS, (uint64_t)(s->now_ns - ready));
	stream_col(ev, COL_CPU_OUT, t->cpu_out);
	if (ended)
		stream_col(ev, COL_CPU_IN, t->cpu);
	stream_col(ev, COL_OBJECT_KIND, t->object);
	if (t->object == OBJECT_FUTEX || t->object == OBJECT_GIL)
		stream_col(ev, COL_OBJECT, 0x1000 + t->address);
	if (t->object == OBJECT_FUTEX) {
		stream_col(ev, COL_FUTEX_OP, 0);
		stream_col(ev, COL_FUTEX_VAL, 2);
	}
	if (t->object == OBJECT_DISK)
		stream_col(ev, COL_OBJECT, 8 << 20 | 16);
	stream_col(ev, COL_WAKER_KIND, t->waker_kind);
	if (t->waker_kind == WAKER_TASK) {
		stream_col(ev, COL_WAKER, t->waker);
		if (!s->no_waking && ready > t->off_ns)
			stream_col(ev, COL_WAKING_NS, (uint64_t)(ready - t->act_ns));
	}
	if (stream_any(s, 10) == 0)
		stream_col(ev, COL_THROTTLED_NS, stream_any(s, (uint64_t)(s->now_ns - ready) + 1));
	if (stream_any(s, 10) == 0)
		stream_col(ev, COL_STOLEN_NS, stream_any(s, (uint64_t)(s->now_ns - ready) + 1));
}

static inline void stream_move(struct path_stream *s, struct stream_thread *t, unsigned cpu)
{
	struct event *ev;

	if (t->cpu == cpu)
		return;
	/* What it waited behind is told before the wait ends elsewhere. */
	stream_slice(s, t->cpu);
	if (t->recorded) {
		ev = stream_put(s, t->ctx, OP_SCHED_MIGRATE, s->now_ns, s->now_ns, t->depth, 0);
		stream_col(ev, COL_CPU_OUT, t->cpu);
		stream_col(ev, COL_CPU_IN, cpu);
	}
	t->cpu = cpu;
}

/* An idle CPU takes the thread that waits for it longest, sometimes another CPU's. */
static inline void stream_dispatch(struct path_stream *s, unsigned cpu)
{
	int best = -1;

	if (s->cpus[cpu].running >= 0 || s->cpus[cpu].busy_until_ns > s->now_ns)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		struct stream_thread *t = &s->t[i];

		if (t->state != STREAM_QUEUED || t->off_ns == s->now_ns)
			continue;
		if ((t->cpu == cpu || stream_any(s, 4) == 0) &&
		    (best < 0 || t->ready_ns < s->t[best].ready_ns))
			best = (int)i;
	}
	if (best < 0)
		return;
	stream_move(s, &s->t[best], cpu);
	stream_slice(s, cpu);
	s->cpus[cpu].running = best;
	stream_offcpu(s, &s->t[best], true);
	s->t[best].state = STREAM_RUNS;
	s->t[best].mark_ns = s->now_ns;
	s->t[best].slice_ns = 20000 + (int64_t)stream_any(s, 300000);
	if (s->t[best].run_ns == 0)
		s->t[best].run_ns = 1 + (int64_t)stream_any(s, 20000);
}

#endif
