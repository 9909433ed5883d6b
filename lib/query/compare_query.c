/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of two worlds are the same when they read the same.
 */
#include "lib/query/compare_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"

static bool is_same_row(const struct compare_row *a, const struct compare_row *b)
{
	return a->kind == b->kind && bytes_equal(a->key, b->key) && bytes_equal(a->name, b->name) &&
	       bytes_equal(a->node, b->node);
}

static uint64_t hash_row(const struct compare_row *r)
{
	return hash_bytes(r->key.p, r->key.n,
			  hash_bytes(r->name.p, r->name.n, r->kind + 8 * r->node.n));
}

static bool add_rows(struct compare *c, struct map *known, unsigned side,
		     const struct query_diff_source *source)
{
	const struct by_table *t = query_diff_ops(source)->by;
	const struct world *w = query_diff_world(source);

	for (size_t i = 0; i < t->rows.n; i++) {
		struct compare_row fresh = { .kind = t->rows.v[i].kind,
					     .key = world_text(w, t->rows.v[i].key),
					     .name = world_text(w, t->rows.v[i].name),
					     .node = world_text(w, t->rows.v[i].node) };
		uint64_t at, key = hash_row(&fresh);

		while (map_get(known, key, &at) && !is_same_row(&c->rows.v[at], &fresh))
			key++;
		if (!map_get(known, key, &at)) {
			at = c->rows.n;
			if (!vec_push(&c->rows, fresh) || !map_put(known, key, at))
				return false;
		}
		c->rows.v[at].side[side] = &t->rows.v[i];
	}
	return true;
}

static bool is_larger(double before, double after, double threshold, double least)
{
	return after > before * (1 + threshold) && after - before >= least;
}

static double per_s(const struct compare *c, const struct compare_row *r, unsigned side)
{
	return r->side[side] ? compare_per_s(c, side, r->side[side]->all.total_ns) : 0;
}

/* What is larger in side to than in side from. */
static unsigned find_grown(const struct compare *c, const struct compare_row *r, unsigned from,
			   unsigned to)
{
	const struct by_row *a = r->side[from], *b = r->side[to];
	uint64_t both = !a || !b ? 0 : a->timed < b->timed ? a->timed : b->timed;
	double t = c->threshold;
	double bad = a ? compare_per_s(c, from, a->all.errors) : 0,
	       worse = b ? compare_per_s(c, to, b->all.errors) : 0;
	unsigned what = 0;

	if (both >= COMPARE_LEAST_COUNT &&
	    is_larger((double)a->p50_ns, (double)b->p50_ns, t, COMPARE_LEAST_NS))
		what |= COMPARE_P50;
	if (both >= COMPARE_LEAST_TAIL &&
	    is_larger((double)a->p99_ns, (double)b->p99_ns, t, COMPARE_LEAST_NS))
		what |= COMPARE_P99;
	if (is_larger(per_s(c, r, from), per_s(c, r, to), t, COMPARE_LEAST_TOTAL))
		what |= COMPARE_TOTAL;
	if (is_larger(bad, worse, t, bad > 0 ? COMPARE_LEAST_ERRORS : 0))
		what |= COMPARE_ERRORS;
	return what;
}

struct changed {
	struct compare_row row;
	double by;
	size_t at;
};

static int by_change(const void *a, const void *b)
{
	const struct changed *x = a, *y = b;

	if (!x->row.worse != !y->row.worse)
		return x->row.worse ? -1 : 1;
	if (x->by != y->by)
		return x->by > y->by ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool sort_by_change(struct compare *c)
{
	struct changed *v = calloc(c->rows.n ? c->rows.n : 1, sizeof(*v));

	if (!v)
		return false;
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct compare_row *r = &c->rows.v[i];

		v[i] = (struct changed){ *r,
					 fabs(per_s(c, r, DIFF_AFTER) - per_s(c, r, DIFF_BEFORE)),
					 i };
	}
	qsort(v, c->rows.n, sizeof(*v), by_change);
	for (size_t i = 0; i < c->rows.n; i++)
		c->rows.v[i] = v[i].row;
	free(v);
	return true;
}

int query_compare(struct compare *c, struct query_diff_source *const sides[DIFF_SIDES],
		  const struct query_diff_options *want, double threshold, struct err *e)
{
	struct map known = { 0 };
	bool good = true, both = true;

	*c = (struct compare){ .key = want->key,
			       .threshold = threshold,
			       .calls_only = want->calls_only };
	for (unsigned i = 0; i < DIFF_SIDES && good; i++) {
		const struct ops_summary *s = query_diff_ops(sides[i]);

		c->name[i] = query_diff_name(sides[i]);
		c->wall_ns[i] = (uint64_t)(s->end_ns - s->start_ns);
		c->events[i] = s->events;
		c->lost_events[i] = s->lost;
		both &= c->wall_ns[i] > 0;
		good = add_rows(c, &known, i, sides[i]);
	}
	map_free(&known);
	/* Against nothing, nothing got slower. */
	for (size_t i = 0; i < c->rows.n && both; i++) {
		struct compare_row *r = &c->rows.v[i];

		if (r->kind != BY_KNOWN)
			continue;
		r->worse = find_grown(c, r, DIFF_BEFORE, DIFF_AFTER);
		r->better = find_grown(c, r, DIFF_AFTER, DIFF_BEFORE);
		c->worse += r->worse != 0;
	}
	return good && sort_by_change(c) ? 0 : err_nomem(e);
}

void query_compare_free(struct compare *c)
{
	vec_free(&c->rows);
}
