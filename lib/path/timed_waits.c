/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a thread's waits that ran into their time-out, one after the other, until one is ended by
 * a thread or it waits for something else. Who gave way to it without another wait shows in that
 * one's own wait for the interpreter's lock.
 */
#include "lib/path/timed_waits.h"

/* The interpreter's lock is one, whichever of its addresses is waited on. */
static bool is_same_object(const struct timed_waits *w, const struct segment *wait, uint64_t object)
{
	if (w->gil)
		return wait->object == OBJECT_GIL;
	return wait->object == OBJECT_FUTEX && object == w->object;
}

static bool ran_out(const struct event *ev, const struct op_def *def, const struct segment *wait)
{
	return wait->state == SEGMENT_BLOCKED &&
	       (wait->object == OBJECT_FUTEX || wait->object == OBJECT_GIL) &&
	       event_get_or(ev, def, COL_WAKER_KIND, 0) == WAKER_TIMER;
}

/* They are over: no thread ended them, or the event that says so was lost. */
static enum timed_end close_waits(struct timed_waits *w, const struct losses *losses, int64_t at_ns,
				  int64_t *since_ns)
{
	bool lost = w->open && losses_within(losses, w->end_ns, at_ns);

	w->open = false;
	w->asked &= !lost;
	*since_ns = w->start_ns;
	return lost ? TIMED_LOST : TIMED_OPEN;
}

enum timed_end timed_waits_ran(struct timed_waits *w, const struct losses *losses, int64_t at_ns,
			       int64_t *since_ns)
{
	if (!w->open || at_ns <= w->end_ns + (w->gil ? TIMED_AGAIN_GIL_NS : TIMED_AGAIN_NS))
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

/* The thread would have tried again at once. */
static void join_preempted(struct timed_waits *w, const struct event *ev)
{
	if (!w->open)
		return;
	w->end_ns = ev->end_ns;
	if (event_start(ev) <= w->awake_ns + TIMED_GAVE_WAY_NS)
		w->awake_ns = ev->end_ns;
}

enum timed_end timed_waits_next(struct timed_waits *w, const struct losses *losses,
				const struct event *ev, const struct op_def *def,
				const struct segment *wait, int64_t *since_ns)
{
	int64_t start = event_start(ev);
	uint64_t object = event_get_or(ev, def, COL_OBJECT, 0);
	enum timed_end end = timed_waits_ran(w, losses, start, since_ns);
	bool again;

	/* It may have waited for something else between them. */
	if (w->open && losses_within(losses, w->end_ns, start))
		end = close_waits(w, losses, start, since_ns);
	if (!wait) {
		join_preempted(w, ev);
		return end;
	}
	again = w->open && is_same_object(w, wait, object);
	if (again && wait->state == SEGMENT_WAITING)
		return release_waits(w, since_ns);
	if (!ran_out(ev, def, wait)) {
		w->open = false;
		return end;
	}
	if (!again || ev->end_ns - w->start_ns > TIMED_TOGETHER_NS) {
		w->start_ns = start;
		w->object = object;
		w->gil = wait->object == OBJECT_GIL;
	}
	w->open = true;
	w->asked = w->gil;
	w->last_ns = start;
	w->end_ns = w->timed_ns = w->awake_ns = ev->end_ns;
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
