/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of waits that ran into their time-out: they are restated once it is known whom they
 * were for.
 */
#include "lib/base/compiler.h"
#include "lib/path/path_state.h"

/* What became of the thread's waits that ran into their time-out. */
void path_timed_ended(struct path *p, struct path_thread *th, enum timed_end end, int64_t since_ns,
		      uint32_t who)
{
	bool done = true;

	if (end == TIMED_RELEASED)
		done = path_thread_restate_timed(th, since_ns, SEGMENT_WAITING, who, 0);
	else if (end == TIMED_LOST)
		done = path_thread_restate_timed(th, since_ns, SEGMENT_UNKNOWN, 0, 0);
	p->nomem |= !done;
}

void path_timed_next(struct path *p, struct path_thread *th, const struct event *ev,
		     const struct op_def *def, const struct segment *wait)
{
	/* An event loop waits for whichever of its tasks can go on, and its timers. */
	bool tasks = th->awaits && th->awaits_ns == event_start(ev);
	int64_t since = 0;
	enum timed_end end = timed_waits_next(&th->timed, &p->losses, ev, def,
					      tasks ? 0 : ev->stack, wait, &since);

	if (end == TIMED_ENDED && wait)
		p->nomem |=
			!path_thread_restate_timed(th, since, SEGMENT_BLOCKED, wait->who,
						   wait->flags & (SEGMENT_DEMAND | SEGMENT_REPLY));
	else
		path_timed_ended(p, th, end, since, wait ? wait->who : 0);
}

void path_timed_mark(struct path *p, struct path_thread *th, int64_t end_ns, uint16_t flags,
		     uint32_t who)
{
	if (th->timed.joined && th->timed.end_ns == end_ns)
		p->nomem |= !path_thread_mark_retried(th, flags, who);
}

/* The thread is on its CPU at that time. */
NOINLINE void path_timed_ran(struct path *p, struct path_thread *th, int64_t at_ns)
{
	int64_t since = 0;
	enum timed_end end = timed_waits_ran(&th->timed, &p->losses, at_ns, &since);

	path_timed_ended(p, th, end, since, 0);
}

/* The thread waited for the interpreter's lock until another had it, to which it gave way? */
void path_gave_way(struct path *p, const struct path_thread *th, const struct event *ev,
		   const struct segment *wait)
{
	struct path_thread *asks = path_thread_known(p, wait->who);
	int64_t since = 0;
	enum timed_end end;

	if (wait->state != SEGMENT_WAITING || wait->object != OBJECT_GIL || !asks ||
	    asks->process != th->process)
		return;
	end = timed_waits_gave_way(&asks->timed, &th->timed, &p->losses, ev, &since);
	path_timed_ended(p, asks, end, since, th->id);
	if (end == TIMED_RELEASED && !releases_add(&p->releases, asks->id, th->id))
		p->nomem = true;
}

void path_lost(struct path *p, int64_t since_ns, int64_t until_ns, uint64_t events)
{
	losses_add(&p->losses, since_ns, until_ns, events);
	for (size_t i = 0; events && i < p->threads.n; i++) {
		struct path_thread *th = p->threads.v[i];
		int64_t since = 0;

		if (th && timed_waits_lost(&th->timed, since_ns, until_ns, &since) == TIMED_LOST)
			path_timed_ended(p, th, TIMED_LOST, since, 0);
	}
}
