/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a detector's findings, found by key. A process and the row's `of` are 32 bits each, so
 * that a key is the row itself, not a hash of it.
 */
#include "lib/account/tolls.h"

#include <stdlib.h>

void *tolls_row_keyed(struct tolls *t, uint32_t process, uint64_t key, bool *nomem)
{
	struct toll_row *r;
	uint64_t at;

	if (nomem)
		*nomem = false;
	if (map_get(&t->by, key, &at))
		return t->v.v[at];
	if (t->def->most && t->v.n - t->unused.n >= t->def->most)
		return NULL;
	r = calloc(1, t->def->row);
	at = t->unused.n ? t->unused.v[t->unused.n - 1] : t->v.n;
	if (!r || !vec_reserve(&t->v, 1) || !map_put(&t->by, key, at)) {
		free(r);
		if (nomem)
			*nomem = true;
		return NULL;
	}
	if (t->unused.n)
		t->unused.n--;
	else
		t->v.n++;
	t->v.v[at] = r;
	r->process = process;
	r->of = (uint32_t)key;
	r->key = key;
	r->at = (uint32_t)at;
	r->toll.lanes = t->def->one_lane;
	return r;
}

bool tolls_add(const struct cause *c, struct tolls *t, struct toll_row *r, uint32_t thread,
	       const struct event *ev, uint64_t lost_ns)
{
	return where_add(&t->where, r->at, ev->op, ev->stack, lost_ns, ev->dur_ns) &&
	       toll_add(c, &r->toll, thread, ev->op, event_start(ev), ev->end_ns, lost_ns);
}

static int report_row(struct tolls *t, struct cause *c, struct toll_row *r, double share,
		      struct err *e)
{
	const struct tolls_def *def = t->def;
	struct fact f = {
		.kind = def->kind, .process = r->process, .share = share, .counted = def->counted
	};

	if (share > r->toll.told.worst_share)
		r->toll.told.worst_share = share;
	toll_fill(c, &r->toll, &f);
	for (unsigned i = 0; i < f.nmoments && def->moment; i++)
		f.moments[i].text = def->moment;
	f.nsites = where_top(&t->where, r->at, f.sites, FACT_SITES);
	f.op = f.nsites ? f.sites[0].op : 0;
	if (def->blamed)
		fact_blame_site(c, &f, def->blamed);
	def->tell(t->state, c, r, &f);
	return fact_tell(c, &f, &r->toll.told, e);
}

static bool is_due(const struct tolls_def *def, const struct cause *c, const struct toll_row *r,
		   int64_t pane, double *share)
{
	if (def->due)
		return def->due(c, r, pane, share);
	return toll_due(c, &r->toll, pane, share) &&
	       (*share >= def->min_share || (c->ended && r->toll.told.revision));
}

bool tolls_due_count(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	*share = 0;
	return fact_due_count(c, &r->toll.told, r->toll.count);
}

int tolls_settle(struct tolls *t, struct cause *c, int64_t pane, struct err *e)
{
	double share = 0;
	int rc = 0;

	for (size_t i = 0; i < t->v.n && rc == 0; i++) {
		struct toll_row *r = t->v.v[i];

		if (!r)
			continue;
		if (pane != INT64_MAX && !toll_settle(&r->toll, pane))
			return err_nomem(e);
		if (is_due(t->def, c, r, pane, &share))
			rc = report_row(t, c, r, share, e);
	}
	return rc;
}

static void row_free(struct toll_row *r)
{
	if (!r)
		return;
	toll_free(&r->toll);
	free(r);
}

/* Keeps rows that were reported: they are reported again at the end. */
bool tolls_forget(struct tolls *t, uint32_t process)
{
	for (uint32_t i = 0; i < t->v.n && !t->def->stays; i++) {
		struct toll_row *r = t->v.v[i];

		if (!r || r->process != process || r->toll.told.revision)
			continue;
		map_del(&t->by, r->key);
		if (!where_forget(&t->where, i) || !vec_push(&t->unused, i))
			return false;
		row_free(r);
		t->v.v[i] = NULL;
	}
	return true;
}

void tolls_free(struct tolls *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		row_free(t->v.v[i]);
	vec_free(&t->v);
	vec_free(&t->unused);
	map_free(&t->by);
	where_free(&t->where);
}
