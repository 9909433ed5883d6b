/* SPDX-License-Identifier: Apache-2.0 */
/* Kept durations of an op stand in an array of their own, so that each is gone through only for its
 * op's quantiles. */
#include "lib/query/exact.h"

#include <stdlib.h>
#include <string.h>

static const double quantiles[EXACT_QUANTILES] = { 0.50, 0.95, 0.99 };

struct exact *exact_new(uint64_t bytes_max)
{
	struct exact *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->bytes_max = bytes_max;
	x->of_op = calloc(UINT16_MAX + 1u, sizeof(*x->of_op));
	if (!x->of_op) {
		free(x);
		return NULL;
	}
	return x;
}

static void free_durations(struct exact_op *o)
{
	vec_free(&o->shorter);
	vec_free(&o->longer);
}

void exact_free(struct exact *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->ops.n; i++) {
		free_durations(x->ops.v[i]);
		free(x->ops.v[i]->fine);
		for (int k = 0; k < EXACT_QUANTILES; k++)
			rank_search_free(&x->ops.v[i]->sought[k]);
		free(x->ops.v[i]);
	}
	vec_free(&x->ops);
	free(x->of_op);
	free(x);
}

struct exact_op *exact_op(struct exact *x, uint16_t op)
{
	struct exact_op *o;

	if (x->of_op[op])
		return x->ops.v[x->of_op[op] - 1];
	o = calloc(1, sizeof(*o));
	if (o)
		o->fine = calloc(EXACT_FINE, sizeof(*o->fine));
	if (!o || !o->fine || !vec_push(&x->ops, o)) {
		if (o)
			free(o->fine);
		free(o);
		return NULL;
	}
	o->op = op;
	for (int i = 0; i < EXACT_QUANTILES; i++)
		rank_search_free(&o->sought[i]); /* takes nothing */
	x->of_op[op] = (uint16_t)x->ops.n;
	return o;
}

bool exact_count(struct exact *x, struct exact_op *o, uint64_t ns)
{
	size_t bytes = ns <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);

	x->counted++;
	if (ns < EXACT_FINE)
		o->fine[ns]++;
	if (ns < EXACT_FINE || x->overflowed)
		return true;
	if (x->bytes + bytes > x->bytes_max) {
		x->overflowed = true;
		for (size_t i = 0; i < x->ops.n; i++)
			free_durations(x->ops.v[i]);
		return true;
	}
	x->bytes += bytes;
	return ns <= UINT32_MAX ? vec_push(&o->shorter, (uint32_t)ns) : vec_push(&o->longer, ns);
}

void exact_count_fine(struct exact *x, struct exact_op *o, const uint32_t counts[EXACT_FINE])
{
	for (unsigned i = 0; i < EXACT_FINE; i++) {
		o->fine[i] += counts[i];
		x->counted += counts[i];
	}
}

bool exact_start_search(struct exact *x, uint16_t op, const struct sketch *durations)
{
	struct exact_op *o = exact_op(x, op);

	for (int i = 0; o && durations->count && i < EXACT_QUANTILES; i++) {
		struct sketch_place at = sketch_locate(durations, quantiles[i]);

		if (at.low + at.span < EXACT_FINE) {
			for (uint64_t n = 0; at.span; at.low++, at.span--)
				if ((n += o->fine[at.low]) >= at.rank)
					break;
			at.span = 0;
		}
		if (!rank_search_begin(&o->sought[i], at.low, at.span, at.rank, at.n))
			return false;
	}
	return o != NULL;
}

/* Those of one op, in every search of it. */
static int round_of(struct exact *x, struct exact_op *o)
{
	int more = 0;

	for (int i = 0; i < EXACT_QUANTILES; i++) {
		int rc = rank_search_round(&o->sought[i]);

		x->changed |= rc < 0;
		more |= rc > 0;
	}
	return more;
}

/* Whether all that is sought was found among the short ones. */
static bool found_all(const struct exact *x)
{
	for (size_t i = 0; i < x->ops.n; i++)
		for (int k = 0; k < EXACT_QUANTILES; k++)
			if (x->ops.v[i]->sought[k].room)
				return false;
	return true;
}

bool exact_search_stored(struct exact *x)
{
	if (x->overflowed)
		return found_all(x);
	for (size_t k = 0; k < x->ops.n; k++) {
		struct exact_op *o = x->ops.v[k];

		do {
			for (size_t i = 0; i < o->shorter.n; i++)
				exact_count_again(o, o->shorter.v[i]);
			for (size_t i = 0; i < o->longer.n; i++)
				exact_count_again(o, o->longer.v[i]);
		} while (round_of(x, o));
	}
	return true;
}

void exact_count_item(struct exact *x, const struct world *w, struct filter *sel,
		      const struct stream_item *item)
{
	if (item->kind != STREAM_EVENTS)
		return;
	for (size_t i = 0; i < item->n && x->again < x->counted; i++) {
		const struct event *ev = &item->events[i];

		if (!x->of_op[ev->op] || !filter_event(sel, w, ev))
			continue;
		x->again++;
		exact_count_again(x->ops.v[x->of_op[ev->op] - 1], ev->dur_ns);
	}
}

int exact_next_round(struct exact *x)
{
	int more = 0;

	x->changed |= x->again != x->counted;
	x->again = 0;
	for (size_t i = 0; i < x->ops.n; i++)
		more |= round_of(x, x->ops.v[i]);
	return more && !x->changed;
}

bool exact_get_quantiles(const struct exact *x, uint16_t op, uint64_t ns[EXACT_QUANTILES])
{
	const struct exact_op *o = x->of_op[op] ? x->ops.v[x->of_op[op] - 1] : NULL;

	for (int i = 0; i < EXACT_QUANTILES; i++) {
		if (!o || x->changed || !o->sought[i].found)
			return false;
		ns[i] = o->sought[i].value;
	}
	return true;
}
