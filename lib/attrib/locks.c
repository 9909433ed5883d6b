/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charges waits for locks, for which one wait is not enough: a wait that the clock ended belongs to
 * the next one, and the place of a lock's holder shows in what it waited for itself, in samples, or
 * in its own next wait for the lock.
 */
#include "lib/attrib/locks.h"

/* Waits on one lock this close together are one wait: woken by the clock, tried again. */
#define LOCK_AGAIN_NS 100000
/* CPython waits five ms for its interpreter and, woken by the clock, asks for it and waits on. What
 * that takes on a slow machine is little against another five ms. */
#define GIL_AGAIN_NS 1000000

/* Adds where the holder waited for something else while the thread waited for it since then. Other
 * locks, disks and pages are to blame themselves. Returns how long it was off its CPU, whatever
 * for. */
static uint64_t holder_off(const struct blame *b, const struct line_thread *h, uint32_t holder,
			   int64_t since_ns, int64_t until_ns)
{
	const struct waker_interval *iv;
	uint64_t off = 0;

	for (uint32_t i = 1; (iv = wakers_back(&h->wakers, i, since_ns)); i++) {
		uint64_t blocked = wakers_overlap(iv->start_ns, iv->ready_ns, since_ns, until_ns);

		if (!(PARTS_HOST >> iv->part & 1))
			culprit_held_at(b->culprits, holder, (enum part)iv->part, iv->stack,
					blocked);
		off += blocked + wakers_overlap(iv->ready_ns, iv->end_ns, since_ns, until_ns);
	}
	return off;
}

/* Where the holder was while another thread waited for it: where it waited itself and, on its CPU,
 * where it was sampled. Returns how long it was on its CPU at a place that is not known. */
static uint64_t held_at(const struct blame *b, const struct line_thread *h, uint32_t holder,
			int64_t since_ns, int64_t until_ns)
{
	uint64_t ns = (uint64_t)(until_ns - since_ns), off;

	if (losses_within(b->losses, since_ns, until_ns))
		return 0;
	off = holder_off(b, h, holder, since_ns, until_ns);
	ns -= off < ns ? off : ns;
	if (!h->sample || h->sample_ns < since_ns)
		return ns;
	culprit_held_at(b->culprits, holder, PART_SELF, h->sample, ns);
	return 0;
}

/* Where the holder was is known only if it wants the lock back: notes its release. */
static void note_release(const struct blame *b, const struct blame_result *r, int64_t since_ns)
{
	struct line_thread *h = threads_get(b->threads, r->iv.waker);
	uint64_t ns = h ? held_at(b, h, r->lock_holder, since_ns, r->iv.ready_ns) : 0;

	if (!ns)
		return;
	h->held = r->lock_holder;
	h->held_ns = ns;
	h->released_ns = r->iv.ready_ns;
}

/* The thread waits: if it waits for the lock that it released just now, it is still at the same
 * place. */
static void check_reacquire(const struct blame *b, struct line_thread *th, uint32_t stack,
			    const struct blame_result *r)
{
	int64_t since = r->iv.start_ns - th->released_ns;

	if (th->held && r->iv.lock == LOCK_GIL && since < LOCK_AGAIN_NS && since > -LOCK_AGAIN_NS)
		culprit_held_at(b->culprits, th->held, PART_SELF, stack, th->held_ns);
	if (!r->iv.preempted)
		th->held = 0;
}

/* Of a culprit that kept a thread from a lock in a part of span, the same part of ns. */
static uint64_t share_of(uint64_t part_ns, uint64_t ns, uint64_t span_ns)
{
	return (uint64_t)((unsigned __int128)part_ns * ns / span_ns);
}

/* Charges the holder of the lock while the thread waited for it and was woken by the clock: the
 * thread that released it, except for the time that others kept that one from running. */
static void held_before(const struct blame *b, struct line_thread *th, struct blame_result *r,
			struct parts *scratch)
{
	uint64_t span = (uint64_t)(th->lock_end_ns - th->lock_start_ns);

	parts_clear(scratch);
	blame_lock_held(b, th, r->iv.waker, r->iv.lock, th->lock_start_ns, th->lock_end_ns,
			scratch);
	for (unsigned i = 0; i < scratch->nculprits; i++) {
		const struct part_culprit *c = &scratch->c[i];

		if (c->part == PART_LOCK)
			parts_blame(&r->parts, PART_LOCK, c->culprit,
				    share_of(c->ns, th->lock_ns, span));
	}
}

static bool is_right_behind(int64_t ns, int64_t end_ns)
{
	return ns >= end_ns && ns - end_ns <= LOCK_AGAIN_NS;
}

/* The thread waits for the interpreter, which the thread that wakes it took just before, after a
 * wait that only the clock ended: this thread had it, was asked for it, released it and wants it
 * back. The charge comes with the next wait of the other. */
static void charge_yield(const struct blame *b, const struct line_thread *th, uint32_t stack,
			 const struct blame_result *r, int64_t since_ns, struct parts *scratch)
{
	struct line_thread *v = threads_get(b->threads, r->iv.waker);
	uint32_t who;
	uint64_t span;

	if (r->iv.lock != LOCK_GIL || !v || v == th || v->process != th->process || !v->lock_ns ||
	    v->lock_object != BLAME_GIL || v->late ||
	    (!is_right_behind(since_ns, v->lock_timed_ns) &&
	     !is_right_behind(since_ns, v->lock_end_ns)))
		return;
	who = culprit_holder(b->culprits, th->id, LOCK_GIL);
	span = (uint64_t)(v->lock_end_ns - v->lock_start_ns);
	parts_clear(scratch);
	blame_lock_held(b, v, th->id, LOCK_GIL, v->lock_start_ns, v->lock_end_ns, scratch);
	for (unsigned i = 0; i < scratch->nculprits; i++)
		if (scratch->c[i].part == PART_LOCK && scratch->c[i].culprit == who) {
			v->late = who;
			v->late_ns = share_of(scratch->c[i].ns, v->lock_ns, span);
		}
	if (v->late)
		culprit_held_at(b->culprits, who, PART_SELF, stack,
				held_at(b, th, who, v->lock_start_ns, v->lock_end_ns));
}

/* The thread waits for a lock again: another thread may have stated meanwhile to whom its earlier
 * waits, which the clock ended, are charged. again: this wait continues them, and knows more. */
static void charge_late(struct line_thread *th, struct blame_result *r, bool again)
{
	if (!again && r->iv.lock == LOCK_GIL)
		parts_blame(&r->parts, PART_LOCK, th->late, th->late_ns);
	if (again || r->iv.lock == LOCK_GIL)
		th->late = 0;
}

/* A wait for a mutex that a release ended is charged, with the timed-out waits just before it, to
 * the releaser. */
static void lock_join(const struct blame *b, struct line_thread *th, uint32_t stack,
		      struct blame_result *r, struct parts *scratch)
{
	int64_t soon = th->lock_object == BLAME_GIL ? GIL_AGAIN_NS : LOCK_AGAIN_NS;
	bool again = th->lock_ns && !th->lock_over && th->lock_object == r->lock_object &&
		     r->iv.start_ns >= th->lock_end_ns && r->iv.start_ns - th->lock_end_ns <= soon;
	int64_t since = again ? th->lock_start_ns : r->iv.start_ns;

	if (r->iv.preempted) {
		/* It would have tried again at once. */
		if (r->iv.start_ns - th->lock_end_ns <= soon)
			th->lock_end_ns = r->iv.end_ns;
		return;
	}
	th->lock_over = true;
	if (r->iv.part != PART_LOCK)
		return;
	charge_late(th, r, again);
	if (r->lock_holder) {
		if (again)
			held_before(b, th, r, scratch);
		note_release(b, r, since);
		charge_yield(b, th, stack, r, since, scratch);
		th->lock_ns = 0;
		return;
	}
	th->lock_over = false;
	th->lock_start_ns = since;
	th->lock_ns = r->lock_ns + (again ? th->lock_ns : 0);
	th->lock_object = r->lock_object;
	th->lock_end_ns = th->lock_timed_ns = r->iv.end_ns;
	parts_add(&r->parts, PART_LOCK, 0, r->lock_ns);
}

void locks_waited(const struct blame *b, struct line_thread *th, uint32_t stack,
		  struct blame_result *r, struct parts *scratch)
{
	lock_join(b, th, stack, r, scratch);
	check_reacquire(b, th, stack, r);
}
