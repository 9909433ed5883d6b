// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host tracks of target threads: one event per off-CPU interval, at its end, and while a target waits for a
 * CPU, one event per stretch of another task running there. Having task storage is what makes a thread one to
 * follow: it is made when a target's thread is born and for those that are there already when recording
 * begins, never here in the scheduler, where memory must not be asked for.
 * Invariant: the waiters of a CPU are exactly the threads whose state says so (counted, cpu_wait); while there
 * are any, the slices sent for that CPU tile the time up to its last switch.
 */
#include "bpf/object.h"
#include "bpf/waker.h"

#define SOURCE_SCHED 16

/* One per possible CPU, a cache line each. */
struct cpu_track {
	u64 since_ns;  /* with waiters: told up to here */
	u64 announced; /* the occupant announced last */
	s32 waiters;
	u32 pad[11];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512); /* possible CPUs, set before loading */
	__type(key, u32);
	__type(value, struct cpu_track);
} sched_cpus SEC(".maps");

/* Tasks that are no targets but were announced; forgetting one only means announcing it again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} occupants SEC(".maps");

static __always_inline struct cpu_track *cpu_track(u32 cpu)
{
	return bpf_map_lookup_elem(&sched_cpus, &cpu);
}

static __always_inline struct task_state *followed(struct task_struct *task)
{
	if (!task->bpf_storage)
		return 0;
	return bpf_task_storage_get(&tasks, task, 0, 0);
}

static __always_inline u32 task_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return task->cpu;
}

/* Time for which tasks of this run queue were throttled, so far; grows while they are. */
static __always_inline u64 throttle_clock(struct cfs_rq *q)
{
	struct rq *rq = BPF_CORE_READ(q, rq);
	u64 since;

	if (bpf_core_field_exists(q->throttled_clock_self_time)) {
		since = BPF_CORE_READ(q, throttled_clock_self);
		return BPF_CORE_READ(q, throttled_clock_self_time) +
		       (since ? BPF_CORE_READ(rq, clock) - since : 0);
	}
	if (bpf_core_field_exists(q->throttled_clock_pelt_time)) {
		u64 now = BPF_CORE_READ(rq, clock_pelt) - BPF_CORE_READ(rq, lost_idle_time);

		since = BPF_CORE_READ(q, throttled_clock_pelt);
		return BPF_CORE_READ(q, throttled_clock_pelt_time) +
		       (BPF_CORE_READ(q, throttle_count) ? now - since : 0);
	}
	if (bpf_core_field_exists(q->throttled_clock_task_time)) {
		since = BPF_CORE_READ(q, throttled_clock_task);
		return BPF_CORE_READ(q, throttled_clock_task_time) +
		       (BPF_CORE_READ(q, throttle_count) ? BPF_CORE_READ(rq, clock_task) - since
							 : 0);
	}
	return 0;
}

/* Say who this task is before naming it. False: the ring is full. */
static __always_inline bool announce(struct task_struct *task, struct task_state *st,
				     struct cpu_track *track)
{
	struct wire_thread *w;
	u64 key, comm[2] = {};
	u8 one = 1;

	if (st)
		return task_announce(task, st);
	if (!task->pid)
		return 1; /* the idle task needs no introduction */
	/* With the name: it changes at exec, and the new program is not to blame for the shell it was. */
	bpf_probe_read_kernel(comm, sizeof(comm), task->comm);
	key = mix(mix(mix(task->pid, task->start_boottime), comm[0]), comm[1]);
	if (track && track->announced == key)
		return 1;
	if (!bpf_map_lookup_elem(&occupants, &key)) {
		w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
		if (!w)
			return 0;
		task_identity(w, task);
		w->kind = WIRE_OCCUPANT;
		bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
		bpf_map_update_elem(&occupants, &key, &one, BPF_ANY);
	}
	if (track)
		track->announced = key;
	return 1;
}

/* This task had the CPU up to now, and somebody waited for it. */
static __always_inline void send_occupied(struct cpu_track *track, u32 cpu,
					  struct task_struct *task, struct task_state *st, u64 now)
{
	struct wire_occupied *w;
	u64 since = track->since_ns;

	if (since >= now)
		return;
	track->since_ns = now;
	if (!announce(task, st, track))
		goto lost;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_OCCUPIED;
	w->pad = 0;
	w->cpu = cpu;
	w->tid = task->pid;
	w->end_ns = now;
	w->dur_ns = now - since;
	w->lost = lost_total;
	w->pad2 = 0;
	bpf_ringbuf_submit(w, ring_flags());
	return;
lost:
	count_loss(SOURCE_SCHED, WIRE_LOST_RING);
}

/* Everything but migration between CPUs happens under the run queue's lock. */
static __always_inline void wait_begins(struct sched_state *s, struct cpu_track *track, u32 cpu,
					u64 now)
{
	if (track->waiters <= 0)
		track->since_ns = now;
	__sync_fetch_and_add(&track->waiters, 1);
	s->cpu_wait = cpu;
	s->counted = 1;
}

static __always_inline void wait_ends(struct sched_state *s, struct cpu_track *track)
{
	if (!s->counted)
		return;
	s->counted = 0;
	__sync_fetch_and_add(&track->waiters, -1);
}

/* A state left behind by an interval whose end was not seen. */
static __always_inline void forget_wait(struct sched_state *s)
{
	struct cpu_track *track = cpu_track(s->cpu_wait);

	if (track)
		wait_ends(s, track);
	s->out_ns = 0;
	s->ready_ns = 0;
	count_loss(SOURCE_SCHED, WIRE_LOST_STATE);
}

static __always_inline void throttle_begins(struct sched_state *s, struct task_struct *task)
{
	/* Since 6.18 single tasks are throttled, on their way back to user mode; before, whole run queues. */
	s->throttled = !bpf_core_field_exists(task->throttled) || (s->preempted && task->throttled);
	if (s->throttled)
		s->throttle_ns = throttle_clock(task->se.cfs_rq);
}

static __always_inline void switched_out(struct task_struct *task, struct task_state *st,
					 struct cpu_track *track, u32 cpu, bool preempt, u64 now)
{
	struct sched_state *s = &st->sched;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u32 state = task->__state;

	if (s->out_ns)
		forget_wait(s);
	s->syscall = regs ? SYSCALL_NUMBER(regs) : -1;
	s->flags = 0;
	s->cpu_out = cpu;
	s->throttled_ns = 0;
	s->stack = 0;
	/* The state as it stands now: a signal that came in time has turned a sleep into a pause. */
	s->preempted = preempt || state == 0;
	s->out_ns = now;
	if (s->preempted) {
		s->ready_ns = now;
		s->object_kind = OBJECT_NONE;
		throttle_begins(s, task);
		wait_begins(s, track, cpu, now);
		return;
	}
	s->ready_ns = 0;
	s->throttled = 0;
	if (regs)
		object_of_sleep(s, task, regs, state);
}

static __always_inline void switched_in(struct task_struct *task, struct task_state *st,
					struct cpu_track *track, u32 cpu, u64 now)
{
	struct sched_state *s = &st->sched;
	struct wire_offcpu *w;
	u64 out = s->out_ns;

	if (!out)
		return;
	if (s->counted && s->cpu_wait != cpu)
		track = cpu_track(s->cpu_wait);
	if (track)
		wait_ends(s, track);
	s->out_ns = 0;
	if (!task_announce(task, st))
		goto lost;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_OFFCPU;
	w->flags = s->flags;
	w->object_kind = s->object_kind;
	w->tid = task->pid;
	w->end_ns = now;
	w->dur_ns = now - out;
	w->wait_ns = s->preempted ? now - out : s->ready_ns ? now - s->ready_ns : 0;
	w->throttled_ns = s->throttled_ns;
	if (s->throttled)
		w->throttled_ns += throttle_clock(task->se.cfs_rq) - s->throttle_ns;
	if (w->throttled_ns > w->wait_ns)
		w->throttled_ns = w->wait_ns;
	w->object = s->object;
	w->waker_kind = s->preempted ? WAKER_NONE : s->waker_kind;
	w->waker = s->waker;
	w->stack = s->stack;
	w->lost = lost_total;
	w->futex_val = s->futex_val;
	w->syscall = s->syscall;
	w->cpu_out = s->cpu_out;
	w->cpu_in = cpu;
	w->futex_op = s->futex_op;
	w->depth = st->ncalls;
	bpf_ringbuf_submit(w, ring_flags());
	return;
lost:
	count_loss(SOURCE_SCHED, WIRE_LOST_RING);
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_track *track = cpu_track(cpu);
	struct task_state *out, *in;
	u64 now;

	if (!track)
		return 0;
	out = followed(prev);
	in = followed(next);
	if (track->waiters <= 0 && !out) {
		barrier(); /* or the compiler tests both pointers at once, which the verifier forbids */
		if (!in)
			return 0;
	}
	now = bpf_ktime_get_ns();
	if (track->waiters > 0)
		send_occupied(track, cpu, prev, out, now);
	if (in)
		switched_in(next, in, track, cpu, now);
	if (out)
		switched_out(prev, out, track, cpu, ctx[0], now);
	return 0;
}

static __always_inline void remember_waker(struct sched_state *s, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 kind = waker_context(current);

	if (kind == WAKER_TASK) {
		if (current == task)
			kind = WAKER_SELF;
		else if (!announce(current, followed(current), 0))
			kind = WAKER_NONE;
	}
	s->waker = current->pid;
	s->waker_kind = kind;
}

/* Raised by whoever wakes, where it wakes. */
SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct task_state *st = followed(task);

	if (st)
		remember_waker(&st->sched, task);
	return 0;
}

static __always_inline void woken(struct task_struct *task, struct task_state *st, u64 now)
{
	struct sched_state *s = &st->sched;
	u32 cpu = task_cpu(task);
	struct cpu_track *track = cpu_track(cpu);

	s->ready_ns = now;
	throttle_begins(s, task);
	if (track)
		wait_begins(s, track, cpu, now);
}

/* On a run queue: from here on it waits for the CPU. Threads that had not yet left theirs never slept. */
SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct task_state *st = followed(task);

	if (st && st->sched.out_ns && !st->sched.ready_ns)
		woken(task, st, bpf_ktime_get_ns());
	return 0;
}

/* Born: its first wait is for its first CPU. */
SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct task_state *st = followed(task);
	struct sched_state *s;
	u64 now;

	if (!st)
		return 0;
	s = &st->sched;
	now = bpf_ktime_get_ns();
	s->out_ns = now;
	s->cpu_out = task_cpu(task);
	s->syscall = -1;
	s->flags = 0;
	s->object_kind = OBJECT_NONE;
	s->preempted = 0;
	s->throttled_ns = 0;
	remember_waker(s, task);
	woken(task, st, now);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int sched_migrate_task(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 from = task_cpu(task), to = ctx[1];
	struct task_state *st = followed(task);
	struct cpu_track *left, *entered;
	struct wire_migrate *w;
	struct sched_state *s;
	u64 now;

	if (!st || !st->sched.out_ns || from == to)
		return 0;
	s = &st->sched;
	now = bpf_ktime_get_ns();
	left = cpu_track(from);
	entered = cpu_track(to);
	if (s->counted && left && entered) {
		struct task_struct *runs = task->se.cfs_rq->rq->curr;

		/* What it waited behind must be told before the interval that may end elsewhere at once. The
		 * verifier lets nobody look up the state of a task found this way: a target is announced as an
		 * occupant here, which the reader knows how to take. */
		if (runs)
			send_occupied(left, from, runs, 0, now);
		wait_ends(s, left);
		wait_begins(s, entered, to, now);
		if (s->throttled) {
			struct cfs_rq *q = task->se.cfs_rq,
				      **queues = task->sched_task_group->cfs_rq;

			s->throttled_ns += throttle_clock(q) - s->throttle_ns;
			if (bpf_probe_read_kernel(&q, sizeof(q), queues + to))
				s->throttled = 0;
			else
				s->throttle_ns = throttle_clock(q);
		}
	}
	if (!task_announce(task, st))
		goto lost;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_MIGRATE;
	w->pad[0] = w->pad[1] = w->pad[2] = 0;
	w->tid = task->pid;
	w->time_ns = now;
	w->cpu_out = from;
	w->cpu_in = to;
	w->lost = lost_total;
	bpf_ringbuf_submit(w, ring_flags());
	return 0;
lost:
	count_loss(SOURCE_SCHED, WIRE_LOST_RING);
	return 0;
}

/* A target's new thread or process gets its state before it runs. */
SEC("tp_btf/sched_process_fork")
int sched_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 tgid = parent->tgid;
	struct target *t = bpf_map_lookup_elem(&targets, &tgid);

	if (!t || (child->tgid != tgid && !(t->flags & TARGET_FOLLOW)))
		return 0;
	if (!task_state_make(child))
		count_loss(SOURCE_SCHED, WIRE_LOST_STATE);
	return 0;
}

/* Run by the recorder when it has named targets: their threads get their state. */
SEC("iter/task")
int sched_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 tgid;

	if (!task)
		return 0;
	tgid = task->tgid;
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	if (!task_state_make(task))
		count_loss(SOURCE_SCHED, WIRE_LOST_STATE);
	return 0;
}
