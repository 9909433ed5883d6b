/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a toll are few and come in runs: the one of the last call is looked at first.
 */
#include "lib/cause/toll.h"

static struct toll_thread *thread_of(struct toll *t, uint32_t thread)
{
	for (size_t i = t->threads.n; i > 0; i--) {
		if (t->threads.v[i - 1].thread == thread)
			return &t->threads.v[i - 1];
	}
	if (!vec_push(&t->threads, (struct toll_thread){ .thread = thread }))
		return NULL;
	return &t->threads.v[t->threads.n - 1];
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

bool toll_add(struct toll *t, uint32_t thread, uint16_t op, int64_t start_ns, int64_t end_ns,
	      uint64_t lost_ns)
{
	struct fact_moment m = { .end_ns = end_ns,
				 .dur_ns = (uint64_t)(end_ns - start_ns),
				 .lost_ns = lost_ns,
				 .thread = thread,
				 .op = op };
	struct toll_thread *th = thread_of(t, thread);

	if (!th)
		return false;
	if (t->count == 0 || start_ns < t->first_ns)
		t->first_ns = start_ns;
	if (t->count == 0 || end_ns > t->last_ns)
		t->last_ns = end_ns;
	t->ns += lost_ns;
	t->count++;
	th->ns += lost_ns;
	tally_pane_add(th->panes, end_ns / TALLY_PANE_NS, lost_ns, 1);
	worst_add(t, &m);
	return true;
}

bool toll_due(const struct cause *c, const struct toll *t, int64_t pane, double *share)
{
	uint64_t wall = cause_wall_ns(c), ns = t->ns, count = t->count, worst = 0, n, in;

	if (c->ended) {
		for (size_t i = 0; i < t->threads.n; i++)
			worst = t->threads.v[i].ns > worst ? t->threads.v[i].ns : worst;
	} else {
		wall = (uint64_t)TALLY_PANES * TALLY_PANE_NS;
		ns = count = 0;
		for (size_t i = 0; i < t->threads.n; i++) {
			in = tally_window(t->threads.v[i].panes, pane, &n);
			ns += in;
			count += n;
			worst = in > worst ? in : worst;
		}
	}
	*share = wall ? (double)worst / (double)wall : 0;
	if (c->ended && t->told.revision)
		return true;
	return fact_material(c, ns, count, wall) && *share >= c->opt.min_share &&
	       fact_due(c, &t->told, t->ns, *share);
}

static int by_time(const void *a, const void *b)
{
	const struct fact_moment *x = a, *y = b;

	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void toll_fill(const struct toll *t, struct fact *f)
{
	f->first_ns = t->first_ns;
	f->last_ns = t->last_ns;
	f->lost_ns = t->ns;
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
}
