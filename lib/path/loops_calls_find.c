/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the sequence of calls that a process repeats, in those of all its threads or, where they make
 * calls at the same time, of the one that makes most; and chooses the call of it that tells steps apart.
 */
#include "lib/path/call_period.h"
#include "lib/path/loops_calls.h"

#define THREADS_COUNTED	 16
#define MAIN_SHARE	 0.25 /* of the calls of the thread that makes most */
#define CONCURRENT_SHARE 0.02 /* of calls overlap the one before: several threads make steps */

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
	bool kept = op_tier(loops_calls_op(call->key)) == TIER_WAITS;
	uint64_t ns =
		loops_calls_is_wait(l, call->key) ? (uint64_t)(call->end_ns - call->start_ns) : 0;

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

	for (size_t i = anchor, since = 0; i-- > 0 && since <= 2 * period + LOOPS_CALLS_AWAY_MORE;
	     since++) {
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
			     .op = loops_calls_op(c->key),
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
	if (c->nknown < LOOPS_CALLS_KNOWN) {
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
	c->ends = loops_calls_is_wait(l, c->key);
	c->loop = number_loop(l, c, ref);
	c->open = false;
	c->resumed_ns = LOOPS_NEVER;
	c->since = 0;
	c->end_ns = INT64_MIN;
	memset(&c->anchor, 0, sizeof(c->anchor));
}

/* Those that end until then, from that one on; where the next ones begin. */
static size_t follow_waits(struct loops *l, struct loops_calls *c, size_t from, int64_t until_ns)
{
	while (from < c->waits.n && c->waits.v[from].end_ns <= until_ns)
		loops_calls_meet_wait(l, c, &c->waits.v[from++]);
	return from;
}

static void follow_all(struct loops *l, struct loops_calls *c, const struct loops_call *v, size_t n)
{
	size_t wait = 0;

	for (size_t i = 0; i < n && c->loop >= 0; i++) {
		wait = follow_waits(l, c, wait, v[i].end_ns);
		if (!loops_calls_follow(l, c, &v[i])) {
			loops_calls_close(l, c);
			c->loop = -1;
		}
	}
	if (c->loop >= 0)
		follow_waits(l, c, wait, INT64_MAX);
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
		if (waits_only && op_tier(loops_calls_op(call->key)) != TIER_WAITS)
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

/* Calls in steps are needed no more, and waits only where no loop is known. */
static void forget_told(struct loops_calls *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->v.n && c->loop < 0; i++) {
		if (c->v.v[i].end_ns > c->told_ns)
			c->v.v[kept++] = c->v.v[i];
	}
	c->v.n = kept;
	if (c->loop >= 0)
		c->waits.n = 0;
}

void loops_calls_search(struct loops *l, struct loops_calls *c)
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
