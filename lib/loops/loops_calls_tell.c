/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the steps of a process by the call that stands once in each: a wait ends one, else it
 * begins one. While it stays away for long the loop is left, and where it does not come again it is
 * over. While its probes are detached a time off the CPU tells them, if each step was seen to have
 * one like it.
 */
#include "lib/loops/loops_calls.h"

#define LENGTHS_EVERY 64 /* steps that are not certain */

/* Tiers of calls that are missing then, if that which tells steps is one of them; else 0. */
static unsigned missing_tiers(const struct loops *l, const struct loops_calls *c, int64_t from_ns,
			      int64_t to_ns)
{
	unsigned missing = loops_missing(l, c->node, from_ns, to_ns);

	return missing >> op_tier(loops_calls_op(c->key)) & 1 ? missing : 0;
}

static void count_step(struct loops *l, struct loops_calls *c, struct loop *loop,
		       struct loop_step *s)
{
	bool exact, counted;
	uint64_t ns = (uint64_t)(s->end_ns - s->begin_ns),
		 mean = loop->dur.count ? loop->dur.sum / loop->dur.count : 0;
	unsigned missing = missing_tiers(l, c, s->begin_ns, s->end_ns);

	s->certain = !missing;
	counted = missing && loop_anchor_choose(&c->anchor, missing, &exact) >= 0;
	loop_anchor_end(&c->anchor, missing, s->end_ns);
	if (!loop->count++)
		loop->first_ns = s->begin_ns;
	loop->last_ns = s->end_ns;
	loop->ns += ns;
	loop->calls += c->calls;
	if (s->certain && !sketch_add(&loop->dur, ns))
		l->nomem = true;
	loop->uncertain += !s->certain;
	/* Not the median: what takes time in a few of them does in those, too. */
	if (!s->certain && !counted && mean && ns > mean)
		loop->hidden += (uint64_t)((double)ns / (double)mean + 0.5) - 1;
	loop->least = (double)loop->dur.sum < LOOPS_CERTAIN_SHARE * (double)loop->ns;
	loop->estimate = loop->count + (loop->least ? 0 : loop->hidden);
	if (!s->certain && !counted && loop->uncertain % LENGTHS_EVERY == 1)
		c->lengths = loop_lengths_of(loop);
	loop_lengths_count(&c->lengths, loop, ns, s->certain || counted);
}

static void emit_step(struct loops *l, struct loops_calls *c, int64_t end_ns)
{
	struct loop *loop = &l->v.v[c->loop];
	struct loop_step s = { .thread = loop->thread,
			       .loop = (uint32_t)c->loop,
			       .number = loop->count + 1,
			       .begin_ns = c->begin_ns,
			       .end_ns = end_ns };

	if (s.begin_ns < loop->last_ns && loop->count)
		s.begin_ns = loop->last_ns;
	if (s.end_ns <= s.begin_ns)
		return;
	count_step(l, c, loop, &s);
	c->calls = 0;
	c->told_ns = end_ns;
	if (l->listener)
		l->listener->on_step(l->listener, &s);
}

void loops_calls_close(struct loops *l, struct loops_calls *c)
{
	if (c->open && !c->ends)
		emit_step(l, c, c->end_ns);
	c->open = false;
	c->resumed_ns = LOOPS_NEVER;
}

/* The call that tells steps was made. */
static void meet_call(struct loops *l, struct loops_calls *c, const struct loops_call *call)
{
	int64_t at = c->ends ? call->end_ns : call->start_ns;

	if (!c->open && c->ends) {
		c->begin_ns = c->resumed_ns < call->start_ns ? c->resumed_ns : call->start_ns;
		c->open = true;
	}
	if (c->open)
		emit_step(l, c, at);
	c->open = true;
	c->begin_ns = at;
	c->step_taken_ns = 0;
	c->since = 0;
}

/* A stretch of time without what lies in it and does not count; 0 where that is more, or the
 * stretch none, as in damaged events. */
static uint64_t time_less(int64_t from_ns, int64_t to_ns, uint64_t less_ns)
{
	uint64_t ns = to_ns > from_ns ? (uint64_t)to_ns - (uint64_t)from_ns : 0;

	return ns > less_ns ? ns - less_ns : 0;
}

/* How long the loop may do something else before it is over for now. */
static int64_t patience_of(const struct loop *loop)
{
	uint64_t median =
		loop->dur.count >= LOOPS_PAUSE_STEPS ? sketch_quantile(&loop->dur, 0.5) : 0;

	return median && median < INT64_MAX / 2 / LOOPS_PAUSE_STEPS
		       ? (int64_t)median * LOOPS_PAUSE_STEPS
		       : LOOPS_NEVER;
}

void loops_calls_meet_wait(struct loops *l, struct loops_calls *c, const struct loops_wait *wait)
{
	unsigned missing, index;
	bool exact;

	if (!c->open || (c->only && c->only != wait->thread))
		return;
	missing = missing_tiers(l, c, wait->start_ns, wait->end_ns);
	c->step_taken_ns += wait->taken_ns;
	loop_anchor_add(&c->anchor, wait->key, OP_SCHED_OFFCPU, false, wait->end_ns);
	if (!missing || !loop_anchor_times(&c->anchor, wait->key, &index) ||
	    loop_anchor_choose(&c->anchor, missing, &exact) != (int)index)
		return;
	if (time_less(c->begin_ns, wait->start_ns, c->step_taken_ns) <=
	    (uint64_t)patience_of(&l->v.v[c->loop]))
		emit_step(l, c, wait->end_ns);
	else
		loop_anchor_skip(&c->anchor, wait->end_ns);
	c->begin_ns = c->end_ns = wait->end_ns;
	c->step_taken_ns = 0;
}

bool loops_calls_follow(struct loops *l, struct loops_calls *c, const struct loops_call *call)
{
	if (c->open &&
	    time_less(c->end_ns, call->start_ns, call->held_ns) >
		    (uint64_t)patience_of(&l->v.v[c->loop]) &&
	    !loops_missing(l, c->node, c->end_ns, call->start_ns))
		loops_calls_close(l, c);
	if (!c->open && c->resumed_ns == LOOPS_NEVER)
		c->resumed_ns = call->start_ns;
	c->calls++;
	if (call->key == c->key)
		meet_call(l, c, call);
	else
		c->since++;
	if (c->since < c->period && call->end_ns > c->end_ns)
		c->end_ns = call->end_ns;
	return c->since <= LOOPS_CALLS_AWAY * c->period + LOOPS_CALLS_AWAY_MORE ||
	       loops_missing(l, c->node, c->end_ns, call->end_ns) >>
			       op_tier(loops_calls_op(c->key)) &
		       1;
}
