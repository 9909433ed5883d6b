/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the sequence of calls that a process repeats, in those of all its threads or of one,
 * and chooses the call of it that tells steps apart. Threads take turns if each waits while another
 * one makes calls; else these overlap, or a thread is awake meanwhile.
 */
#include "lib/loops/call_period.h"
#include "lib/base/bisect.h"
#include "lib/loops/loops_calls.h"

#define THREADS_COUNTED	 16
#define MAIN_SHARE	 0.25 /* of the calls of the thread that makes most */
#define CONCURRENT_SHARE 0.02 /* of calls overlap the one before: several threads make steps */
#define TURNS_LEAST	 32   /* calls behind those of another thread, and */
#define AWAKE_SHARE	 0.4  /* of them it was not waiting when that one made its own */

static unsigned count_calls(const struct loops_call *v, size_t n, uint64_t key)
{
	unsigned count = 0;

	for (size_t i = 0; i < n; i++)
		count += v[i].key == key;
	return count;
}

/* How well a call tells steps that stands once in the period: by how often it was made, where
 * nothing is missing, as its first iterations may be others; then by whether it is recorded all of
 * the time, and how long it waits. */
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

/* Where the loop began: before its first call that marks steps, as far back as the reference
 * goes. */
static size_t first_call(const struct loops_call *v, size_t ref, unsigned period, unsigned at)
{
	size_t anchor = ref + at, first, back = 0;

	for (size_t i = anchor, since = 0; i-- > 0 && since <= 2 * period + LOOPS_CALLS_BEFORE;
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

/* Of the first n of these calls; *ref: where a whole period of them stands. 0: there is none. */
static unsigned period_of(struct loops *l, const struct loops_call *v, size_t n, size_t *ref)
{
	uint64_t *keys = malloc(n * sizeof(*keys));
	unsigned period = 0;

	*ref = n;
	l->nomem |= !keys && n;
	for (size_t i = 0; keys && i < n; i++)
		keys[i] = v[i].key;
	if (keys)
		period = call_period_find(keys, n);
	if (period)
		*ref = call_period_reference(keys, n, period);
	free(keys);
	return *ref < n ? period : 0;
}

/* Looks for a period of the first n of these calls, and tells the steps in all of them. */
static bool find_period(struct loops *l, struct loops_calls *c, const struct loops_call *v,
			size_t n, size_t all)
{
	size_t ref;
	unsigned period = period_of(l, v, n, &ref), at;

	if (!period)
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

/* Searches all of these calls; else their older half and, if that loop ends, the newer one. */
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

struct thread_calls {
	uint32_t thread;
	size_t n;
};

/* Of the first few threads; how many there are of them. */
static unsigned count_threads(const struct loops_calls *c, struct thread_calls *of)
{
	unsigned n = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		unsigned k = 0;

		while (k < n && of[k].thread != c->v.v[i].thread)
			k++;
		if (k == THREADS_COUNTED)
			continue;
		if (k == n)
			of[n++] = (struct thread_calls){ .thread = c->v.v[i].thread };
		of[k].n++;
	}
	return n;
}

/* Moves the one to the front that made most of the calls, or the process's first one if it made
 * nearly as many. */
static void put_main_first(const struct loops_calls *c, struct thread_calls *of, unsigned n)
{
	struct thread_calls first;
	unsigned best = 0;

	for (unsigned k = 1; k < n; k++)
		best = of[k].n > of[best].n ? k : best;
	for (unsigned k = 0; k < n; k++) {
		if (of[k].thread == c->thread && (double)of[k].n >= MAIN_SHARE * (double)of[best].n)
			best = k;
	}
	first = of[best];
	of[best] = of[0];
	of[0] = first;
}

uint32_t loops_calls_find_thread(struct loops *l, const struct loops_calls *c)
{
	struct thread_calls of[THREADS_COUNTED];
	unsigned n = count_threads(c, of);
	struct loops_call *some = n > 1 ? malloc(c->v.n * sizeof(*some)) : NULL;
	uint32_t found = 0;
	size_t ref;

	l->nomem |= n > 1 && !some;
	if (some)
		put_main_first(c, of, n);
	for (unsigned k = 0; some && k < n && !found; k++) {
		size_t calls = pick_calls(c, some, of[k].thread, c->waits_only);

		if (period_of(l, some, calls, &ref) || period_of(l, some, calls / 2, &ref))
			found = of[k].thread;
	}
	free(some);
	return found;
}

/* The first held wait that ends after that time. */
static size_t first_wait(const struct loops_calls *c, int64_t ns)
{
	size_t from = 0, to = c->waits.n;

	bisect(i, from, to, c->waits.v[i].end_ns <= ns);
	return from;
}

static bool is_waiting(const struct loops_calls *c, uint32_t thread, int64_t ns)
{
	for (size_t i = first_wait(c, ns); i < c->waits.n; i++) {
		if (c->waits.v[i].thread == thread)
			return c->waits.v[i].start_ns <= ns;
	}
	return false;
}

/* Whether it is known what the thread of a call did when another one made the call before, and that
 * was no waiting for its turn. */
static bool is_awake(const struct loops_calls *c, size_t at, bool *known)
{
	const struct loops_call *call = &c->v.v[at], *before = call - 1;

	*known = before->thread != call->thread && c->waits.n &&
		 before->start_ns >= c->waits.v[0].end_ns;
	return *known && !is_waiting(c, call->thread, before->start_ns);
}

bool loops_calls_are_concurrent(const struct loops_calls *c)
{
	size_t overlap = 0, turns = 0, awake = 0;

	for (size_t i = 1; i < c->v.n; i++) {
		bool known;

		overlap += c->v.v[i].thread != c->v.v[i - 1].thread &&
			   c->v.v[i].start_ns < c->v.v[i - 1].end_ns;
		awake += is_awake(c, i, &known);
		turns += known;
	}
	return (double)overlap > CONCURRENT_SHARE * (double)c->v.n ||
	       (turns >= TURNS_LEAST && (double)awake > AWAKE_SHARE * (double)turns);
}

/* Drops what is no longer needed: calls in steps, and waits once a loop is known. */
static void drop_used(struct loops_calls *c)
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

bool loops_calls_search(struct loops *l, struct loops_calls *c)
{
	struct loops_call *some = malloc(c->v.n * sizeof(*some));
	bool found = false;

	l->nomem |= !some && c->v.n;
	if (some && c->v.n) {
		found = find_loops(l, c, some, pick_calls(c, some, c->only, c->waits_only));
		drop_used(c);
	}
	free(some);
	return found;
}
