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

/* [first, sampled) of parts without a sample, [sampled, end) with one. */
static bool distribute_parts(struct track_parts *to, const struct track_part *v, size_t first,
			     size_t sampled, size_t end, double period_ns)
{
	double all = 0;
	uint64_t samples = 0;
	size_t last = end;

	for (size_t i = sampled; i < end; i++) {
		all += weight_of(&v[i], period_ns);
		samples += v[i].pieces;
		last = weight_of(&v[i], period_ns) > 0 ? i : last;
	}
	for (size_t i = first; i < sampled; i++) {
		uint64_t left = v[i].ns;

		if (!v[i].before || last == end || samples < OWN_CODE_SAMPLES) {
			if (!vec_push(&to->v, v[i]))
				return false;
			continue;
		}
		for (size_t k = sampled; k < end && left; k++) {
			uint64_t ns =
				(uint64_t)((double)v[i].ns * weight_of(&v[k], period_ns) / all);

			ns = k == last || ns > left ? left : ns;
			left -= ns;
			if (ns &&
			    !vec_push(&to->v, share_of(&v[i], &v[k], ns, left + ns == v[i].ns)))
				return false;
		}
	}
	for (size_t i = sampled; i < end; i++)
		if (!vec_push(&to->v, v[i]))
			return false;
	return true;
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
		size_t sampled = i;

		for (k = i; k < n && compare_place(&v[i], &v[k]) == 0; k++)
			sampled += !v[k].sampled;
		ok = distribute_parts(&placed, v, i, v[i].class == PATH_OWN ? sampled : i, k,
				      period_ns);
	}
	if (!ok) {
		vec_free(&placed.v);
		return false;
	}
	vec_free(&parts->v);
	*parts = placed;
	return true;
}
