/* SPDX-License-Identifier: Apache-2.0 */
/* Counts in how many iterations each of a loop's calls stands exactly once. */
#include "lib/loops/loop_anchor.h"

#include <string.h>

#include "lib/event/tier.h"

#define SUM_LEAST  8	/* calls that make a rate worth something */
#define HAD_LEAST  32	/* iterations with one that only some make, for the same */
#define ONCE_SHARE 0.95 /* of whole iterations: a few have a checkpoint or an evaluation */

/* The place of a call that is met first: a free one, or that of the one that is made least often,
 * if not every second iteration makes it; LOOP_ANCHORS: there is none. */
static unsigned find_place(struct loop_anchor *a)
{
	unsigned place = LOOP_ANCHORS;
	double least = 0.5;

	if (a->n < LOOP_ANCHORS)
		return a->n++;
	for (unsigned i = 0; i < a->n; i++) {
		double whole = (double)(a->whole - a->v[i].since);

		if (!a->v[i].n && (double)a->v[i].sum < least * whole) {
			least = (double)a->v[i].sum / whole;
			place = i;
		}
	}
	return place;
}

void loop_anchor_add(struct loop_anchor *a, uint64_t key, uint16_t op, bool wait, int64_t ns)
{
	unsigned i = 0;

	while (i < a->n && a->v[i].key != key)
		i++;
	if (i == a->n) {
		i = find_place(a);
		if (i < a->n) {
			memset(&a->v[i], 0, sizeof(a->v[i]));
			a->v[i].key = key;
			a->v[i].op = op;
			a->v[i].wait = wait;
			a->v[i].since = a->whole;
		}
	}
	if (i < a->n) {
		a->v[i].newest_ns = ns;
		a->v[i].n++;
	}
}

unsigned loop_anchor_times(const struct loop_anchor *a, uint64_t key, unsigned *index)
{
	for (*index = 0; *index < a->n; ++*index) {
		if (a->v[*index].key == key)
			return a->v[*index].n;
	}
	return 0;
}

void loop_anchor_skip(struct loop_anchor *a, int64_t ns)
{
	for (unsigned i = 0; i < a->n; i++)
		a->v[i].n = 0;
	a->begin_ns = ns;
}

static void end_whole(struct loop_anchor *a, int64_t ns)
{
	a->whole++;
	a->whole_ns += (uint64_t)(ns - a->begin_ns);
	for (unsigned i = 0; i < a->n; i++) {
		a->v[i].sum += a->v[i].n;
		a->v[i].had += a->v[i].n > 0;
		if (a->v[i].n != 1)
			continue;
		a->v[i].once++;
		a->v[i].late_ns += (uint64_t)(a->v[i].newest_ns - a->begin_ns);
	}
}

void loop_anchor_end(struct loop_anchor *a, unsigned missing, int64_t ns)
{
	if (!missing)
		end_whole(a, ns);
	a->cut += missing != 0;
	for (unsigned i = 0; missing && i < a->n; i++) {
		a->v[i].cut += a->v[i].n;
		a->v[i].paused |= missing >> op_tier(a->v[i].op) & 1;
	}
	loop_anchor_skip(a, ns);
}

static bool is_rate(const struct loop_anchor *a, unsigned i)
{
	double whole = (double)(a->whole - a->v[i].since);

	return (double)a->v[i].had >= ONCE_SHARE * whole ||
	       (a->v[i].had >= HAD_LEAST &&
		(double)a->v[i].once >= ONCE_SHARE * (double)a->v[i].had);
}

bool loop_anchor_estimate(const struct loop_anchor *a, uint64_t *iterations)
{
	uint64_t most = SUM_LEAST - 1;

	for (unsigned i = 0; i < a->n; i++) {
		if (a->v[i].paused || a->v[i].wait || a->v[i].sum <= most || !is_rate(a, i))
			continue;
		most = a->v[i].sum;
		*iterations = (uint64_t)((double)a->v[i].cut * (double)(a->whole - a->v[i].since) /
						 (double)most +
					 0.5);
	}
	return most >= SUM_LEAST;
}

static double late_of(const struct loop_anchor *a, unsigned i)
{
	return (double)a->v[i].late_ns / (double)a->v[i].once;
}

int loop_anchor_choose(const struct loop_anchor *a, unsigned paused, bool *exact)
{
	int best = -1;

	for (unsigned i = 0; i < a->n; i++) {
		double whole = (double)(a->whole - a->v[i].since);
		if (whole < (a->v[i].wait ? LOOP_ANCHOR_WAIT : LOOP_ANCHOR_MIN) ||
		    (double)a->v[i].once < ONCE_SHARE * whole || paused >> op_tier(a->v[i].op) & 1)
			continue;
		if (best < 0 || late_of(a, i) < late_of(a, (unsigned)best))
			best = (int)i;
	}
	*exact = best >= 0 && late_of(a, (unsigned)best) * (double)a->whole <=
				      LOOP_ANCHOR_LATE * (double)a->whole_ns;
	return best;
}
