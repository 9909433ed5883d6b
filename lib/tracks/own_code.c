/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stretch of own code that takes d of the time T between two samples is met with the chance d /
 * T. Of the lines at which n stretches of d were met there are n T / d in all, of which n (T - d) /
 * d were not: n (T - d) of time without a sample. One that is longer than T is met each time.
 *
 * A thread loses its CPU where it uses it: what others took behind a call is shared as its own code
 * behind that call is.
 */
#include "lib/tracks/own_code.h"

#include <stdlib.h>

#define DEFAULT_HZ 99 /* of each CPU: the recorder's default */

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* Own code of one thread behind one call, reached in the same way. */
static int compare_place(const struct track_part *a, const struct track_part *b, uint32_t anchor)
{
	int by = compare_u32(a->class, b->class);

	(void)anchor;
	if (!by)
		by = compare_u32(a->leaf, b->leaf);
	if (!by)
		by = compare_u32(a->before, b->before);
	if (!by)
		by = compare_u32(a->occupant, b->occupant);
	return by ? by : compare_u32(a->culprit, b->culprit);
}

static bool is_unsampled(const struct track_part *p)
{
	return p->class == PATH_OWN && !p->sampled;
}

static double weigh_missed(const struct track_part *p, double period_ns)
{
	double length = p->pieces ? (double)p->ns / (double)p->pieces : period_ns;

	return length < period_ns ? (double)p->pieces * (period_ns - length) : 0;
}

static uint64_t scale_share(uint64_t of, uint64_t ns, uint64_t all)
{
	return all ? (uint64_t)((double)of * (double)ns / (double)all) : 0;
}

/* The share [from_ns, from_ns + ns) of a part that is like the placed one. What is counted is the
 * first one's, but for how often it was. */
static struct track_part share_of(const struct track_part *part, const struct track_part *like,
				  uint64_t from_ns, uint64_t ns)
{
	struct track_part share = *part;

	if (part->stack == part->before) {
		share.stack = like->stack;
		share.met = like->met;
	}
	if (!part->unplaced) {
		share.op = like->op;
		share.sampled = true;
		share.course = like->course;
	}
	if (!part->unplaced || (part->line && part->leaf == like->leaf)) {
		share.line = like->line;
		share.line_met = like->line_met;
		share.inner = like->inner;
	}
	share.unplaced = false;
	share.ns = ns;
	share.idle_ns = scale_share(part->idle_ns, ns, part->ns);
	share.gap_ns = scale_share(part->gap_ns, ns, part->ns);
	share.at_most_ns = scale_share(part->at_most_ns, ns, part->ns);
	share.unended_ns = scale_share(part->unended_ns, ns, part->ns);
	share.longest_ns = part->longest_ns < ns ? part->longest_ns : ns;
	if (from_ns) {
		share.pieces = share.gaps = share.long_ns = 0;
		share.longs = 0;
	}
	share.waits = scale_share(part->waits, from_ns + ns, part->ns) -
		      scale_share(part->waits, from_ns, part->ns);
	return share;
}

/* Which parts are of an unknown place, and what places them. */
struct placing {
	uint32_t anchor;
	double period_ns;
	/* Equal are those of one place. */
	int (*compare)(const struct track_part *a, const struct track_part *b, uint32_t anchor);
	bool (*is_unknown)(const struct track_part *p);
	double (*weigh)(const struct track_part *p, double period_ns); /* of known ones */
	uint64_t least; /* pieces of known ones: fewer place nothing */
};

/* Parts of one place: [first, known) of which no more is known, [known, end) of which it is. */
struct place {
	const struct track_part *v;
	size_t first, known, end;
	const struct placing *by;
	double weight; /* of all known ones */
	uint64_t ns;   /* of all others that can be placed */
};

static double weight_at(const struct place *at, size_t k)
{
	return at->by->weigh(&at->v[k], at->by->period_ns);
}

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
	while (k < at->end && weight_at(at, k) <= 0)
		k++;
	return k;
}

/* A share for each line, as long as something is left. */
static bool split_part(struct track_parts *to, const struct place *at, const struct track_part *p)
{
	uint64_t left = p->ns;

	for (size_t k = next_weighted(at, at->known), next; k < at->end && left; k = next) {
		double share = weight_at(at, k) / at->weight;
		uint64_t ns = (uint64_t)((double)p->ns * share);

		next = next_weighted(at, k + 1);
		ns = next == at->end || ns > left ? left : ns;
		left -= ns;
		if (ns && !vec_push(&to->v, share_of(p, &at->v[k], p->ns - left - ns, ns)))
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
			     : (uint64_t)((double)ns * weight_at(at, line) / at->weight);
}

static bool take_turns(struct track_parts *to, const struct place *at, uint64_t small_ns)
{
	struct turn turn;

	next_turn(&turn, at, next_weighted(at, at->known), small_ns);
	for (size_t i = at->first; i < at->known; i++) {
		const struct track_part *p = &at->v[i];
		uint64_t left = p->ns;

		while (left && is_placeable(p) && !is_split(at, p)) {
			uint64_t ns = left < turn.left ? left : turn.left;

			if (ns &&
			    !vec_push(&to->v, share_of(p, &at->v[turn.line], p->ns - left, ns)))
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

	for (size_t i = at->known; i < at->end; i++) {
		at->weight += weight_at(at, i);
		samples += at->v[i].pieces;
	}
	known = at->weight > 0 && samples >= at->by->least;
	for (size_t i = at->first; i < at->known; i++)
		at->ns += is_placeable(&at->v[i]) ? at->v[i].ns : 0;
	for (size_t i = at->first; ok && i < at->known; i++) {
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
	for (size_t i = at->known; ok && i < at->end; i++)
		ok = vec_push(&to->v, at->v[i]);
	return ok;
}

/* In order of their places, what is unknown first. */
static int compare_parts(const void *x, const void *y, void *ctx)
{
	const struct track_part *a = x, *b = y;
	const struct placing *by = ctx;
	int order = by->compare(a, b, by->anchor);

	return order ? order : (int)by->is_unknown(b) - (int)by->is_unknown(a);
}

static bool place_all(struct track_parts *parts, struct placing *by)
{
	struct track_parts placed = { .grid = parts->grid };
	bool ok = true;
	size_t n = parts->v.n;

	if (n)
		qsort_r(parts->v.v, n, sizeof(parts->v.v[0]), compare_parts, by);
	for (size_t i = 0, k; ok && i < n; i = k) {
		const struct track_part *v = parts->v.v;
		struct place at = { .v = v, .first = i, .known = i, .by = by };

		for (k = i; k < n && by->compare(&v[i], &v[k], by->anchor) == 0; k++)
			at.known += by->is_unknown(&v[k]);
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

/* What the anchor was behind when its CPU was taken, or in its own code; 0: neither. */
static uint32_t behind_of(const struct track_part *p, uint32_t anchor)
{
	return p->unplaced || (p->class == PATH_OWN && p->leaf == anchor) ? p->before : 0;
}

static int compare_behind(const struct track_part *a, const struct track_part *b, uint32_t anchor)
{
	return compare_u32(behind_of(a, anchor), behind_of(b, anchor));
}

static bool is_unplaced(const struct track_part *p)
{
	return p->unplaced && p->before;
}

static double weigh_own(const struct track_part *p, double period_ns)
{
	(void)period_ns;
	return p->class == PATH_OWN ? (double)p->ns : 0;
}

bool own_code_place(struct track_parts *parts, uint32_t anchor, uint32_t hz)
{
	struct placing missed = { .anchor = anchor,
				  .period_ns = 1e9 / (hz ? hz : DEFAULT_HZ),
				  .compare = compare_place,
				  .is_unknown = is_unsampled,
				  .weigh = weigh_missed,
				  .least = OWN_CODE_SAMPLES };
	struct placing taken = { .anchor = anchor,
				 .compare = compare_behind,
				 .is_unknown = is_unplaced,
				 .weigh = weigh_own };

	return place_all(parts, &missed) && place_all(parts, &taken);
}
