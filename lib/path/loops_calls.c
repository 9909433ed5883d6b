/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a process without Python frames: it repeats a sequence of copies, waits for the device and
 * graph launches, whichever of its threads makes them. Launches alone make no step: layers repeat them
 * within one. Where several threads each have a sequence of their own, the one with most calls is asked.
 * A call that stands once in the sequence tells the steps from then on: a wait ends one, else it begins
 * one. When it stays away a new sequence is looked for.
 */
#include "lib/event/tier.h"
#include "lib/line/blame.h"
#include "lib/path/call_period.h"
#include "lib/path/loops_state.h"

#define CALLS_HELD	 4096	    /* while no period is known */
#define HOLD_NS		 2000000000 /* what looks like a step may be a layer: loops_choose.c */
#define AWAY		 4	    /* periods without that call, and some, end the loop */
#define AWAY_MORE	 16
#define THREADS_COUNTED	 16
#define MAIN_SHARE	 0.25 /* of the calls of the thread that makes most */
#define CONCURRENT_SHARE 0.02 /* of calls overlap the one before: several threads make steps */
#define KNOWN		 4    /* loops of a process that are found again */

struct loops_call {
	uint64_t key; /* op and stack */
	int64_t start_ns, end_ns;
	uint64_t held_ns; /* since the one before its thread waited for a CPU or a lock */
	uint32_t thread;
};

struct loops_calls {
	uint32_t process, node, thread;
	uint32_t only;		  /* thread whose calls are looked at; 0: all */
	unsigned threads;	  /* that live and made such calls */
	bool python;		  /* it has Python frames: its loops are in them */
	bool waits_only;	  /* copies were not recorded all of the time */
	VEC(struct loops_call) v; /* of no step yet; without a loop at most CALLS_HELD */
	size_t next_try;	  /* calls in v */
	int loop;		  /* number of the one whose steps are told; -1: none */
	unsigned period;
	uint64_t key;		  /* of the call that tells them */
	bool ends;		  /* it ends a step */
	bool open;		  /* a step has begun */
	unsigned since;		  /* calls since then */
	int64_t begin_ns, end_ns; /* of the step that is open: its newest call's end */
	uint32_t newest;	  /* thread of the newest call */
	uint64_t held_ns;	  /* of the next one */
	int64_t resumed_ns; /* no step is open: when the first call after the last one began */
	uint64_t calls;	    /* in the step */
	int64_t told_ns;    /* end of the newest step */
	struct {
		uint64_t key;
		int loop; /* plus one; 0: none */
	} known[KNOWN];
	unsigned nknown;
};

static uint16_t op_of(uint64_t key)
{
	return (uint16_t)(key >> 32);
}

static bool is_wait(const struct loops *l, uint64_t key)
{
	return l->kinds[op_of(key)] & LOOPS_WAITS;
}

/* ---- telling ---- */

static void count_step(struct loops *l, const struct loops_calls *c, struct loop *loop,
		       struct loop_step *s)
{
	uint64_t ns = (uint64_t)(s->end_ns - s->begin_ns),
		 mean = loop->dur.count ? loop->dur.sum / loop->dur.count : 0;
	unsigned missing = loops_missing(l, c->node, s->begin_ns, s->end_ns);

	s->certain = !(missing >> op_tier(op_of(c->key)) & 1);
	if (!loop->count++)
		loop->first_ns = s->begin_ns;
	loop->last_ns = s->end_ns;
	loop->ns += ns;
	loop->calls += c->calls;
	if (s->certain && !sketch_add(&loop->dur, ns))
		l->nomem = true;
	loop->uncertain += !s->certain;
	/* Not the median: what takes time in a few of them does in those, too. */
	if (!s->certain && mean && ns > mean)
		loop->hidden += (uint64_t)((double)ns / (double)mean + 0.5) - 1;
	loop->least = (double)loop->dur.sum < LOOPS_CERTAIN_SHARE * (double)loop->ns;
	loop->estimate = loop->count + (loop->least ? 0 : loop->hidden);
}

static void tell_step(struct loops *l, struct loops_calls *c, int64_t end_ns)
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

/* No step is open any more. */
static void close_step(struct loops *l, struct loops_calls *c)
{
	if (c->open && !c->ends)
		tell_step(l, c, c->end_ns);
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
		tell_step(l, c, at);
	c->open = true;
	c->begin_ns = at;
	c->since = 0;
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

/* False: the loop is over. */
static bool follow_call(struct loops *l, struct loops_calls *c, const struct loops_call *call)
{
	int64_t gap = call->start_ns - c->end_ns - (int64_t)call->held_ns;

	if (c->open && gap > patience_of(&l->v.v[c->loop]) &&
	    !loops_missing(l, c->node, c->end_ns, call->start_ns))
		close_step(l, c);
	if (!c->open && c->resumed_ns == LOOPS_NEVER)
		c->resumed_ns = call->start_ns;
	c->calls++;
	if (call->key == c->key)
		meet_call(l, c, call);
	else
		c->since++;
	if (c->since < c->period && call->end_ns > c->end_ns)
		c->end_ns = call->end_ns;
	return c->since <= AWAY * c->period + AWAY_MORE ||
	       loops_missing(l, c->node, c->end_ns, call->end_ns) >> op_tier(op_of(c->key)) & 1;
}

/* ---- finding ---- */

static unsigned count_calls(const struct loops_call *v, size_t n, uint64_t key)
{
	unsigned count = 0;

	for (size_t i = 0; i < n; i++)
		count += v[i].key == key;
	return count;
}

/* How well a call tells steps that stands once in the period: by how often it was made, where nothing is
 * missing, as its first iterations may be others; then by whether it is recorded all of the time, and how
 * long it waits. */
static uint64_t value_of(const struct loops *l, const struct loops_call *call, unsigned made)
{
	bool kept = op_tier(op_of(call->key)) == TIER_WAITS;
	uint64_t ns = is_wait(l, call->key) ? (uint64_t)(call->end_ns - call->start_ns) : 0;

	if (ns > UINT32_MAX / 2)
		ns = UINT32_MAX / 2;
	/* At the edges of what was looked at there may be one more of another. */
	return (uint64_t)(made + kept) << 32 | (kept ? UINT32_MAX / 2 + ns : 0);
}

/* Which of the period's calls, from ref on, tells steps best; period: none stands once in it. */
static unsigned choose_call(const struct loops *l, const struct loops_call *v, size_t n, size_t ref,
			    unsigned period, bool whole)
{
	unsigned best = period;
	uint64_t most = 0;

	for (unsigned i = 0; i < period; i++) {
		const struct loops_call *call = &v[ref + i];
		uint64_t value;

		if (count_calls(v + ref, period, call->key) != 1)
			continue;
		value = value_of(l, call, whole ? count_calls(v, n, call->key) : 0) + 1;
		if (value > most) {
			best = i;
			most = value;
		}
	}
	return best;
}

/* Where the loop began: before its first call that tells steps, as far back as the reference goes. */
static size_t first_call(const struct loops_call *v, size_t ref, unsigned period, unsigned at)
{
	size_t anchor = ref + at, first, back = 0;

	for (size_t i = anchor, since = 0; i-- > 0 && since <= 2 * period + AWAY_MORE; since++) {
		if (v[i].key == v[ref + at].key) {
			anchor = i;
			since = 0;
		}
	}
	first = anchor;
	while (back + 1 < period && first > 0 &&
	       v[first - 1].key == v[ref + (at + 2 * period - back - 1) % period].key) {
		first--;
		back++;
	}
	return first;
}

static int number_loop(struct loops *l, struct loops_calls *c, const struct loops_call *ref)
{
	struct loop loop = { .thread = c->only ? c->only : c->thread,
			     .period = c->period,
			     .op = op_of(c->key),
			     .stack = (uint32_t)c->key };

	for (unsigned i = 0; i < c->nknown; i++) {
		if (c->known[i].key == c->key)
			return c->known[i].loop;
	}
	for (unsigned i = 0; i < c->period && loop.nstacks < LOOP_STACKS; i++) {
		uint32_t stack = (uint32_t)ref[i].key;
		bool had = false;

		for (unsigned k = 0; k < loop.nstacks; k++)
			had |= loop.stacks[k] == stack;
		if (!had)
			loop.stacks[loop.nstacks++] = stack;
	}
	if (!vec_push(&l->v, loop)) {
		l->nomem = true;
		return -1;
	}
	if (c->nknown < KNOWN) {
		c->known[c->nknown].key = c->key;
		c->known[c->nknown++].loop = (int)l->v.n - 1;
	}
	return (int)l->v.n - 1;
}

/* ref: the calls of one step, of which that one tells the others. */
static void begin_loop(struct loops *l, struct loops_calls *c, const struct loops_call *ref,
		       unsigned period, unsigned at)
{
	c->period = period;
	c->key = ref[at].key;
	c->ends = is_wait(l, c->key);
	c->loop = number_loop(l, c, ref);
	c->open = false;
	c->resumed_ns = LOOPS_NEVER;
	c->since = 0;
	c->end_ns = INT64_MIN;
}

static void follow_all(struct loops *l, struct loops_calls *c, const struct loops_call *v, size_t n)
{
	for (size_t i = 0; i < n && c->loop >= 0; i++) {
		if (!follow_call(l, c, &v[i])) {
			close_step(l, c);
			c->loop = -1;
		}
	}
}

/* Looks for a period of the first n of these calls, and tells the steps in all of them. */
static bool find_period(struct loops *l, struct loops_calls *c, const struct loops_call *v,
			size_t n, size_t all)
{
	uint64_t *keys = malloc(n * sizeof(*keys));
	unsigned period = 0, at;
	size_t ref = n;

	l->nomem |= !keys && n;
	for (size_t i = 0; keys && i < n; i++)
		keys[i] = v[i].key;
	if (keys)
		period = call_period_find(keys, n);
	if (period)
		ref = call_period_reference(keys, n, period);
	free(keys);
	if (ref == n)
		return false;
	at = choose_call(l, v, n, ref, period,
			 !loops_missing(l, c->node, v[0].start_ns, v[n - 1].end_ns));
	if (at == period)
		return false;
	begin_loop(l, c, v + ref, period, at);
	ref = first_call(v, ref, period, at);
	follow_all(l, c, v + ref, all - ref);
	return true;
}

/* In all of these calls; else in the older half of them, and, if that loop ends, in the newer one. */
static bool find_loops(struct loops *l, struct loops_calls *c, const struct loops_call *v, size_t n)
{
	size_t half = n / 2;

	if (find_period(l, c, v, n, n))
		return true;
	if (!find_period(l, c, v, half, n))
		return false;
	if (c->loop < 0)
		find_period(l, c, v + half, n - half, n - half);
	return true;
}

/* Of v those that are a thread's (0: of any), waits alone if so. */
static size_t pick_calls(const struct loops_calls *c, struct loops_call *out, uint32_t only,
			 bool waits_only)
{
	size_t n = 0;
	uint64_t held_ns = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		const struct loops_call *call = &c->v.v[i];

		if (only && call->thread != only)
			continue;
		held_ns += call->held_ns;
		if (waits_only && op_tier(op_of(call->key)) != TIER_WAITS)
			continue;
		out[n] = *call;
		out[n++].held_ns = held_ns;
		held_ns = 0;
	}
	return n;
}

/* The thread that made most of the calls that are held, of the first few; the process's first one if it
 * made nearly as many. 0: there is only one. */
static uint32_t busiest_thread(const struct loops_calls *c)
{
	struct {
		uint32_t thread;
		size_t n;
	} of[THREADS_COUNTED];
	unsigned n = 0, best = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		unsigned k = 0;

		while (k < n && of[k].thread != c->v.v[i].thread)
			k++;
		if (k == THREADS_COUNTED)
			continue;
		if (k == n)
			of[n++].thread = c->v.v[i].thread, of[k].n = 0;
		of[k].n++;
		best = of[k].n > of[best].n ? k : best;
	}
	for (unsigned k = 0; k < n; k++) {
		if (of[k].thread == c->thread && (double)of[k].n >= MAIN_SHARE * (double)of[best].n)
			best = k;
	}
	return n > 1 ? of[best].thread : 0;
}

/* Whether threads make calls at the same time: they do not take turns. */
static bool is_concurrent(const struct loops_calls *c)
{
	size_t overlap = 0;

	for (size_t i = 1; i < c->v.n; i++)
		overlap += c->v.v[i].thread != c->v.v[i - 1].thread &&
			   c->v.v[i].start_ns < c->v.v[i - 1].end_ns;
	return (double)overlap > CONCURRENT_SHARE * (double)c->v.n;
}

/* Calls in steps are needed no more. */
static void forget_told(struct loops_calls *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->v.n && c->loop < 0; i++) {
		if (c->v.v[i].end_ns > c->told_ns)
			c->v.v[kept++] = c->v.v[i];
	}
	c->v.n = kept;
}

static void search(struct loops *l, struct loops_calls *c)
{
	struct loops_call *some = malloc(c->v.n * sizeof(*some));
	int64_t from = c->v.n ? c->v.v[0].start_ns : 0, to = c->v.n ? c->v.v[c->v.n - 1].end_ns : 0;
	unsigned missing = loops_missing(l, c->node, from, to);
	uint32_t only = busiest_thread(c);
	bool found = false;

	c->waits_only |= missing >> TIER_SUBMITS & 1 && !(missing >> TIER_WAITS & 1);
	if (!some) {
		l->nomem |= c->v.n > 0;
		return;
	}
	if (c->only || !only || !is_concurrent(c))
		found = find_loops(l, c, some, pick_calls(c, some, c->only, c->waits_only));
	if (!found && only) {
		c->only = only;
		if (!find_loops(l, c, some, pick_calls(c, some, only, c->waits_only)))
			c->only = 0;
	}
	free(some);
	forget_told(c);
}

/* ---- the process ---- */

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
	    (c->v.n < CALLS_HELD && call->end_ns - c->v.v[0].start_ns < HOLD_NS))
		return;
	search(l, c);
	c->next_try = c->loop >= 0 ? 0 : 2 * c->v.n;
	if (c->loop < 0 && c->v.n >= CALLS_HELD) {
		memmove(c->v.v, c->v.v + CALLS_HELD / 2, CALLS_HELD / 2 * sizeof(c->v.v[0]));
		c->v.n = CALLS_HELD / 2;
		c->next_try = CALLS_HELD;
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
	if (call.key == th->newest_trip && !is_wait(l, call.key))
		return;
	th->newest_trip = call.key;
	call.held_ns = c->held_ns;
	c->held_ns = 0;
	c->newest = th->id;
	if (!vec_push(&c->v, call)) {
		l->nomem = true;
		return;
	}
	if (c->loop >= 0 && !follow_call(l, c, &call)) {
		close_step(l, c);
		c->loop = -1;
		c->next_try = 0;
	}
	if (c->loop < 0)
		try_period(l, c, &call);
	else if (c->since == 0 || c->v.n >= CALLS_HELD)
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
		search(l, c);
	if (c->loop >= 0) {
		close_step(l, c);
		/* It may have gone on where nothing of it was recorded. */
		l->v.v[c->loop].uncertain +=
			loops_missing(l, c->node, c->end_ns, last_ns) >> op_tier(op_of(c->key)) & 1;
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
