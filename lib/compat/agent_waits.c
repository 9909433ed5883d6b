/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Infers what a thread waited for, where the rows prove it; agent_recording.h has the rules. Each
 * rule follows from the kernel's behaviour or from probability, not from samples of recordings.
 */
#include "lib/compat/agent_internal.h"

/* The longest a thread that was woken is kept from its CPU by another that has used up its turn:
 * one tick of the clock, at 250 Hz, which distributions choose. */
#define TICK_NS 4000000
/* A timer may run out as much late (PR_SET_TIMERSLACK in prctl(2): the default), and being woken by
 * it and switched to takes no longer on a CPU that is free. */
#define TIMER_SLACK_NS 50000
#define TIMER_LATE_NS  (2 * TIMER_SLACK_NS)
#define MS	       1000000
/* Any wait looks like a timer's by chance once in MS / TIMER_LATE_NS: this many in a row, all of
 * the same length, do so less than once in ten thousand. */
#define ALIKE 4

/* It slept until its own request was done: most of the wait lies under the request, and it ran
 * again soon after. */
static bool until_request(const struct agent_span *request, const struct event *ev)
{
	int64_t start = event_start(ev),
		from = request->start_ns > start ? request->start_ns : start;

	return request->end_ns >= from && request->end_ns <= ev->end_ns &&
	       ev->end_ns - request->end_ns <= TICK_NS &&
	       request->end_ns - from > (ev->end_ns - start) / 2;
}

/* It slept by the clock: whole milliseconds and what a timer is late, several in a row of the same
 * length, with work in between. One that runs out and is taken up again at once is a wait for
 * something else, with a timeout. */
static bool by_clock(struct agent_thread *th, const struct event *ev)
{
	int64_t ran = event_start(ev) - th->waited_ns, whole = (int64_t)(ev->dur_ns / MS);
	bool late = ev->dur_ns % MS <= TIMER_LATE_NS;

	th->waited_ns = ev->end_ns;
	if (whole == 0 || !late || ran < TIMER_LATE_NS)
		th->alike = 0;
	else
		th->alike = th->alike && whole == th->wait_ms ? th->alike + 1 : 1;
	th->wait_ms = whole;
	return th->alike >= ALIKE;
}

int agent_waited_for(struct agent_thread *th, const struct event *ev)
{
	if (until_request(&th->request, ev))
		return OBJECT_DISK;
	return ev->depth == 0 && by_clock(th, ev) ? OBJECT_TIMER : 0;
}
