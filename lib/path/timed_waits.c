/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a thread's waits that ran into their time-out, one after the other, until one is ended by
 * a thread or it waits for something else. Who gave way to it without another wait shows in that
 * one's own wait for the interpreter's lock.
 */
#include "lib/path/timed_waits.h"

/* So long the thread may still be on its CPU before it waits again. */
static int64_t again_within(const struct timed_waits *w)
{
	int64_t tenth = (w->timed_ns - w->last_ns) / 10;

	if (w->gil)
		return TIMED_AGAIN_GIL_NS;
	if (!w->line || tenth < TIMED_AGAIN_NS)
		return TIMED_AGAIN_NS - w->own_us * 1000;
	return (tenth < TIMED_AGAIN_LINE_NS ? tenth : TIMED_AGAIN_LINE_NS) - w->own_us * 1000;
}

/* The interpreter's lock is one, whichever of its addresses is waited on. A condition may have a
 * new address each time, and several descriptors have none: these are known by the line. */
static bool is_again(const struct timed_waits *w, const struct segment *wait, uint64_t object,
		     uint32_t line, int64_t start_ns)
{
	if (w->gil || wait->object == OBJECT_GIL)
		return w->gil && wait->object == OBJECT_GIL;
	if (wait->object != w->kind)
		return false;
	return (line && line == w->line) ||
	       (object && object == w->object &&
		w->own_us * 1000 + start_ns - w->end_ns <= TIMED_AGAIN_NS);
}

static bool is_told_by_object(const struct timed_waits *w, const struct segment *wait,
			      uint64_t object)
{
	return wait->object == OBJECT_GIL || (object && object == w->object);
}

/* The number of a descriptor does not say what it is. */
static bool is_futex(const struct segment *wait)
{
	return wait->object == OBJECT_FUTEX || wait->object == OBJECT_GIL;
}

static bool ran_out(const struct segment *wait)
{
	return wait->state == SEGMENT_BLOCKED && wait->flags & (SEGMENT_TIMED | SEGMENT_RAN_OUT);
}

/* They are over: no thread ended them, or the event that says so was lost. */
static enum timed_end close_waits(struct timed_waits *w, const struct losses *losses, int64_t at_ns,
				  int64_t *since_ns)
{
	bool lost = w->open && w->object && losses_within(losses, w->end_ns, at_ns);

	w->open = false;
	w->asked &= !lost;
	*since_ns = w->start_ns;
	return lost ? TIMED_LOST : TIMED_OPEN;
}

enum timed_end timed_waits_ran(struct timed_waits *w, const struct losses *losses, int64_t at_ns,
			       int64_t *since_ns)
{
	if (!w->open || at_ns <= w->end_ns + again_within(w))
		return TIMED_OPEN;
	return close_waits(w, losses, at_ns, since_ns);
}

/* A thread ended them all. */
static enum timed_end release_waits(struct timed_waits *w, int64_t *since_ns)
{
	*since_ns = w->start_ns;
	w->open = w->asked = false;
	return TIMED_RELEASED;
}

/* …with one more, which is over. */
static enum timed_end join_wait(struct timed_waits *w, const struct event *ev,
				const struct segment *wait, int64_t *since_ns)
{
	release_waits(w, since_ns);
	w->joined = true;
	w->end_ns = ev->end_ns;
	return wait->state == SEGMENT_WAITING ? TIMED_RELEASED : TIMED_ENDED;
}

static void add_own(struct timed_waits *w, int64_t ns)
{
	int64_t us = w->own_us + ns / 1000;

	w->own_us = us < UINT16_MAX ? (uint16_t)us : UINT16_MAX;
}

/* The thread would have tried again at once. */
static void join_preempted(struct timed_waits *w, const struct event *ev)
{
	if (!w->open)
		return;
	add_own(w, event_start(ev) - w->end_ns);
	w->end_ns = ev->end_ns;
	if (event_start(ev) <= w->awake_ns + TIMED_GAVE_WAY_NS)
		w->awake_ns = ev->end_ns;
}

/* One more of them, or the first. */
static void add_wait(struct timed_waits *w, const struct segment *wait, const struct event *ev,
		     uint64_t object, uint32_t line, bool again)
{
	bool together = again && ev->end_ns - w->start_ns <= TIMED_TOGETHER_NS;

	w->idle = again && (w->idle || (!together && !is_told_by_object(w, wait, object)));
	if (!together || w->idle)
		w->start_ns = event_start(ev);
	w->gil = wait->object == OBJECT_GIL;
	w->kind = wait->object;
	w->object = object;
	w->line = line;
	w->own_us = 0;
	w->joined = false;
	w->open = w->gil || object || line;
	w->asked = w->gil;
	w->last_ns = event_start(ev);
	w->end_ns = w->timed_ns = w->awake_ns = ev->end_ns;
}

enum timed_end timed_waits_next(struct timed_waits *w, const struct losses *losses,
				const struct event *ev, const struct op_def *def, uint32_t line,
				const struct segment *wait, int64_t *since_ns)
{
	int64_t start = event_start(ev);
	uint64_t object = wait && is_futex(wait) ? event_get_or(ev, def, COL_OBJECT, 0) : 0;
	enum timed_end end = timed_waits_ran(w, losses, start, since_ns);
	bool again;

	/* It may have waited for something else between them. */
	if (w->open && losses_within(losses, w->end_ns, start))
		end = close_waits(w, losses, start, since_ns);
	if (!wait) {
		join_preempted(w, ev);
		return end;
	}
	again = w->open && is_again(w, wait, object, line, start);
	if (ran_out(wait)) {
		add_wait(w, wait, ev, object, line, again);
		return end;
	}
	if (again && !w->idle &&
	    (wait->state == SEGMENT_WAITING || (wait->state == SEGMENT_BLOCKED && !w->gil)))
		return join_wait(w, ev, wait, since_ns);
	w->open = false;
	return end;
}

/* CPython asks for its lock only where one thread has had it for all of a wait: that one was not
 * waiting for it itself. */
enum timed_end timed_waits_gave_way(struct timed_waits *w, const struct timed_waits *of,
				    const struct losses *losses, const struct event *ev,
				    int64_t *since_ns)
{
	int64_t start = event_start(ev), had = start - TIMED_AGAIN_GIL_NS;

	if (w->last_ns < had)
		had = w->last_ns;
	if (!w->asked || start < w->timed_ns || start > w->awake_ns + TIMED_GAVE_WAY_NS ||
	    ev->end_ns > w->awake_ns + TIMED_TOLD_NS || (of->gil && of->timed_ns > had))
		return TIMED_OPEN;
	release_waits(w, since_ns);
	return losses_within(losses, had, ev->end_ns) ? TIMED_LOST : TIMED_RELEASED;
}

enum timed_end timed_waits_lost(struct timed_waits *w, int64_t from_ns, int64_t to_ns,
				int64_t *since_ns)
{
	if (w->open || !w->asked || to_ns < w->timed_ns || from_ns > w->awake_ns + TIMED_TOLD_NS)
		return TIMED_OPEN;
	release_waits(w, since_ns);
	return TIMED_LOST;
}
