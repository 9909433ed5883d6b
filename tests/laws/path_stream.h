/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs on a simulated machine (path_machine.h), as the stream of events that a recorder
 * would have written: threads that compute, call, take locks, hand tokens through pipes, sleep,
 * wait for disk and device, fork and exit, beside a hog that is not recorded.
 */
#ifndef INGERO_TESTS_LAWS_PATH_STREAM_H
#define INGERO_TESTS_LAWS_PATH_STREAM_H

#include "tests/laws/path_machine.h"

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
	uint64_t most_ns = s->python && lock == STREAM_LOCKS - 1 ? 3000000 : 100000;

	/* In order, so that nobody waits in a circle. */
	if (t->held >> lock)
		return;
	if (s->owner[lock] < 0) {
		s->owner[lock] = (int)(t - s->t);
		t->held |= 1u << lock;
		return;
	}
	/* The last is the interpreter's, which is asked for again and again; so are some of the
	 * others. */
	stream_block(s, t, lock == STREAM_LOCKS - 1 ? OBJECT_GIL : OBJECT_FUTEX,
		     lock == 0 || stream_any(s, 3) == 0 ? 0 : 1 + (int64_t)stream_any(s, most_ns));
	t->address = 16 * lock;
	t->lock = (int)lock;
}

/* The thread has the interpreter's lock; one that the clock woke from its wait for it asks for it:
 * it gets it, and the thread wants it back. */
static inline bool stream_give_way(struct path_stream *s, struct stream_thread *t)
{
	const unsigned lock = STREAM_LOCKS - 1;

	for (unsigned i = 0; s->python && i < s->n && t->held == 1u << lock; i++) {
		if (s->t[i].state != STREAM_RUNS || s->t[i].again != (int)lock)
			continue;
		s->t[i].again = -1;
		s->t[i].held |= t->held;
		s->owner[lock] = (int)i;
		t->held = 0;
		stream_lock(s, t, lock);
		return true;
	}
	return false;
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
	if (stream_give_way(s, t))
		return;
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
		unsigned n = STREAM_LOCKS - (s->python && stream_any(s, 20));

		for (unsigned i = 0; i < n; i++) {
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

static inline void path_stream_open_as(struct path_stream *s, uint64_t seed, int64_t for_ns,
				       bool no_waking, bool python)
{
	struct world_process idle = { .tgid = 0 };
	struct world_thread idle_thread = { .tid = 0 };
	struct world_node node = { .uuid = { 1 }, .boot = 1 };
	struct world_ctx cpu = { 0 };

	memset(s, 0, sizeof(*s));
	s->w = world_new();
	s->random = seed * 0x9e3779b97f4a7c15u + 1;
	s->no_waking = no_waking;
	s->python = python;
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

static inline void path_stream_open(struct path_stream *s, uint64_t seed, int64_t for_ns,
				    bool no_waking)
{
	path_stream_open_as(s, seed, for_ns, no_waking, false);
}

static inline void path_stream_close(struct path_stream *s)
{
	world_free(s->w);
	vec_free(&s->ev);
	vec_free(&s->open);
}

#endif
