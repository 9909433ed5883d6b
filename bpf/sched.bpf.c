// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host tracks of target threads: one event per off-CPU interval, at its end, and while a target
 * waits for a CPU, one event per stretch of another task running there. Having task storage is what
 * makes a thread one to follow (follow.bpf.c): it is never made here in the scheduler, where memory
 * must not be asked for. A woken thread waits since its wake-up was seen, or since the kernel
 * queued it (schedstat's figure), whichever was first.
 */
#define KERNEL_LOADS
#include "bpf/allowed.h"
#include "bpf/asleep.h"
#include "bpf/fault.h"
#include "bpf/file.h"
#include "bpf/object.h"
#include "bpf/occupancy.h"
#include "bpf/outside.h"
#include "bpf/ready.h"
#include "bpf/stack.h"
#include "bpf/steal.h"
#include "bpf/throttle.h"
#include "bpf/waited.h"
#include "bpf/waker.h"

static __always_inline void send_migrate(struct task_struct *task, struct task_state *st, u32 from,
					 u32 to, u64 now)
{
	struct wire_migrate *w;

	st->sched.cpu_at = to;
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
	return;
lost:
	count_loss(SOURCE_SCHED, WIRE_LOST_RING);
}

/* Where a thread goes to sleep: of every sleep outside calls, and of the first inside a call, so
 * that a call that never returns has its stack. regs are those it entered the kernel with. */
static __always_inline void stack_of_sleep(struct task_struct *task, struct task_state *st,
					   struct pt_regs *regs)
{
	struct call_open *call = &st->open[(st->ncalls - 1) & (CALLS_OPEN_MAX - 1)];
	/* What stands at a breakpoint has not been executed, though it is in front of ip. */
	bool exact = REGS_INTERRUPTED(regs) && st->sched.object_kind != OBJECT_PROBE;
	u32 stack;

	if (config_walker == WALKER_NONE || (st->ncalls && call->stack))
		return;
	if (st->ncalls)
		caller_learn(untrusted(task)->utask, st);
	stack = stack_number_of(&st->walk, REGS_IP(regs), REGS_SP(regs), REGS_FP(regs),
				REGS_LINK(regs), st, ROOM_HAVE, exact);
	if (st->ncalls)
		call->stack = stack;
	else
		st->sched.stack = stack;
}

/* Where a thread was when its CPU was taken from it, outside of calls: once in so much of its CPU
 * time, as there may be very many switches, and it will not have come far. */
#define PLACE_NS 4000000

static __always_inline void stack_of_preempted(struct task_struct *task, struct task_state *st)
{
	u64 ran;

	if (st->ncalls || is_yield(st->sched.syscall) ||
	    !bpf_core_field_exists(task->se.sum_exec_runtime))
		return;
	ran = task->se.sum_exec_runtime;
	if (ran - st->sched.placed_ns < PLACE_NS)
		return;
	st->sched.placed_ns = ran;
	st->sched.stack = stack_of_interrupted(task, st);
}

/* This and the next two are functions of their own that the verifier checks once, and not for each
 * combination of where the two threads' states stand. */
__noinline int switched_stack(struct task_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!st)
		return 0;
	if (st->sched.preempted)
		stack_of_preempted(task, st);
	else if (regs)
		stack_of_sleep(task, st, regs);
	return 0;
}

/* The current task leaves its CPU. */
__noinline int switched_out(struct task_state *st, struct cpu_track *track, u32 cpu, u32 preempt,
			    u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u32 state = task->__state;
	struct sched_state *s;

	if (!st || !track)
		return 0;
	s = &st->sched;
	if (st->ncalls)
		st->ncalls = calls_attached(st);
	s->syscall = regs ? SYSCALL_NUMBER(regs) : -1;
	s->flags = throttle_known() ? OFFCPU_THROTTLED : 0;
	s->cpu_out = s->cpu_at = cpu;
	s->depth = st->ncalls;
	s->throttled_ns = 0;
	s->stolen_ns = 0;
	s->stack = 0;
	s->number = 0;
	steal_tell(task, st, cpu, st->ncalls, 0, now);
	if (bpf_core_field_exists(task->sched_info.run_delay))
		s->run_delay = task->sched_info.run_delay;
	/* The current state: a signal that came in time has turned a sleep into a preemption. */
	s->preempted = preempt || state == 0;
	s->out_ns = now;
	if (s->preempted) {
		s->ready_ns = now;
		s->object_kind = OBJECT_NONE;
		throttle_begins(s, task);
		wait_begins(s, track, cpu, now);
		return 0;
	}
	s->ready_ns = 0;
	s->throttled = 0;
	s->steal_known = 0; /* until it is woken */
	if (regs) {
		enum sleep_at at = object_of_sleep(s, task, &st->host, regs, state, 1);

		if (at == SLEEP_FD)
			s->number = number_of_fd((u32)SYSCALL_ARG0(regs));
		else if (at == SLEEP_POLLED)
			/* Read apart: the verifier wants no load that may be of either. */
			s->number = number_of_fd(*(volatile u32 *)&s->object);
		else if (at == SLEEP_LOOKUP)
			s->number = number_of_lookup(path_followed(task));
		else if (at == SLEEP_STAT)
			s->number = number_of_path(st->host.stat_dentry, st->host.stat_mnt, 0);
		else if (s->object_kind == OBJECT_FAULT)
			fault_sleeps(task, &st->host, REGS_IP(regs), now);
	}
	return 0;
}

/* The interval ends. from: who made way, with its state if it is followed; NULL: its slice has been
 * sent. */
static __always_inline void switched_in(struct task_struct *task, struct task_state *st, u32 cpu,
					u64 now, struct cpu_track *track, struct task_struct *from,
					struct task_state *from_st)
{
	struct sched_state *s = &st->sched;
	u64 out = s->out_ns, occupied = 0, stolen = s->stolen_ns, own;
	u64 waking = s->preempted ? 0 : s->waking_ns;
	u32 waker_kind = s->waker_kind;
	bool known;
	struct wire_offcpu *w;

	if (from && track->waiters > 0 && track->since_ns < now) {
		occupied = now - track->since_ns;
		track->since_ns = now;
	}
	if (s->cpu_at != cpu)
		send_migrate(task, st, s->cpu_at, cpu,
			     queued(task, now)); /* not seen when it happened */
	wait_ends(s);
	stolen += steal_since(s, run_queue(task), now);
	known = s->steal_known;
	s->cpu_run = cpu;
	if (!known || s->steal_at != now) /* else it has just been read */
		steal_begins(s, run_queue(task), now);
	s->out_ns = 0;
	s->waker_kind = WAKER_NONE;
	s->waking_ns = 0;
	if (!task_announce(task, st))
		goto lost;
	if (occupied && (from_st ? !task_announce(from, from_st)
				 : !announce(address_of(from), from->pid, track)))
		goto lost;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_OFFCPU;
	w->flags = s->flags | (known ? OFFCPU_STOLEN : 0) |
		   (s->number & NUMBER_SOCKET ? OFFCPU_SOCKET : 0);
	w->stolen_ns = stolen;
	w->tid = task->pid;
	w->end_ns = now;
	w->dur_ns = now - out;
	s->out_ns = out;
	w->wait_ns = waited(task, s, now, waking, &own);
	w->own_ns = own < occupied ? own : occupied;
	if (waking_lead(waking, out, now - w->wait_ns, &w->waking_ns))
		w->flags |= OFFCPU_WAKING;
	w->pad = 0;
	s->out_ns = 0;
	w->throttled_ns = throttle_ends(s, task);
	if (w->throttled_ns > w->wait_ns)
		w->throttled_ns = w->wait_ns;
	w->occupied_ns = occupied;
	w->occupant = from ? from->pid : 0;
	w->waker_kind = s->preempted ? WAKER_NONE : waker_kind;
	w->waker = s->waker;
	w->lost = lost_total;
	w->cpu_in = cpu;
	describe_sleep(w, s);
	bpf_ringbuf_submit(w, st->sent++ % RING_LOOK ? BPF_RB_NO_WAKEUP : ring_flags());
	if (s->polled && !s->preempted && now - out >= READY_NS) {
		*(volatile u64 *)&st->address = (u64)task;
		ready_send(*(volatile u64 *)&st->address, *(volatile u32 *)&s->object,
			   s->polled == POLLED_ONE, now);
	}
	return;
lost:
	count_loss(SOURCE_SCHED, WIRE_LOST_RING);
	if (s->number)
		count_loss(s->number & NUMBER_SOCKET ? SOURCE_NET : SOURCE_IO, WIRE_LOST_RING);
	if (occupied)
		count_loss(SOURCE_SCHED, WIRE_LOST_RING);
}

/* The waiting task is put on another CPU's run queue. */
static __always_inline void steal_moves(struct sched_state *s, struct task_struct *task, u32 cpu,
					u64 now)
{
	struct cfs_rq **queues = untrusted(task)->sched_task_group->cfs_rq, *q;
	struct rq *rq;

	if (!s->steal_known)
		return;
	s->stolen_ns += steal_since(s, run_queue(task), now);
	if (bpf_probe_read_kernel(&q, sizeof(q), queues + cpu) ||
	    bpf_core_read(&rq, sizeof(rq), &q->rq))
		s->steal_known = 0;
	else
		steal_begins(s, rq, now);
}

/* A followed thread has got the CPU but its wake-up was not seen. */
static __always_inline void woken_unseen(struct task_struct *task, struct sched_state *s,
					 struct cpu_track *track, u32 cpu, u64 now)
{
	u64 own;

	s->ready_ns = now - waited(task, s, now, s->waking_ns, &own);
	wait_begins(s, track, cpu, s->ready_ns);
}

/* The current task leaves a CPU that it was not seen to get: `to` was. */
__noinline int came_unseen(struct task_state *st, struct cpu_track *track, u64 to, u32 to_tid,
			   u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 cpu = bpf_get_smp_processor_id();
	u64 came = arrived(task, now);

	if (!track)
		return 0;

	if (st && st->sched.out_ns) {
		if (came < st->sched.out_ns)
			came = st->sched.out_ns;
		if (!st->sched.ready_ns)
			woken_unseen(task, &st->sched, track, cpu, came);
	}
	if (track->waiters > 0)
		send_occupied(track, cpu, (struct task_struct *)to, to_tid, 0, came);
	if (st && st->sched.out_ns)
		switched_in(task, st, cpu, came, track, 0, 0);
	return 0;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 cpu = bpf_get_smp_processor_id(), given;
	struct cpu_track *track = cpu_track(cpu);
	struct task_state *out, *in;
	bool left, came;
	u64 now, to;

	if (!track)
		return 0;
	given = track->runs_tid;
	to = track->runs;
	track->runs_tid = next->pid;
	track->runs = (u64)next;
	out = task_state_of(prev);
	in = task_state_of(next);
	left = outsider_number(prev);
	came = outsider_number(next);
	if (track->waiters <= 0 && !left && !came && !out) {
		barrier(); /* or the compiler tests both pointers at once, which the verifier
			      forbids */
		if (!in)
			return 0;
	}
	now = bpf_ktime_get_ns();
	if (left && !out)
		outsider_left(cpu, !!ctx[0], now);
	if (came && !in)
		outsider_came(next, cpu, now);
	if (in && in->sched.out_ns && !in->sched.ready_ns)
		woken_unseen(next, &in->sched, track, cpu, now);
	if (to && given != prev->pid)
		came_unseen(out, track, to, given, now);
	/* Asked of the pointer itself, see stack_tell. */
	__asm__ volatile("" : "+r"(in));
	if (in && in->sched.out_ns) {
		switched_in(next, in, cpu, now, track, prev, out);
		allowed_look(next, in, now);
	} else if (track->waiters > 0)
		send_occupied(track, cpu, prev, prev->pid, out, now);
	if (out) {
		switched_out(out, track, cpu, !!ctx[0], now);
		switched_stack(out);
		if (prev->__state & STATE_DEAD)
			task_state_end(prev);
	}
	return 0;
}

/* A target that a soft interrupt came on top of, and which may have sent what that brought. */
static __always_inline bool may_have_sent(struct task_struct *current)
{
	struct task_state *st = task_state_of(current);

	return st && current_on_socket() && task_announce(current, st);
}

/* target: task is one. */
static __always_inline void remember_waker(struct sched_state *s, struct task_struct *task,
					   bool target, u64 now)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 kind = waker_context(current), waker = current->pid;

	if (kind == WAKER_TASK) {
		struct task_state *st = task_state_of(current);

		if (current == task)
			kind = WAKER_SELF;
		else if (st ? !task_announce(current, st)
			    : !announce(bpf_get_current_task(), current->pid, 0))
			kind = WAKER_NONE;
		else if (!st && target)
			outsider_releases(current, now);
	} else if (!target || current == task || kind != WAKER_SOFTIRQ || !may_have_sent(current)) {
		waker = 0;
	}
	s->waker = waker;
	s->waker_kind = kind;
	s->waking_ns = now;
}

/* Raised in the waker's context; it may come before the sleeper has left its CPU completely. */
SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct task_state *st = task_state_of(task);
	struct outsider *o;

	if (st) {
		remember_waker(&st->sched, task, 1, bpf_ktime_get_ns());
	} else if (outsider_number(task)) {
		o = outsider_of(task);
		if (o)
			remember_waker(&o->sched, task, 0, bpf_ktime_get_ns());
	}
	return 0;
}

static __always_inline void on_wakeup(struct task_struct *task, struct task_state *st, u64 now)
{
	struct sched_state *s = &st->sched;
	u32 cpu = task_cpu(task);
	struct cpu_track *track = cpu_track(cpu);

	s->ready_ns = now;
	throttle_begins(s, task);
	steal_begins(s, run_queue(task), now);
	if (track)
		wait_begins(s, track, cpu, now);
}

/* On a run queue: from here on it waits for the CPU. Threads that had not yet left theirs never
 * slept. */
SEC("tp_btf/sched_wakeup")
int sched_wakeup(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct task_state *st = task_state_of(task);

	struct outsider *o;

	if (st && st->sched.out_ns && !st->sched.ready_ns) {
		on_wakeup(task, st, bpf_ktime_get_ns());
	} else if (!st && outsider_number(task)) {
		o = outsider_of(task);
		if (o && o->sched.out_ns && !o->sched.ready_ns)
			o->sched.ready_ns = bpf_ktime_get_ns();
	}
	return 0;
}

/* Born: its first wait is for its first CPU. */
SEC("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct task_state *st = task_state_of(task);
	struct sched_state *s;
	u64 now;

	if (!st)
		return 0;
	s = &st->sched;
	now = bpf_ktime_get_ns();
	s->out_ns = now;
	s->cpu_out = s->cpu_at = task_cpu(task);
	s->syscall = -1;
	s->flags = throttle_known() ? OFFCPU_THROTTLED : 0;
	s->object_kind = OBJECT_NONE;
	s->preempted = 0;
	s->number = 0;
	s->throttled_ns = 0;
	s->stolen_ns = 0;
	s->run_delay = 0;
	remember_waker(s, task, 1, now);
	on_wakeup(task, st, now);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int sched_migrate_task(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 from = task_cpu(task), to = ctx[1];
	struct task_state *st = task_state_of(task);
	struct cpu_track *left, *entered;
	struct sched_state *s;
	u64 now;

	if (!st || !st->sched.out_ns || from == to)
		return 0;
	s = &st->sched;
	now = bpf_ktime_get_ns();
	left = cpu_track(from);
	entered = cpu_track(to);
	if (s->counted && left && entered) {
		struct task_struct *runs = task_queue(task)->rq->curr;

		/* The task it waited behind must be sent before the interval, which may end
		 * elsewhere at once. The verifier rejects looking up the state of a task found this
		 * way: a target is announced as an occupant here, which the reader handles. */
		if (runs)
			send_occupied(left, from, runs, runs->pid, 0, now);
		wait_ends(s);
		wait_begins(s, entered, to, now);
		throttle_moves(s, task, to);
		steal_moves(s, task, to, now);
	}
	send_migrate(task, st, from, to, now);
	return 0;
}

/* Run by the recorder when it has named targets: begins the waits of threads that sleep already. */
SEC("iter/task")
int sched_asleep_begin(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *st = task ? task_state_of(task) : 0;

	if (st && !st->sched.out_ns && is_asleep(task))
		asleep_begin(task, st, task_cpu(task), bpf_ktime_get_ns());
	return 0;
}

/* Prints threads that still sleep, and since when: the recorder runs it where a file ends and such
 * waits would be missing. */
SEC("iter/task")
int sched_asleep(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_state *st = task ? task_state_of(task) : 0;
	struct outsider *o = task && !st ? outsider_of(task) : 0;

	if (st && st->sched.out_ns && !st->sched.ready_ns && is_asleep(task))
		asleep_print(ctx->meta->seq, task, &st->sched,
			     st->flags & TASK_ANNOUNCED ? 0 : WIRE_THREAD, 0, bpf_ktime_get_ns());
	else if (o && o->sched.out_ns && !o->sched.ready_ns && is_asleep(task))
		asleep_print(ctx->meta->seq, task, &o->sched, WIRE_OCCUPANT, OFFCPU_OUTSIDE,
			     bpf_ktime_get_ns());
	return 0;
}
