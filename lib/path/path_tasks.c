/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop that has nothing to do waits until one of its tasks can go on. Whose wait that was
 * shows in what the thread does next: in its next call or, if it makes none, in where it is seen
 * next, which is a place by chance.
 */
#include "lib/path/path_state.h"
#include "lib/world/event_loop.h"

enum path_event_loop { STACK_NEW, STACK_OTHER, STACK_EVENT_LOOP };

static bool is_event_loop(struct path *p, uint32_t stack)
{
	uint8_t *known;

	if (!vec_reach(&p->event_loops, stack)) {
		p->nomem = true;
		return false;
	}
	known = &p->event_loops.v[stack];
	if (*known == STACK_NEW)
		*known = event_loop_waits(p->w, stack) ? STACK_EVENT_LOOP : STACK_OTHER;
	return *known == STACK_EVENT_LOOP;
}

void path_tasks_wait(struct path *p, struct path_thread *th, const struct event *ev,
		     struct segment *wait)
{
	if (!wait || ev->depth || wait->object != OBJECT_POLL || !is_event_loop(p, ev->stack))
		return;
	/* The next request may come while others are not answered yet. */
	wait->flags &= (uint16_t)~SEGMENT_DEMAND;
	wait->flags |= segment_blocked(wait) ? SEGMENT_EVENT_LOOP : 0;
	th->awaits = ev->stack;
	th->awaits_ns = event_start(ev);
}

void path_tasks_event(struct path *p, struct path_thread *th, const struct event *ev)
{
	if (th->own && p->ops[ev->op].kind == PATH_OP_THREAD)
		return;
	if (!is_event_loop(p, ev->stack) && !path_thread_goes_on(th, ev->stack))
		p->nomem = true;
}
