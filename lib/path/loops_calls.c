/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a process without Python frames: it repeats a sequence of copies, waits for the device and
 * graph launches, whichever of its threads makes them. Launches alone make no step: layers repeat them
 * within one. Where several threads each have a sequence of their own, the one with most calls is asked.
 * A call that stands once in the sequence tells the steps from then on (loops_calls_tell.c). When it stays
 * away a new sequence is looked for (loops_calls_find.c).
 */
#include "lib/line/blame.h"
#include "lib/path/loops_calls.h"

#define HOLD_NS 2000000000 /* what looks like a step may be a layer: loops_choose.c */

static struct loops_calls *need_calls(struct loops *l, const struct loops_thread *th)
{
	struct loops_calls *c;

	if (!th->process || !vec_reach(&l->calls, th->process)) {
		l->nomem |= th->process != 0;
		return NULL;
	}
	c = l->calls.v[th->process];
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c) {
		l->nomem = true;
		return NULL;
	}
	*c = (struct loops_calls){
		.process = th->process, .node = th->node, .thread = th->id, .loop = -1
	};
	return l->calls.v[th->process] = c;
}

/* While no loop is known. */
static void try_period(struct loops *l, struct loops_calls *c, const struct loops_call *call)
{
	if (c->v.n < c->next_try ||
	    (c->v.n < LOOPS_CALLS_HELD && call->end_ns - c->v.v[0].start_ns < HOLD_NS))
		return;
	loops_calls_search(l, c);
	c->next_try = c->loop >= 0 ? 0 : 2 * c->v.n;
	if (c->loop < 0 && c->v.n >= LOOPS_CALLS_HELD) {
		memmove(c->v.v, c->v.v + LOOPS_CALLS_HELD / 2,
			LOOPS_CALLS_HELD / 2 * sizeof(c->v.v[0]));
		c->v.n = LOOPS_CALLS_HELD / 2;
		c->next_try = LOOPS_CALLS_HELD;
	}
}

void loops_calls_add(struct loops *l, struct loops_thread *th, const struct event *ev)
{
	struct loops_calls *c = th->process_calls;
	struct loops_call call = { .key = (uint64_t)ev->op << 32 | ev->stack,
				   .start_ns = event_start(ev),
				   .end_ns = ev->end_ns,
				   .thread = th->id };

	if (!c && (c = th->process_calls = need_calls(l, th)))
		c->threads++;
	if (!c || c->python || (c->only && c->only != th->id) ||
	    (c->waits_only && op_tier(ev->op) != TIER_WAITS))
		return;
	/* Tensors that are copied one after the other are one call of the sequence. */
	if (call.key == th->newest_trip && !loops_calls_is_wait(l, call.key))
		return;
	th->newest_trip = call.key;
	call.held_ns = c->held_ns;
	c->held_ns = 0;
	c->newest = th->id;
	if (!vec_push(&c->v, call)) {
		l->nomem = true;
		return;
	}
	if (c->loop >= 0 && !loops_calls_follow(l, c, &call)) {
		loops_calls_close(l, c);
		c->loop = -1;
		c->next_try = 0;
	}
	if (c->loop < 0)
		try_period(l, c, &call);
	else if (c->since == 0 || c->v.n >= LOOPS_CALLS_HELD)
		c->v.n = 0;
}

void loops_calls_wait(const struct loops *l, const struct loops_thread *th, const struct event *ev)
{
	struct loops_calls *c = th->process_calls;
	const struct op_def *def = world_op(l->w, ev->op);
	uint64_t ns;

	if (c->newest != th->id)
		return;
	if (blame_blocked(ev, def) == PART_LOCK)
		c->held_ns += ev->dur_ns;
	else if (event_get(ev, def, COL_WAIT_NS, &ns))
		c->held_ns += ns;
}

void loops_calls_exclude(struct loops *l, const struct loops_thread *th)
{
	struct loops_calls *c = need_calls(l, th);

	if (!c || c->python)
		return;
	c->python = true;
	vec_free(&c->v);
	for (unsigned i = 0; i < c->nknown; i++) {
		struct loop *loop = &l->v.v[c->known[i].loop];

		loop->is_void = true;
		if (l->listener && l->listener->on_restart)
			l->listener->on_restart(l->listener, loop->thread,
						(uint32_t)c->known[i].loop);
	}
	c->loop = -1;
}

static void finish_calls(struct loops *l, struct loops_calls *c, int64_t last_ns)
{
	if (c->loop < 0 && !c->python && c->v.n)
		loops_calls_search(l, c);
	if (c->loop >= 0) {
		loops_calls_close(l, c);
		/* It may have gone on where nothing of it was recorded. */
		l->v.v[c->loop].uncertain += loops_missing(l, c->node, c->end_ns, last_ns) >>
						     op_tier(loops_calls_op(c->key)) &
					     1;
	}
	c->loop = -1;
	vec_free(&c->v);
}

void loops_calls_leave(struct loops *l, struct loops_thread *th)
{
	struct loops_calls *c = th->process_calls;

	if (c && --c->threads == 0) {
		finish_calls(l, c, th->last_ns);
	} else if (c && c->only == th->id) {
		finish_calls(l, c, th->last_ns);
		c->only = 0;
		c->next_try = 0;
	}
	th->process_calls = NULL;
}

void loops_calls_free(struct loops *l)
{
	for (size_t i = 0; i < l->calls.n; i++) {
		if (l->calls.v[i])
			vec_free(&l->calls.v[i]->v);
		free(l->calls.v[i]);
	}
	vec_free(&l->calls);
}
