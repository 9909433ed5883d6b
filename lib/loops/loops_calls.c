/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a process without Python frames: it repeats a sequence of copies, waits for the device
 * and graph launches, whichever of its threads makes them. Launches alone make no step: layers
 * repeat them within one. Where threads do not take turns, each that repeats a sequence of its own
 * has a loop of its own. A call that stands once in the sequence tells the steps from then on
 * (loops_calls_tell.c). When it stays away a new sequence is looked for (loops_calls_find.c).
 */
#include "lib/attrib/blame.h"
#include "lib/loops/loops_calls.h"

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

/* Of a thread; NULL: out of memory, or there are too many. */
static struct loops_calls *new_own(struct loops *l, struct loops_calls *of, uint32_t thread)
{
	struct loops_calls *c = of->nown < LOOPS_CALLS_OWN ? calloc(1, sizeof(*c)) : NULL;

	l->nomem |= !c && of->nown < LOOPS_CALLS_OWN;
	if (!c)
		return NULL;
	*c = (struct loops_calls){ .process = of->process,
				   .node = of->node,
				   .thread = thread,
				   .only = thread,
				   .threads = 1,
				   .waits_only = of->waits_only,
				   .newest = thread,
				   .of = of,
				   .next = of->next,
				   .loop = -1 };
	of->next = c;
	of->nown++;
	return c;
}

static struct loops_calls *find_own(const struct loops_calls *of, uint32_t thread)
{
	struct loops_calls *c = of->next;

	while (c && c->thread != thread)
		c = c->next;
	return c;
}

static void free_own(struct loops_calls *c)
{
	struct loops_calls **at = &c->of->next;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->of->nown--;
	vec_free(&c->v);
	vec_free(&c->waits);
	free(c);
}

static void move_calls(struct loops *l, struct loops_calls *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		struct loops_call call = c->v.v[i];
		struct loops_calls *own = find_own(c, call.thread);

		if (call.thread == c->only)
			c->v.v[kept++] = call;
		else if (own || (own = new_own(l, c, call.thread)))
			l->nomem |= !vec_push(&own->v, call);
	}
	c->v.n = kept;
}

static void move_waits(struct loops *l, struct loops_calls *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->waits.n; i++) {
		struct loops_wait wait = c->waits.v[i];
		struct loops_calls *own = find_own(c, wait.thread);

		if (wait.thread == c->only)
			c->waits.v[kept++] = wait;
		else if (own)
			l->nomem |= !vec_push(&own->waits, wait);
	}
	c->waits.n = kept;
}

static void finish_calls(struct loops *l, struct loops_calls *c, int64_t last_ns);

/* Each thread is looked at by itself. Those that have ended are over. */
static void set_apart(struct loops *l, struct loops_calls *c, uint32_t only)
{
	struct loops_calls *own, *next;

	c->only = only;
	move_calls(l, c);
	move_waits(l, c);
	for (own = c->next; own; own = next) {
		struct loops_thread *th = l->by_thread.v[own->thread];

		next = own->next;
		if (th->process_calls == own)
			continue;
		if (th->process_calls == c) {
			th->process_calls = own;
			loops_calls_search(l, own);
			own->next_try = own->loop >= 0 ? 0 : 2 * own->v.n;
		} else {
			finish_calls(l, own, own->v.n ? own->v.v[own->v.n - 1].end_ns : 0);
			free_own(own);
		}
	}
}

/* Copies are not recorded all of the time, and waits are. */
static bool has_waits_only(const struct loops *l, const struct loops_calls *c)
{
	unsigned missing = loops_missing(l, c->node, c->v.v[0].start_ns, c->v.v[c->v.n - 1].end_ns);

	return missing >> TIER_SUBMITS & 1 && !(missing >> TIER_WAITS & 1);
}

/* Searches the calls of all threads, unless these call at the same time; else each thread's own. */
static void search_loops(struct loops *l, struct loops_calls *c)
{
	uint32_t only;

	c->waits_only |= has_waits_only(l, c);
	if ((c->only || !loops_calls_are_concurrent(c)) && loops_calls_search(l, c))
		return;
	only = c->only ? 0 : loops_calls_find_thread(l, c);
	if (!only)
		return;
	set_apart(l, c, only);
	loops_calls_search(l, c);
}

/* While no loop is known. */
static void try_period(struct loops *l, struct loops_calls *c, int64_t ns)
{
	if (c->v.n < c->next_try ||
	    (c->v.n < LOOPS_CALLS_HELD && ns - c->v.v[0].start_ns < HOLD_NS))
		return;
	search_loops(l, c);
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
	if (c && c->only && c->only != th->id && (c = new_own(l, c, th->id)))
		th->process_calls = c;
	if (!c || c->python || (c->waits_only && op_tier(ev->op) != TIER_WAITS))
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

static void handle_wait(struct loops *l, struct loops_calls *c, uint32_t thread,
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

	if (part == PART_LOCK || part == PART_FAULT || part == PART_ATTACH)
		ns = ev->dur_ns;
	else
		event_get(ev, def, COL_WAIT_NS, &ns);
	if (c->newest == th->id) {
		c->held_ns += ns;
		c->taken_ns += ns;
	}
	handle_wait(l, c, th->id, ev, def);
}

static void void_loops(struct loops *l, struct loops_calls *c)
{
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

void loops_calls_exclude(struct loops *l, const struct loops_thread *th)
{
	struct loops_calls *c = need_calls(l, th);

	if (c && c->python)
		return;
	for (; c; c = c->next)
		void_loops(l, c);
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
		search_loops(l, c);
	if (c->loop >= 0) {
		loops_calls_close(l, c);
		finish_loop(l, c, last_ns);
	}
	c->loop = -1;
	vec_free(&c->v);
	vec_free(&c->waits);
}

static void free_calls(struct loops_calls *c)
{
	while (c && c->next)
		free_own(c->next);
	if (!c)
		return;
	vec_free(&c->v);
	vec_free(&c->waits);
	free(c);
}

static bool is_main(const struct loops *l, const struct loops_thread *th)
{
	const struct world_thread *t = world_get_thread(l->w, th->id);
	const struct world_process *p = world_get_process(l->w, th->process);

	return t && p && t->tid == p->tgid;
}

/* Processes that have ended are forgotten. */
static void leave_process(struct loops *l, struct loops_calls *c, const struct loops_thread *th)
{
	if (--c->threads == 0) {
		finish_calls(l, c, th->last_ns);
		if (!is_main(l, th))
			return;
		l->calls.v[c->process] = NULL;
		free_calls(c);
	} else if (c->only == th->id) {
		finish_calls(l, c, th->last_ns);
		c->only = 0;
		c->next_try = 0;
	}
}

void loops_calls_leave(struct loops *l, struct loops_thread *th)
{
	struct loops_calls *c = th->process_calls, *of = c ? c->of : NULL;

	if (!c)
		return;
	th->process_calls = NULL;
	if (of) {
		finish_calls(l, c, th->last_ns);
		free_own(c);
	}
	leave_process(l, of ? of : c, th);
}

void loops_calls_free(struct loops *l)
{
	for (size_t i = 0; i < l->calls.n; i++)
		free_calls(l->calls.v[i]);
	vec_free(&l->calls);
}
