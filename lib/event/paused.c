/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of pauses of each tier and node, ordered by time, with running sums: a question is two
 * binary searches. A pause is met twice, when it begins and when it ends, and once more in each
 * file of a split recording.
 */
#include "lib/event/paused.h"

#include <string.h>

#include "lib/base/bisect.h"
#include "lib/base/fmt.h"

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

	bisect(i, from, to, l->v.v[i].until_ns <= ns);
	return from;
}

static uint64_t get_length(const struct paused_row *row)
{
	return (uint64_t)row->until_ns - (uint64_t)row->since_ns;
}

static void sum_from(struct paused_list *l, size_t at)
{
	for (size_t i = at ? at : 1; i < l->v.n; i++)
		l->v.v[i].before_ns = l->v.v[i - 1].before_ns + get_length(&l->v.v[i - 1]);
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

/* Of a pause told twice the earlier end holds. One whose end is not known has ended when the next
 * one begins. */
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
	if (c->reason.n) {
		size_t n = c->reason.n < sizeof(l->reason) ? c->reason.n : sizeof(l->reason) - 1;

		memcpy(l->reason, c->reason.p, n);
		l->reason[n] = '\0';
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
		return at ? l->v.v[at - 1].before_ns + get_length(&l->v.v[at - 1]) : 0;
	if (ns <= l->v.v[at].since_ns)
		return l->v.v[at].before_ns;
	return l->v.v[at].before_ns + ((uint64_t)ns - (uint64_t)l->v.v[at].since_ns);
}

/* Of one list. */
static uint64_t list_ns(const struct paused_list *l, int64_t from_ns, int64_t to_ns)
{
	return to_ns > from_ns ? sum_until(l, to_ns) - sum_until(l, from_ns) : 0;
}

/* A list without a node belongs to the only node; node 0, not known, matches any. */
static bool list_holds(const struct paused_list *l, uint32_t node)
{
	return l->node == node || !l->node || !node;
}

uint64_t paused_ns(const struct paused *p, uint32_t node, enum op_tier tier, int64_t from_ns,
		   int64_t to_ns)
{
	uint64_t most = 0;

	for (size_t i = 0; i < p->lists.n; i++) {
		const struct paused_list *l = &p->lists.v[i];
		uint64_t ns =
			l->tier == tier && list_holds(l, node) ? list_ns(l, from_ns, to_ns) : 0;

		most = ns > most ? ns : most;
	}
	return most;
}

/* Tiers are detached one after the other within a millisecond, and a recording ends a millisecond
 * after its last pause did: what was recorded then says nothing. */
#define NOTHING_SHARE 100

double paused_scale(const struct paused *p, uint32_t node, enum op_tier tier, int64_t from_ns,
		    int64_t to_ns)
{
	uint64_t paused = paused_ns(p, node, tier, from_ns, to_ns), all;

	if (paused == 0 || to_ns <= from_ns)
		return 1;
	all = (uint64_t)to_ns - (uint64_t)from_ns;
	return paused >= all - all / NOTHING_SHARE ? 0 : (double)all / (double)(all - paused);
}

unsigned paused_tiers(const struct paused *p, uint32_t node, int64_t from_ns, int64_t to_ns)
{
	unsigned tiers = 0;

	for (size_t i = 0; i < p->lists.n; i++) {
		const struct paused_list *l = &p->lists.v[i];
		size_t at = list_holds(l, node) ? row_after(l, from_ns) : l->v.n;

		if (at < l->v.n && l->v.v[at].since_ns < to_ns)
			tiers |= 1u << l->tier;
	}
	return tiers;
}

int64_t paused_first(const struct paused *p, uint32_t node, unsigned tiers)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < p->lists.n; i++) {
		const struct paused_list *l = &p->lists.v[i];

		if ((tiers >> l->tier & 1) && list_holds(l, node) && l->v.n &&
		    l->v.v[0].since_ns < first)
			first = l->v.v[0].since_ns;
	}
	return first;
}

uint64_t paused_any_ns(const struct paused *p, uint32_t node, unsigned tiers, int64_t from_ns,
		       int64_t to_ns)
{
	uint64_t sum = 0;
	int64_t at = from_ns;

	/* From the earliest time that is not looked at to the end of the pauses that hold it, and
	 * on to the next that begins. */
	while (at < to_ns) {
		int64_t until = at, next = to_ns;

		for (size_t i = 0; i < p->lists.n; i++) {
			const struct paused_list *l = &p->lists.v[i];
			size_t k;

			if (!(tiers >> l->tier & 1) || !list_holds(l, node))
				continue;
			k = row_after(l, at);
			if (k == l->v.n)
				continue;
			if (l->v.v[k].since_ns > at)
				next = l->v.v[k].since_ns < next ? l->v.v[k].since_ns : next;
			else if (l->v.v[k].until_ns > until)
				until = l->v.v[k].until_ns;
		}
		until = until < to_ns ? until : to_ns;
		sum += (uint64_t)until - (uint64_t)at;
		at = until > at ? until : next;
	}
	return sum;
}

const char *estimate_mark(const struct estimate *e)
{
	return e->least ? ">=" : e->is ? "~" : "";
}

void paused_text(struct buf *out, unsigned tier, double covered, double in_steps, bool least,
		 const char *reason)
{
	buf_printf(out, "%s were recorded %s of the time", op_tier_text(tier),
		   fmt_percent(covered).s);
	if (in_steps >= 0)
		buf_printf(out, ", %s of that of the steps", fmt_percent(in_steps).s);
	if (!strcmp(reason, "budget")) {
		buf_puts(out, " (to stay within the budget)");
	} else if (*reason) {
		buf_puts(out, " (");
		fmt_safe(out, bytes_of(reason));
		buf_putc(out, ')');
	}
	if (covered > 0 && least)
		buf_puts(out, ", and not since: there were at least as many as shown (>=)");
	else if (covered > 0)
		buf_puts(out, ": their counts and totals are estimates (~)");
	else
		buf_puts(out, ": how many there were is not known");
}
