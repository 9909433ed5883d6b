/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads come in runs: the one of the last call is looked at first. There may be as many of them
 * as a server had requests: seconds are kept of few.
 */
#include "lib/account/toll.h"

#include "lib/account/analysis_state.h"

static struct toll_thread *thread_of(struct toll *t, uint32_t thread)
{
	struct toll_thread fresh = { .thread = thread, .newest = INT64_MIN };
	uint64_t at = t->threads.n - 1;

	if (t->threads.n && (t->threads.v[at].thread == thread || map_get(&t->at, thread, &at)))
		return &t->threads.v[at];
	map_get(&t->before, thread, &fresh.ns);
	if (!vec_push(&t->threads, fresh))
		return NULL;
	at = t->threads.n - 1;
	if (map_put(&t->at, thread, at))
		return &t->threads.v[at];
	t->threads.n--;
	return NULL;
}

static void worst_add(struct toll *t, const struct fact_moment *m)
{
	unsigned at = t->nworst;

	while (at > 0 && m->lost_ns > t->worst[at - 1].lost_ns)
		at--;
	if (at == TOLL_WORST)
		return;
	if (t->nworst < TOLL_WORST)
		t->nworst++;
	for (unsigned k = t->nworst - 1; k > at; k--)
		t->worst[k] = t->worst[k - 1];
	t->worst[at] = *m;
}

bool toll_add(const struct cause *c, struct toll *t, uint32_t thread, uint16_t op, int64_t start_ns,
	      int64_t end_ns, uint64_t lost_ns)
{
	return toll_add_moment(c, t,
			       &(struct fact_moment){ .end_ns = end_ns,
						      .dur_ns = (uint64_t)(end_ns - start_ns),
						      .lost_ns = lost_ns,
						      .thread = thread,
						      .op = op },
			       t->whole ? 0 : 1u << op_tier(op));
}

bool toll_add_moment(const struct cause *c, struct toll *t, const struct fact_moment *m,
		     unsigned tiers)
{
	struct toll_thread *th = thread_of(t, t->lanes ? 0 : m->thread);
	int64_t start_ns = m->end_ns - (int64_t)m->dur_ns, pane = m->end_ns / TALLY_PANE_NS;

	if (!th)
		return false;
	if (t->count == 0 || start_ns < t->first_ns)
		t->first_ns = start_ns;
	if (t->count == 0 || m->end_ns > t->last_ns)
		t->last_ns = m->end_ns;
	t->ns += m->lost_ns;
	t->count++;
	cause_found_add(&t->found, c, m->thread, tiers, m->end_ns, m->lost_ns);
	th->ns += m->lost_ns;
	t->worst_ns = th->ns > t->worst_ns ? th->ns : t->worst_ns;
	th->newest = pane > th->newest ? pane : th->newest;
	tally_pane_add(th->panes, pane, m->lost_ns, 1);
	worst_add(t, m);
	return true;
}

void toll_count(struct toll *t, const struct fact_moment *m)
{
	if (t->count == 0)
		t->first_ns = m->end_ns - (int64_t)m->dur_ns;
	t->last_ns = m->end_ns;
	t->nworst = t->count ? 2 : 1;
	t->worst[t->count++ > 0] = *m;
}

/* Of the last TALLY_PANES seconds up to and including `pane`: what was lost, how often, and most by
 * one thread. */
struct lately {
	uint64_t ns, count, worst_ns;
};

static struct lately sum_lately(const struct toll *t, int64_t pane)
{
	struct lately sum = { 0 };

	for (size_t i = 0; i < t->threads.n; i++) {
		uint64_t n, ns = tally_window(t->threads.v[i].panes, pane, &n);

		sum.ns += ns;
		sum.count += n;
		sum.worst_ns = ns > sum.worst_ns ? ns : sum.worst_ns;
	}
	return sum;
}

bool toll_settle(struct toll *t, int64_t pane)
{
	size_t left = 0;

	for (size_t i = 0; i < t->threads.n; i++) {
		const struct toll_thread *th = &t->threads.v[i];
		bool keep = th->newest > pane - TALLY_PANES;

		if (keep ? left != i && !map_put(&t->at, th->thread, left)
			 : !map_put(&t->before, th->thread, th->ns))
			return false;
		if (keep)
			t->threads.v[left++] = *th;
		else
			map_del(&t->at, th->thread);
	}
	t->threads.n = left;
	return true;
}

static double share_of(const struct toll *t, double ns, uint64_t wall)
{
	return wall ? ns / (double)wall / (t->lanes ? t->lanes : 1) : 0;
}

double toll_share(const struct cause *c, const struct toll *t)
{
	struct cause_estimate e = cause_found_estimate(&t->found, c, t->ns, t->count);

	return share_of(t, (double)t->worst_ns * e.ns_factor, cause_wall_ns(c));
}

bool toll_due(const struct cause *c, const struct toll *t, int64_t pane, double *share)
{
	struct lately sum = { t->ns, t->count, t->worst_ns };
	double factor = 1;
	uint64_t wall;

	if (c->ended) {
		struct cause_estimate e = cause_found_estimate(&t->found, c, t->ns, t->count);

		wall = cause_estimate_wall_ns(&e, c);
		factor = e.ns_factor;
	} else {
		wall = cause_found_window_ns(&t->found, c, pane);
		sum = sum_lately(t, pane);
	}
	*share = share_of(t, (double)sum.worst_ns * factor, wall);
	if (c->ended && t->told.revision)
		return true;
	return fact_material(c, (uint64_t)((double)sum.ns * factor), sum.count, wall) &&
	       (t->lanes || *share >= c->opt.min_share) && fact_due(c, &t->told, t->ns, *share);
}

static int by_time(const void *a, const void *b)
{
	const struct fact_moment *x = a, *y = b;

	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void toll_fill(const struct cause *c, const struct toll *t, struct fact *f)
{
	f->estimate = cause_found_estimate(&t->found, c, t->ns, t->count);
	if (f->estimate.least)
		f->share *= f->estimate.covered; /* of wall time, as toll_due had it of a part */
	f->first_ns = t->first_ns;
	f->last_ns = t->last_ns;
	f->lost_ns = t->ns;
	f->one_ns = t->worst_ns;
	f->count = t->count;
	f->nmoments = t->nworst;
	for (unsigned i = 0; i < t->nworst; i++)
		f->moments[i] = t->worst[i];
	if (f->nmoments > 1)
		qsort(f->moments, f->nmoments, sizeof(f->moments[0]), by_time);
}

void toll_free(struct toll *t)
{
	vec_free(&t->threads);
	map_free(&t->at);
	map_free(&t->before);
}
