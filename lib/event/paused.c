/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of pauses of each tier and node, ordered by time, with running sums: a question is two binary searches.
 * A pause is met twice, when it begins and when it ends, and once more in each file of a split recording.
 */
#include "lib/event/paused.h"

static struct paused_list *list_of(const struct paused *p, uint32_t node, uint32_t tier)
{
	for (size_t i = 0; i < p->lists.n; i++)
		if (p->lists.v[i].node == node && p->lists.v[i].tier == tier)
			return &p->lists.v[i];
	return NULL;
}

/* Index of the first row that ends after that time. */
static size_t row_after(const struct paused_list *l, int64_t ns)
{
	size_t from = 0, to = l->v.n;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (l->v.v[middle].until_ns > ns)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

static uint64_t length(const struct paused_row *row)
{
	return (uint64_t)row->until_ns - (uint64_t)row->since_ns;
}

static void sum_from(struct paused_list *l, size_t at)
{
	for (size_t i = at ? at : 1; i < l->v.n; i++)
		l->v.v[i].before_ns = l->v.v[i - 1].before_ns + length(&l->v.v[i - 1]);
}

static bool insert_row(struct paused_list *l, size_t at, struct paused_row row)
{
	if (!vec_push(&l->v, row))
		return false;
	for (size_t i = l->v.n - 1; i > at; i--)
		l->v.v[i] = l->v.v[i - 1];
	row.before_ns = 0;
	l->v.v[at] = row;
	sum_from(l, at);
	return true;
}

/* Of a pause told twice the earlier end holds. One whose end is not known has ended when the next one begins. */
static bool add_row(struct paused_list *l, struct paused_row row)
{
	size_t at = row_after(l, row.since_ns);

	if (at < l->v.n && l->v.v[at].since_ns < row.since_ns) {
		l->v.v[at].until_ns = row.since_ns;
		at++;
	}
	if (at < l->v.n && l->v.v[at].since_ns > row.since_ns && l->v.v[at].since_ns < row.until_ns)
		row.until_ns = l->v.v[at].since_ns;
	if (at == l->v.n || l->v.v[at].since_ns != row.since_ns)
		return insert_row(l, at, row);
	if (row.until_ns < l->v.v[at].until_ns)
		l->v.v[at].until_ns = row.until_ns;
	sum_from(l, at);
	return true;
}

bool paused_record(struct paused *p, const struct record *r)
{
	const struct rec_PAUSED *c = &r->u.PAUSED;
	struct paused_row row = { .since_ns = c->since_ns, .until_ns = INT64_MAX };
	struct paused_list *l;

	if (r->kind != RECORD_PAUSED || c->tier >= TIERS)
		return true;
	if (REC_HAS(r, PAUSED, until_ns))
		row.until_ns = c->until_ns;
	if (row.until_ns <= row.since_ns)
		return true;
	l = list_of(p, c->node, c->tier);
	if (!l) {
		struct paused_list empty = { .node = c->node, .tier = c->tier };

		if (!vec_push(&p->lists, empty))
			return false;
		l = &p->lists.v[p->lists.n - 1];
	}
	return add_row(l, row);
}

void paused_free(struct paused *p)
{
	for (size_t i = 0; i < p->lists.n; i++)
		vec_free(&p->lists.v[i].v);
	vec_free(&p->lists);
}

/* Paused time before ns. */
static uint64_t sum_until(const struct paused_list *l, int64_t ns)
{
	size_t at = row_after(l, ns);

	if (at == l->v.n)
		return at ? l->v.v[at - 1].before_ns + length(&l->v.v[at - 1]) : 0;
	if (ns <= l->v.v[at].since_ns)
		return l->v.v[at].before_ns;
	return l->v.v[at].before_ns + ((uint64_t)ns - (uint64_t)l->v.v[at].since_ns);
}

uint64_t paused_ns(const struct paused *p, uint32_t node, enum op_tier tier, int64_t from_ns,
		   int64_t to_ns)
{
	const struct paused_list *l = list_of(p, node, tier);

	if (!l || to_ns <= from_ns)
		return 0;
	return sum_until(l, to_ns) - sum_until(l, from_ns);
}

double paused_scale(const struct paused *p, uint32_t node, enum op_tier tier, int64_t from_ns,
		    int64_t to_ns)
{
	uint64_t paused = paused_ns(p, node, tier, from_ns, to_ns), all;

	if (paused == 0 || to_ns <= from_ns)
		return 1;
	all = (uint64_t)to_ns - (uint64_t)from_ns;
	return paused >= all ? 0 : (double)all / (double)(all - paused);
}
