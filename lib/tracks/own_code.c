/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of own code that takes d of the time T between two samples is met with the chance d /
 * T. Of the lines at which n stretches of d were met there are n T / d in all, of which n (T - d) /
 * d were not: n (T - d) of time without a sample. One that is longer than T is met each time.
 */
#include "lib/tracks/own_code.h"

#include <stdlib.h>

#define DEFAULT_HZ 99 /* of each CPU: the recorder's default */

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* Own code of one thread behind one call, reached in the same way. */
static int compare_place(const struct track_part *a, const struct track_part *b)
{
	int by = compare_u32(a->class, b->class);

	if (!by)
		by = compare_u32(a->leaf, b->leaf);
	if (!by)
		by = compare_u32(a->before, b->before);
	if (!by)
		by = compare_u32(a->occupant, b->occupant);
	return by ? by : compare_u32(a->culprit, b->culprit);
}

/* What no sample met comes first. */
static int compare_parts(const void *x, const void *y)
{
	const struct track_part *a = x, *b = y;
	int by = compare_place(a, b);

	return by ? by : (int)a->sampled - (int)b->sampled;
}

static double weight_of(const struct track_part *p, double period_ns)
{
	double length = p->pieces ? (double)p->ns / (double)p->pieces : period_ns;

	return length < period_ns ? (double)p->pieces * (period_ns - length) : 0;
}

static uint64_t scale_share(uint64_t of, uint64_t ns, uint64_t all)
{
	return all ? (uint64_t)((double)of * (double)ns / (double)all) : 0;
}

/* The share of a part that is like the sampled one. What is counted is the first one's. */
static struct track_part share_of(const struct track_part *part, const struct track_part *like,
				  uint64_t ns, bool is_first)
{
	struct track_part share = *part;

	if (part->stack == part->before) {
		share.stack = like->stack;
		share.met = like->met;
	}
	share.line = like->line;
	share.line_met = like->line_met;
	share.inner = like->inner;
	share.op = like->op;
	share.sampled = true;
	share.course = like->course;
	share.ns = ns;
	share.idle_ns = scale_share(part->idle_ns, ns, part->ns);
	share.gap_ns = scale_share(part->gap_ns, ns, part->ns);
	share.at_most_ns = scale_share(part->at_most_ns, ns, part->ns);
	share.unended_ns = scale_share(part->unended_ns, ns, part->ns);
	share.longest_ns = part->longest_ns < ns ? part->longest_ns : ns;
	if (!is_first) {
		share.pieces = share.waits = share.gaps = share.long_ns = 0;
		share.longs = 0;
	}
	return share;
}

/* Parts of one place: [first, sampled) without a sample, [sampled, end) with one. */
struct place {
	const struct track_part *v;
	size_t first, sampled, end;
	double period_ns, weight; /* of all that have a sample */
	uint64_t ns;		  /* of all that have none and can be placed */
};

static bool is_placeable(const struct track_part *p)
{
	return p->before != 0;
}

/* So small a part of a place does not get shares of all its lines: where a worker's own code is
 * waited for at hundreds of lines and found at hundreds, there would be a part for each pair. */
#define SPLIT_PARTS 64

static bool is_split(const struct place *at, const struct track_part *p)
{
	return p->ns >= at->ns / SPLIT_PARTS;
}

static size_t next_weighted(const struct place *at, size_t k)
{
	while (k < at->end && weight_of(&at->v[k], at->period_ns) <= 0)
		k++;
	return k;
}

/* A share for each line, as long as something is left. */
static bool split_part(struct track_parts *to, const struct place *at, const struct track_part *p)
{
	uint64_t left = p->ns;

	for (size_t k = next_weighted(at, at->sampled), next; k < at->end && left; k = next) {
		double share = weight_of(&at->v[k], at->period_ns) / at->weight;
		uint64_t ns = (uint64_t)((double)p->ns * share);

		next = next_weighted(at, k + 1);
		ns = next == at->end || ns > left ? left : ns;
		left -= ns;
		if (ns && !vec_push(&to->v, share_of(p, &at->v[k], ns, left + ns == p->ns)))
			return false;
	}
	return true;
}

/* Small parts take turns: one after the other gets the line whose share is not used up yet, so
 * that all of them together have shares of all lines, and each of them one or two. */
struct turn {
	size_t line;
	uint64_t left;
};

static void next_turn(struct turn *turn, const struct place *at, size_t line, uint64_t ns)
{
	turn->line = line;
	turn->left = next_weighted(at, line + 1) == at->end
			     ? UINT64_MAX
			     : (uint64_t)((double)ns * weight_of(&at->v[line], at->period_ns) /
					  at->weight);
}

static bool take_turns(struct track_parts *to, const struct place *at, uint64_t small_ns)
{
	struct turn turn;

	next_turn(&turn, at, next_weighted(at, at->sampled), small_ns);
	for (size_t i = at->first; i < at->sampled; i++) {
		const struct track_part *p = &at->v[i];
		uint64_t left = p->ns;

		while (left && is_placeable(p) && !is_split(at, p)) {
			uint64_t ns = left < turn.left ? left : turn.left;

			if (ns &&
			    !vec_push(&to->v, share_of(p, &at->v[turn.line], ns, left == p->ns)))
				return false;
			left -= ns;
			turn.left -= ns;
			if (!turn.left)
				next_turn(&turn, at, next_weighted(at, turn.line + 1), small_ns);
		}
	}
	return true;
}

static bool place_parts(struct track_parts *to, struct place *at)
{
	uint64_t samples = 0, small_ns = 0;
	bool known, ok = true;

	for (size_t i = at->sampled; i < at->end; i++) {
		at->weight += weight_of(&at->v[i], at->period_ns);
		samples += at->v[i].pieces;
	}
	known = at->weight > 0 && samples >= OWN_CODE_SAMPLES;
	for (size_t i = at->first; i < at->sampled; i++)
		at->ns += is_placeable(&at->v[i]) ? at->v[i].ns : 0;
	for (size_t i = at->first; ok && i < at->sampled; i++) {
		const struct track_part *p = &at->v[i];

		if (!known || !is_placeable(p))
			ok = vec_push(&to->v, *p);
		else if (is_split(at, p))
			ok = split_part(to, at, p);
		else
			small_ns += p->ns;
	}
	if (ok && small_ns)
		ok = take_turns(to, at, small_ns);
	for (size_t i = at->sampled; ok && i < at->end; i++)
		ok = vec_push(&to->v, at->v[i]);
	return ok;
}

bool own_code_place(struct track_parts *parts, uint32_t hz)
{
	double period_ns = 1e9 / (hz ? hz : DEFAULT_HZ);
	struct track_parts placed = { 0 };
	bool ok = true;
	size_t n = parts->v.n;

	if (n)
		qsort(parts->v.v, n, sizeof(parts->v.v[0]), compare_parts);
	for (size_t i = 0, k; ok && i < n; i = k) {
		const struct track_part *v = parts->v.v;
		struct place at = { .v = v, .first = i, .sampled = i, .period_ns = period_ns };

		for (k = i; k < n && compare_place(&v[i], &v[k]) == 0; k++)
			at.sampled += v[i].class == PATH_OWN && !v[k].sampled;
		at.end = k;
		ok = place_parts(&placed, &at);
	}
	if (!ok) {
		vec_free(&placed.v);
		return false;
	}
	vec_free(&parts->v);
	*parts = placed;
	return true;
}
