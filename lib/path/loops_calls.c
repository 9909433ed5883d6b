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
static void try_period(struct loops *l, struct loops_calls *c, int64_t ns)
{
	if (c->v.n < c->next_try ||
	    (c->v.n < LOOPS_CALLS_HELD && ns - c->v.v[0].start_ns < HOLD_NS))
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
		try_period(l, c, call.end_ns);
	else if (c->since == 0 || c->v.n >= LOOPS_CALLS_HELD)
		c->v.n = 0;
}

/* Until a loop is known the newest waits are held: they tell its steps where calls are missing. */
static void hold_wait(struct loops *l, struct loops_calls *c, const struct loops_wait *wait)
{
	if (c->waits.n >= LOOPS_CALLS_HELD) {
		memmove(c->waits.v, c->waits.v + LOOPS_CALLS_HELD / 2,
			LOOPS_CALLS_HELD / 2 * sizeof(c->waits.v[0]));
		c->waits.n = LOOPS_CALLS_HELD / 2;
	}
	l->nomem |= !vec_push(&c->waits, *wait);
	if (c->v.n)
		try_period(l, c, wait->end_ns);
}

static void take_wait(struct loops *l, struct loops_calls *c, uint32_t thread,
		      const struct event *ev, const struct op_def *def)
{
	uint64_t kind = OBJECT_NONE, number = 0;
	struct loops_wait wait = { .start_ns = event_start(ev),
				   .end_ns = ev->end_ns,
				   .thread = thread };

	if (c->python || !event_get(ev, def, COL_OBJECT_KIND, &kind) || kind == OBJECT_NONE)
		return;
	event_get(ev, def, COL_SYSCALL, &number);
	wait.key = kind << 32 | number;
	wait.taken_ns = c->taken_ns;
	c->taken_ns = 0;
	if (c->loop >= 0)
		loops_calls_meet_wait(l, c, &wait);
	else
		hold_wait(l, c, &wait);
}

void loops_calls_wait(struct loops *l, const struct loops_thread *th, const struct event *ev)
{
	struct loops_calls *c = th->process_calls;
	const struct op_def *def = world_op(l->w, ev->op);
	enum part part = blame_blocked(ev, def);
	uint64_t ns = 0;

	if (part == PART_LOCK || part == PART_FAULT)
		ns = ev->dur_ns;
	else
		event_get(ev, def, COL_WAIT_NS, &ns);
	if (c->newest == th->id) {
		c->held_ns += ns;
		c->taken_ns += ns;
	}
	take_wait(l, c, th->id, ev, def);
}

void loops_calls_exclude(struct loops *l, const struct loops_thread *th)
{
	struct loops_calls *c = need_calls(l, th);

	if (!c || c->python)
		return;
	c->python = true;
	vec_free(&c->v);
	vec_free(&c->waits);
	for (unsigned i = 0; i < c->nknown; i++) {
		struct loop *loop = &l->v.v[c->known[i].loop];

		loop->is_void = true;
		if (l->listener && l->listener->on_restart)
			l->listener->on_restart(l->listener, loop->thread,
						(uint32_t)c->known[i].loop);
	}
	c->loop = -1;
}

/* The loop may have gone on where nothing of it was recorded: for long there were more steps. */
static void finish_loop(const struct loops *l, const struct loops_calls *c, int64_t last_ns)
{
	struct loop *loop = &l->v.v[c->loop];
	unsigned missing = loops_missing(l, c->node, c->end_ns, last_ns);
	uint64_t mean = loop->count ? loop->ns / loop->count : 0;

	if (!(missing >> op_tier(loops_calls_op(c->key)) & 1))
		return;
	loop->uncertain++;
	loop->least |= (uint64_t)(last_ns - c->end_ns) / LOOPS_PAUSE_STEPS > mean;
}

static void finish_calls(struct loops *l, struct loops_calls *c, int64_t last_ns)
{
	if (c->loop < 0 && !c->python && c->v.n)
		loops_calls_search(l, c);
	if (c->loop >= 0) {
		loops_calls_close(l, c);
		finish_loop(l, c, last_ns);
	}
	c->loop = -1;
	vec_free(&c->v);
	vec_free(&c->waits);
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
		struct loops_calls *c = l->calls.v[i];

		if (!c)
			continue;
		vec_free(&c->v);
		vec_free(&c->waits);
		free(c);
	}
	vec_free(&l->calls);
}
