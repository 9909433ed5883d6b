/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the largest distance of which nearly all slow steps are multiples apart, with a slow
 * step at nearly each.
 */
#include "lib/tracks/slow_period.h"

#include <stdlib.h>

#define SLOW_LEAST  1.5 /* times the median */
#define LEAST	    4	/* slow steps: fewer lie so by chance */
#define OTHERS	    8	/* one in so many may be slow for another reason */
#define THERE	    0.8 /* of the steps at that distance: so many are slow */
#define LONGEST_OWN 0.5 /* of the longest: steps of another kind are shorter */

struct slow {
	uint64_t number, ns;
};

static int compare_number(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_length(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Moves those that are multiples of every apart from v[at] to the front. How many they are. */
static unsigned take_apart(struct slow *v, unsigned n, unsigned at, uint64_t every)
{
	uint64_t rest = v[at].number % every;
	unsigned in = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct slow one = v[i];

		if (one.number % every != rest)
			continue;
		v[i] = v[in];
		v[in++] = one;
	}
	return in;
}

/* Whether they come every so many steps. all: no other steps are slow. */
static bool is_period(const struct slow *v, unsigned n, uint64_t every, bool all)
{
	for (unsigned at = 0; at <= n / OTHERS; at++) {
		struct slow copy[STEPS_SLOW];
		uint64_t first = UINT64_MAX, last = 0;
		unsigned in;

		for (unsigned i = 0; i < n; i++)
			copy[i] = v[i];
		in = take_apart(copy, n, at, every);
		for (unsigned i = 0; i < in; i++) {
			first = copy[i].number < first ? copy[i].number : first;
			last = copy[i].number > last ? copy[i].number : last;
		}
		if (in >= LEAST && in >= n - n / OTHERS &&
		    (!all || (double)in >= THERE * (double)((last - first) / every + 1)))
			return true;
	}
	return false;
}

/* Of v, which is in order of their numbers; 0: none. */
static uint64_t find_period(const struct slow *v, unsigned n, bool all)
{
	uint64_t best = 0;

	for (unsigned i = 1; i < n; i++) {
		for (unsigned k = i; k < n; k++) {
			uint64_t every = common_divisor(v[i].number - v[i - 1].number,
							v[k].number - v[k - 1].number);

			if (every > best && every > 1 && is_period(v, n, every, all))
				best = every;
		}
	}
	return best;
}

/* Those of at least that length, in order of their numbers. */
static unsigned slow_steps(const struct step_stats *s, double least_ns, struct slow v[STEPS_SLOW])
{
	unsigned n = 0;

	for (size_t i = 0; i < s->slow.n; i++) {
		const struct slow_step *step = &s->slow.v[i];
		uint64_t ns = (uint64_t)(step->end_ns - step->begin_ns);

		if ((double)ns >= least_ns)
			v[n++] = (struct slow){ step->number, ns };
	}
	qsort(v, n, sizeof(v[0]), compare_number);
	return n;
}

static uint64_t longest_of(const struct slow *v, unsigned n)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < n; i++)
		ns = v[i].ns > ns ? v[i].ns : ns;
	return ns;
}

/* Whether enough steps are slow for one in so many to be. */
static bool are_enough(const struct loop *l, uint64_t every, double least_ns)
{
	uint64_t slow = sketch_between(&l->dur, (uint64_t)least_ns, UINT64_MAX);

	return (double)slow >= THERE * (double)l->count / (double)every - 1;
}

struct slow_period slow_period_of(const struct step_stats *s, const struct loop *l)
{
	double least_ns = SLOW_LEAST * (double)sketch_quantile(&l->dur, 0.5);
	struct slow_period p = { 0 };
	struct slow v[STEPS_SLOW];
	unsigned n = slow_steps(s, least_ns, v);
	uint64_t every = find_period(v, n, n < STEPS_SLOW);

	if (!every && n) {
		double own_ns = LONGEST_OWN * (double)longest_of(v, n);

		least_ns = own_ns > least_ns ? own_ns : least_ns;
		n = slow_steps(s, least_ns, v);
		every = find_period(v, n, n < STEPS_SLOW);
	}
	if (!every || !are_enough(l, every, least_ns))
		return p;
	qsort(v, n, sizeof(v[0]), compare_length);
	p.every = every;
	p.ns = v[n / 2].ns;
	return p;
}
