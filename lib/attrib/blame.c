/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An off-CPU interval is [start, ready) blocked and [ready, end) waiting for a CPU. The kernel says
 * how long it was throttled but not when: that part comes off the wait first, and occupants
 * share what is left in the proportion in which they held the CPU.
 */
#include "lib/attrib/blame.h"

#include <string.h>

#include "lib/event/syscall.h"

/* Futex commands, linux/futex.h. */
enum { FUTEX_CMD_WAIT = 0, FUTEX_CMD_LOCK_PI = 6, FUTEX_CMD_LOCK_PI2 = 13 };

/* Where a waiting thread was queued. */
static void wait_occupants(const struct blame *b, const struct line_thread *th,
			   const struct waker_interval *iv, uint32_t cpu_out,
			   struct occupancy_answer *ans)
{
	int64_t from = iv->ready_ns;
	uint32_t cpu = cpu_out;

	for (uint32_t i = 0; i < th->moves.n; i++) {
		const struct move *m = &th->moves.v[i];

		if (m->time_ns < iv->start_ns)
			continue;
		if (m->time_ns > from) {
			occupancy_over(b->occupancy, th->node, cpu, from, m->time_ns, ans);
			from = m->time_ns;
		}
		cpu = m->to;
	}
	occupancy_over(b->occupancy, th->node, cpu, from, iv->end_ns, ans);
}

static uint32_t cgroup_of(const struct blame *b, const struct line_thread *th)
{
	const struct world_ctx *ctx = th ? world_get_ctx(b->w, th->ctx) : NULL;

	return ctx ? ctx->cgroup : 0;
}

/* One thread may have been met under two identities: before it was a target it had a new one with
 * each program it executed. */
static bool is_same_thread(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_thread *x, *y;

	if (a == b)
		return true;
	x = world_get_thread(w, a);
	y = world_get_thread(w, b);
	return x && y && x->process == y->process && x->tid == y->tid;
}

/* Many that are one culprit count together, before the largest few are kept. */
static void fold_culprit(struct part_culprit *v, unsigned *n, uint32_t culprit, enum part part,
			 uint64_t ns)
{
	unsigned i = 0;

	while (i < *n && (v[i].culprit != culprit || v[i].part != (uint32_t)part))
		i++;
	if (i == *n)
		v[(*n)++] = (struct part_culprit){ .culprit = culprit, .part = part };
	v[i].ns += ns;
}

/* Charge ns of waiting to the occupants in ans; what they do not cover has no name. */
static void charge_occupants(const struct blame *b, uint32_t victim_process, uint32_t victim,
			     enum part part, uint64_t ns, const struct occupancy_answer *ans,
			     uint32_t via, struct parts *out)
{
	uint64_t left = ns, covered = ans->covered_ns;
	struct part_culprit takers[OCCUPANCY_SHARES];
	unsigned ntakers = 0;
	uint32_t cgroup = cgroup_of(b, threads_get(b->threads, victim));

	for (unsigned i = 0; i < ans->n; i++) {
		const struct world_process *p = world_thread_process(b->w, ans->v[i].thread);
		uint64_t share = ans->v[i].ns;
		bool itself = is_same_thread(b->w, ans->v[i].thread, victim);
		uint32_t who;

		if (covered > ns)
			share = (uint64_t)((unsigned __int128)share * ns / covered);
		left -= share;
		/* Its own when it was woken: nobody takes what it takes to switch. */
		if ((p && p->tgid == 0) || (itself && part == PART_RUNQ)) {
			parts_add(out, PART_CPU_IDLE, 0, share);
			continue;
		}
		if (culprits_is_recorder(b->culprits, p)) {
			parts_add(out, PART_RECORDER, 0, share);
			continue;
		}
		who = itself ? 0
			     : culprit_task(b->culprits, ans->v[i].thread, victim_process, cgroup);
		if (who && via)
			who = culprit_via(b->culprits, who, via);
		fold_culprit(takers, &ntakers, who, who ? part : PART_WAIT_UNKNOWN, share);
	}
	for (unsigned i = 0; i < ntakers; i++)
		parts_add(out, (enum part)takers[i].part, takers[i].culprit, takers[i].ns);
	if (ans->unnamed_ns && left) {
		uint64_t share = ans->unnamed_ns;

		if (covered > ns)
			share = (uint64_t)((unsigned __int128)share * ns / covered);
		share = share > left ? left : share;
		parts_add(out, part, 0, share);
		left -= share;
	}
	parts_add(out, PART_WAIT_UNKNOWN, 0, left);
}

/* Blame of [a, b) of a lock wait that thread `holder` ended: what kept the holder, else the holder.
 */
static void blame_holder(const struct blame *b, const struct line_thread *victim, uint32_t holder,
			 enum lock_type lock, int64_t from, int64_t to, unsigned hops,
			 struct parts *out)
{
	const struct line_thread *h = threads_get(b->threads, holder);
	uint32_t who = culprit_holder(b->culprits, holder, lock);
	uint64_t left = (uint64_t)(to - from);
	const struct waker_interval *iv;
	int64_t until = to; /* what is later is counted; two recorders may record it twice */

	for (uint32_t i = 1; h && hops < BLAME_CHAIN && (iv = wakers_back(&h->wakers, i, from));
	     i++) {
		int64_t ba = iv->start_ns > from ? iv->start_ns : from,
			bb = iv->ready_ns < until ? iv->ready_ns : until;
		int64_t wa = iv->ready_ns > from ? iv->ready_ns : from,
			wb = iv->end_ns < until ? iv->end_ns : until;

		if (bb > ba) {
			uint64_t ns = (uint64_t)(bb - ba);

			if (iv->part == PART_LOCK && iv->waker &&
			    !is_same_thread(b->w, iv->waker, holder) &&
			    !is_same_thread(b->w, iv->waker, victim->id)) {
				blame_holder(b, victim, iv->waker, iv->lock, ba, bb, hops + 1, out);
				left -= ns;
			} else if (iv->part == PART_ATTACH) {
				parts_add(out, PART_ATTACH, 0, ns);
				left -= ns;
			} else if (iv->part == PART_DISK || iv->part == PART_FAULT) {
				parts_add(out, iv->part, culprit_via(b->culprits, iv->culprit, who),
					  ns);
				left -= ns;
			}
		}
		if (wb > wa && iv->placed) {
			uint64_t ns = (uint64_t)(wb - wa),
				 wait = (uint64_t)(iv->end_ns - iv->ready_ns);
			uint64_t thr =
				wait ? (uint64_t)((unsigned __int128)iv->throttled_ns * ns / wait)
				     : 0;
			struct occupancy_answer ans;

			occupancy_none(&ans);
			occupancy_over(b->occupancy, h->node, iv->cpu, wa, wb, &ans);
			parts_add(out, PART_THROTTLED, culprit_via(b->culprits, iv->culprit, who),
				  thr);
			charge_occupants(b, victim->process, holder,
					 iv->preempted ? PART_PREEMPTED : PART_RUNQ, ns - thr, &ans,
					 who, out);
			left -= ns;
		}
		until = iv->start_ns < until ? iv->start_ns : until;
	}
	/* Where events are missing the holder may have been kept by somebody who is not in the
	 * recording. */
	if (losses_within(b->losses, from, to) || (h && !wakers_covers(&h->wakers, from, to)))
		who = 0;
	parts_add(out, PART_LOCK, who, left);
}

void blame_lock_held(const struct blame *b, const struct line_thread *th, uint32_t holder,
		     enum lock_type lock, int64_t from, int64_t to, struct parts *out)
{
	if (to > from)
		blame_holder(b, th, holder, lock, from, to, 0, out);
}

static bool is_mutex(const struct event *ev, const struct op_def *def)
{
	uint64_t op, val;

	if (!event_get(ev, def, COL_FUTEX_OP, &op))
		return false;
	if (op == FUTEX_CMD_LOCK_PI || op == FUTEX_CMD_LOCK_PI2)
		return true;
	if (op != FUTEX_CMD_WAIT || !event_get(ev, def, COL_FUTEX_VAL, &val))
		return false;
	val &= 0xffffffff;
	return val == 2 || (val >> 31 && (val & 0x3fffffff));
}

static bool is_file_lock(const struct event *ev, const struct op_def *def)
{
	uint64_t number;

	return event_get(ev, def, COL_SYSCALL, &number) && syscall_locks(number);
}

static enum lock_type lock_type_of(const struct event *ev, const struct op_def *def)
{
	switch (event_get_or(ev, def, COL_OBJECT_KIND, OBJECT_NONE)) {
	case OBJECT_GIL:
		return LOCK_GIL;
	case OBJECT_MAP:
		return LOCK_MAP;
	default:
		return LOCK_OTHER;
	}
}

enum part blame_blocked(const struct event *ev, const struct op_def *def)
{
	switch (event_get_or(ev, def, COL_OBJECT_KIND, OBJECT_NONE)) {
	case OBJECT_FUTEX:
		return is_mutex(ev, def) ? PART_LOCK : PART_IDLE;
	case OBJECT_GIL:
	case OBJECT_MAP:
		return PART_LOCK;
	case OBJECT_FD:
		return is_file_lock(ev, def) ? PART_LOCK : PART_FD;
	case OBJECT_TIMER:
		return PART_SLEEP;
	case OBJECT_DISK:
		return PART_DISK;
	case OBJECT_FAULT:
		return PART_FAULT;
	case OBJECT_GPU:
		return PART_DEVICE;
	case OBJECT_CHILD:
		return PART_CHILD;
	case OBJECT_STOP:
		return PART_STOPPED;
	case OBJECT_PROBE:
		return PART_ATTACH;
	case OBJECT_POLL:
		return PART_POLL;
	case OBJECT_SOCKET:
		return PART_SOCKET;
	default:
		return PART_BLOCKED;
	}
}

/* The recorder let it go on: it had stopped it, or held the memory map that its probes are put
 * into. What else a recorder wakes, such as who reads its output, it does not hold up. */
static bool is_attach(const struct blame *b, const struct waker_interval *iv)
{
	return (1u << iv->part & (1u << PART_STOPPED | 1u << PART_FAULT | 1u << PART_BLOCKED |
				  1u << PART_CHILD | 1u << PART_LOCK)) &&
	       culprits_is_recorder(b->culprits, world_thread_process(b->w, iv->waker));
}

static void blame_lock(const struct blame *b, const struct line_thread *th, uint64_t ns,
		       struct blame_result *r)
{
	if (r->iv.waker == 0 || is_same_thread(b->w, r->iv.waker, th->id)) {
		r->lock_ns = ns;
		return;
	}
	r->lock_holder = culprit_holder(b->culprits, r->iv.waker, r->iv.lock);
	blame_holder(b, th, r->iv.waker, r->iv.lock, r->iv.start_ns, r->iv.ready_ns, 0, &r->parts);
}

void blame_offcpu(const struct blame *b, struct line_thread *th, const struct event *ev,
		  const struct op_def *def, struct blame_result *r)
{
	const struct world_ctx *ctx = world_get_ctx(b->w, ev->ctx);
	uint64_t wait = event_get_or(ev, def, COL_WAIT_NS, 0), blocked, throttled, stolen;
	uint64_t cpu_out = event_get_or(ev, def, COL_CPU_OUT, UINT32_MAX),
		 cpu_in = event_get_or(ev, def, COL_CPU_IN, UINT32_MAX - 1);
	struct waker_interval *iv = &r->iv;
	bool preempted;

	memset(r, 0, sizeof(*r));
	if (wait > ev->dur_ns)
		wait = ev->dur_ns;
	blocked = ev->dur_ns - wait;
	/* A new thread's first wait is for a CPU too, but somebody woke it. */
	preempted = iv->preempted =
		blocked == 0 && event_get_or(ev, def, COL_WAKER_KIND, WAKER_NONE) == WAKER_NONE;
	iv->start_ns = event_start(ev);
	iv->end_ns = ev->end_ns;
	iv->ready_ns = ev->end_ns - (int64_t)wait;
	iv->cpu = (uint32_t)cpu_in;
	iv->stack = ev->stack;
	if (event_get_or(ev, def, COL_WAKER_KIND, WAKER_NONE) == WAKER_TASK)
		iv->waker = (uint32_t)event_get_or(ev, def, COL_WAKER, 0);
	if (blocked) {
		iv->part = blame_blocked(ev, def);
		if (b->culprits->recorders.n && is_attach(b, iv))
			iv->part = PART_ATTACH;
		iv->lock = lock_type_of(ev, def);
		r->lock_object =
			iv->lock == LOCK_GIL ? BLAME_GIL : event_get_or(ev, def, COL_OBJECT, 0);
		if (iv->part == PART_DISK) {
			uint64_t device = event_get_or(ev, def, COL_OBJECT, 0);

			iv->culprit = culprit_device(b->culprits, th->node, device);
			parts_add(&r->parts, PART_DISK, iv->culprit, blocked);
		} else if (iv->part == PART_LOCK) {
			blame_lock(b, th, blocked, r);
		} else {
			parts_add(&r->parts, iv->part, 0, blocked);
		}
	}

	throttled = event_get_or(ev, def, COL_THROTTLED_NS, 0);
	iv->throttled_ns = throttled = throttled > wait ? wait : throttled;
	stolen = event_get_or(ev, def, COL_STOLEN_NS, 0);
	stolen = stolen > wait - throttled ? wait - throttled : stolen;
	if (throttled) {
		uint32_t quota = culprit_cgroup(b->culprits, ctx ? ctx->cgroup : 0);

		parts_add(&r->parts, PART_THROTTLED, quota, throttled);
		if (preempted)
			iv->culprit = quota;
	}
	parts_add(&r->parts, PART_STOLEN, 0, stolen);
	wait -= throttled + stolen;
	if (cpu_out <= UINT16_MAX && cpu_in <= UINT16_MAX &&
	    moves_sound(&th->moves, iv->start_ns, cpu_out, cpu_in)) {
		struct occupancy_answer ans;
		uint32_t moved = 0;

		for (uint32_t i = 0; i < th->moves.n; i++)
			moved += th->moves.v[i].time_ns > iv->ready_ns;
		iv->placed = moved == 0;
		occupancy_none(&ans);
		if (wait)
			wait_occupants(b, th, iv, (uint32_t)cpu_out, &ans);
		charge_occupants(b, th->process, th->id, preempted ? PART_PREEMPTED : PART_RUNQ,
				 wait, &ans, 0, &r->parts);
	} else {
		parts_add(&r->parts, PART_WAIT_UNKNOWN, 0, wait);
	}
	th->moves.n = 0;
}
