/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs on a simulated machine, as the stream of events that a recorder would have written: threads that compute, call,
 * take locks, hand tokens through pipes, sleep, wait for disk and device, fork and exit, on fewer CPUs than there are threads,
 * beside a hog that is not recorded. Times are exact: each off-CPU interval, slice, move and waking time is what happened.
 */
#ifndef INGERO_TESTS_LAWS_PATH_STREAM_H
#define INGERO_TESTS_LAWS_PATH_STREAM_H

#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/world/order.h"
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

/* ---- what threads do ---- */

static inline void stream_wake(struct path_stream *s, struct stream_thread *t, unsigned kind,
			       const struct stream_thread *by)
{
	t->state = STREAM_WAKING;
	t->waker_kind = kind;
	t->waker = by ? by->thread : 0;
	t->act_ns = s->now_ns;
	t->wake_ns = s->now_ns + 1 + (int64_t)stream_any(s, 20000);
	t->lock = t->pipe = -1;
}

static inline void stream_block(struct path_stream *s, struct stream_thread *t, unsigned object,
				int64_t for_ns)
{
	stream_leave(s, t, STREAM_BLOCKED);
	t->object = object;
	t->wake_ns = for_ns ? s->now_ns + for_ns : 0;
}

static inline void stream_unlock(struct path_stream *s, struct stream_thread *t, unsigned lock)
{
	t->held &= ~(1u << lock);
	s->owner[lock] = -1;
	for (unsigned i = 0; i < s->n; i++) {
		if (s->t[i].state != STREAM_BLOCKED || s->t[i].lock != (int)lock)
			continue;
		s->owner[lock] = (int)i;
		s->t[i].held |= 1u << lock;
		stream_wake(s, &s->t[i], WAKER_TASK, t);
		return;
	}
}

static inline void stream_lock(struct path_stream *s, struct stream_thread *t, unsigned lock)
{
	/* In order, so that nobody waits in a circle. */
	if (t->held >> lock)
		return;
	if (s->owner[lock] < 0) {
		s->owner[lock] = (int)(t - s->t);
		t->held |= 1u << lock;
		return;
	}
	/* The last is the interpreter's, which is asked for again and again; so are some of the others. */
	stream_block(s, t, lock == STREAM_LOCKS - 1 ? OBJECT_GIL : OBJECT_FUTEX,
		     lock == 0 || stream_any(s, 3) == 0 ? 0 : 1 + (int64_t)stream_any(s, 100000));
	t->address = 16 * lock;
	t->lock = (int)lock;
}

static inline void stream_write(struct path_stream *s, struct stream_thread *t, unsigned pipe)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->t[i].state == STREAM_BLOCKED && s->t[i].pipe == (int)pipe) {
			stream_wake(s, &s->t[i], WAKER_TASK, t);
			return;
		}
	}
	s->tokens[pipe]++;
}

static inline void stream_read(struct path_stream *s, struct stream_thread *t, unsigned pipe)
{
	if (s->tokens[pipe]) {
		s->tokens[pipe]--;
		return;
	}
	if (t->held)
		return;
	stream_block(s, t, OBJECT_FD, 0);
	t->pipe = (int)pipe;
}

static inline void stream_call(struct path_stream *s, struct stream_thread *t)
{
	static const uint16_t ops[] = { OP_CUDA_LAUNCH, OP_CUDA_STREAM_SYNC, OP_CUDA_MALLOC,
					OP_CU_CTX_SYNC, OP_CU_LAUNCH };

	if (t->depth == STREAM_DEPTH)
		return;
	t->calls[t->depth].op = ops[stream_any(s, 5)];
	t->calls[t->depth].start_ns = t->mark_ns = s->now_ns;
	t->calls[t->depth].stack = stream_stack(s);
	t->depth++;
}

static inline void stream_return(struct path_stream *s, struct stream_thread *t)
{
	if (t->depth == 0)
		return;
	t->depth--;
	stream_put(s, t->ctx, t->calls[t->depth].op, t->calls[t->depth].start_ns, s->now_ns,
		   t->depth, t->calls[t->depth].stack);
	t->mark_ns = s->now_ns;
}

static inline void stream_section(struct path_stream *s, struct stream_thread *t)
{
	static const uint16_t ops[] = { OP_MEM_RECLAIM, OP_MEM_COMPACT, OP_MEM_FAULT };

	if (!t->section_ns) {
		t->section_ns = t->mark_ns = s->now_ns;
		return;
	}
	stream_put(s, t->ctx, ops[stream_any(s, 3)], t->section_ns, s->now_ns, t->depth,
		   stream_stack(s));
	t->section_ns = 0;
	t->mark_ns = s->now_ns;
}

static inline void stream_fork(struct path_stream *s, struct stream_thread *t)
{
	int child = stream_thread_new(s, stream_any(s, 3) ? t->process : 0, true);
	struct event *ev;

	if (child < 0)
		return;
	ev = stream_put(s, t->ctx, OP_PROC_FORK, s->now_ns, s->now_ns, t->depth, 0);
	stream_col(ev, COL_CHILD, s->t[child].thread);
	s->t[child].waker = t->thread;
	s->t[child].waker_kind = WAKER_TASK;
}

static inline void stream_exit(struct path_stream *s, struct stream_thread *t)
{
	unsigned alive = 0;

	for (unsigned i = 0; i < s->n; i++)
		alive += s->t[i].recorded && s->t[i].state != STREAM_DEAD;
	if (alive < 6)
		return;
	for (unsigned i = 0; i < STREAM_LOCKS; i++) {
		if (t->held >> i & 1)
			stream_unlock(s, t, i);
	}
	stream_put(s, t->ctx, OP_PROC_EXIT, s->now_ns, s->now_ns, t->depth, 0);
	stream_leave(s, t, STREAM_DEAD);
}

static inline void stream_stolen(struct path_stream *s, struct stream_thread *t)
{
	uint64_t room = (uint64_t)(s->now_ns - t->mark_ns);

	if (room < 2)
		return;
	stream_put(s, t->ctx, OP_SCHED_STOLEN, s->now_ns - 1 - (int64_t)stream_any(s, room - 1),
		   s->now_ns, t->depth, 0);
	t->mark_ns = s->now_ns;
}

static inline void stream_act(struct path_stream *s, struct stream_thread *t)
{
	unsigned what = (unsigned)stream_any(s, 100);

	t->run_ns = 1 + (int64_t)stream_any(s, 60000);
	/* Near the end some wait for what never comes. */
	if (t->recorded && !t->held && s->now_ns > s->end_ns - (s->end_ns - STREAM_BEGIN) / 10 &&
	    stream_any(s, 40) == 0) {
		stream_block(s, t, OBJECT_FD, 0);
		return;
	}
	if (t->again >= 0) {
		unsigned lock = (unsigned)t->again;

		t->again = -1;
		stream_lock(s, t, lock);
	} else if (!t->recorded) {
		if (what < 50)
			stream_block(s, t, OBJECT_TIMER, 1 + (int64_t)stream_any(s, 900000));
		else if (what < 60)
			stream_write(s, t, (unsigned)stream_any(s, STREAM_PIPES));
	} else if (what < 8) {
		stream_section(s, t);
	} else if (what < 20) {
		stream_lock(s, t, (unsigned)stream_any(s, STREAM_LOCKS));
	} else if (what < 40) {
		for (unsigned i = 0; i < STREAM_LOCKS; i++) {
			if (t->held >> i & 1)
				stream_unlock(s, t, i);
		}
	} else if (what < 48) {
		stream_write(s, t, (unsigned)stream_any(s, STREAM_PIPES));
	} else if (what < 56) {
		stream_read(s, t, (unsigned)stream_any(s, STREAM_PIPES));
	} else if (what < 60) {
		static const unsigned objects[] = { OBJECT_TIMER, OBJECT_DISK, OBJECT_GPU,
						    OBJECT_POLL, OBJECT_NONE };

		stream_block(s, t, objects[stream_any(s, 5)], 1 + (int64_t)stream_any(s, 200000));
	} else if (what < 64) {
		stream_put(s, t->ctx, OP_CPU_SAMPLE, s->now_ns, s->now_ns, t->depth,
			   stream_stack(s));
		t->mark_ns = s->now_ns;
	} else if (what < 67) {
		stream_stolen(s, t);
	} else if (!t->section_ns) {
		if (what < 82)
			stream_call(s, t);
		else if (what < 97)
			stream_return(s, t);
		else if (what < 99)
			stream_fork(s, t);
		else
			stream_exit(s, t);
	}
}

/* ---- time ---- */

static inline int64_t stream_next(const struct path_stream *s)
{
	int64_t next = s->end_ns;

	for (unsigned i = 0; i < s->n; i++) {
		const struct stream_thread *t = &s->t[i];
		int64_t at = t->wake_ns;

		if (t->state == STREAM_QUEUED && s->cpus[t->cpu].running < 0)
			at = s->now_ns + 1;
		if (t->state == STREAM_RUNS)
			at = s->now_ns + (t->run_ns < t->slice_ns ? t->run_ns : t->slice_ns);
		if (at > s->now_ns && at < next)
			next = at;
	}
	for (unsigned i = 0; i < STREAM_CPUS; i++) {
		if (s->cpus[i].busy_until_ns > s->now_ns && s->cpus[i].busy_until_ns < next)
			next = s->cpus[i].busy_until_ns;
	}
	return next;
}

static inline void stream_timers(struct path_stream *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct stream_thread *t = &s->t[i];

		if (!t->wake_ns || t->wake_ns > s->now_ns)
			continue;
		if (t->state == STREAM_WAKING) {
			t->state = STREAM_QUEUED;
			t->ready_ns = s->now_ns;
			t->wake_ns = 0;
			/* An idle CPU needs a moment to take it. */
			if (s->cpus[t->cpu].running < 0)
				s->cpus[t->cpu].busy_until_ns =
					s->now_ns + (int64_t)stream_any(s, 3000);
		} else if (t->state == STREAM_BLOCKED) {
			bool timer = t->object == OBJECT_TIMER || t->lock >= 0;

			t->wake_ns = 0;
			t->again = t->lock;
			stream_wake(s, t, timer ? WAKER_TIMER : WAKER_SOFTIRQ, NULL);
		}
	}
}

static inline void stream_step(struct path_stream *s)
{
	int64_t next = stream_next(s), ns = next - s->now_ns;

	s->now_ns = next;
	for (unsigned i = 0; i < s->n; i++) {
		if (s->t[i].state != STREAM_RUNS)
			continue;
		s->t[i].run_ns -= ns;
		s->t[i].slice_ns -= ns;
	}
	stream_timers(s);
	for (unsigned i = 0; i < s->n; i++) {
		struct stream_thread *t = &s->t[i];

		if (t->state == STREAM_RUNS && t->run_ns == 0)
			stream_act(s, t);
		if (t->state == STREAM_RUNS && t->slice_ns <= 0)
			stream_leave(s, t, STREAM_QUEUED);
	}
	for (unsigned i = 0; i < STREAM_CPUS; i++)
		stream_dispatch(s, i);
}

static const struct world *stream_order_world;

/* Of one thread's events at one instant the first comes first. */
static inline int stream_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int c = world_event_order(stream_order_world, x, y);

	return c ? c : x->site < y->site ? -1 : 1;
}

/* What is open when the recording ends. */
static inline void stream_end(struct path_stream *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct stream_thread *t = &s->t[i];

		if (!t->recorded || t->state == STREAM_DEAD)
			continue;
		if (t->state != STREAM_RUNS)
			stream_offcpu(s, t, false);
		for (unsigned d = t->depth; d > 0; d--) {
			struct stream_open open = { t->thread, t->calls[d - 1].stack,
						    t->calls[d - 1].op, d - 1,
						    t->calls[d - 1].start_ns };

			if (!vec_push(&s->open, open))
				abort();
		}
	}
	for (unsigned i = 0; i < STREAM_CPUS; i++)
		stream_slice(s, i);
}

static inline void path_stream_open(struct path_stream *s, uint64_t seed, int64_t for_ns,
				    bool no_waking)
{
	struct world_process idle = { .tgid = 0 };
	struct world_thread idle_thread = { .tid = 0 };
	struct world_node node = { .uuid = { 1 }, .boot = 1 };
	struct world_ctx cpu = { 0 };

	memset(s, 0, sizeof(*s));
	s->w = world_new();
	s->random = seed * 0x9e3779b97f4a7c15u + 1;
	s->no_waking = no_waking;
	s->node = cpu.node = idle.node = world_node(s->w, &node);
	s->cpu_ctx = world_ctx(s->w, &cpu);
	idle_thread.process = world_process(s->w, &idle);
	s->idle = world_thread(s->w, &idle_thread);
	for (unsigned i = 0; i < 16; i++) {
		struct world_frame f = { .kind = FRAME_UNKNOWN, .offset = 1000 + i };
		uint32_t frame = world_frame(s->w, &f);

		s->stacks[i] = world_stack(s->w, &frame, 1);
	}
	s->now_ns = STREAM_BEGIN;
	s->end_ns = STREAM_BEGIN + for_ns;
	for (unsigned i = 0; i < STREAM_LOCKS; i++)
		s->owner[i] = -1;
	for (unsigned i = 0; i < STREAM_CPUS; i++) {
		s->cpus[i].running = -1;
		s->cpus[i].since_ns = s->now_ns;
	}
	for (unsigned i = 0; i < 8; i++) {
		int t = stream_thread_new(s, i % 4 && i < 6 ? s->t[i / 4 * 4].process : 0, i < 6);

		if (s->t[t].recorded)
			stream_put(s, s->t[t].ctx, OP_CPU_SAMPLE, s->now_ns, s->now_ns, 0,
				   stream_stack(s));
	}
	while (s->now_ns < s->end_ns)
		stream_step(s);
	stream_end(s);
	stream_order_world = s->w;
	qsort(s->ev.v, s->ev.n, sizeof(s->ev.v[0]), stream_order);
}

static inline void path_stream_close(struct path_stream *s)
{
	world_free(s->w);
	vec_free(&s->ev);
	vec_free(&s->open);
}

#endif
