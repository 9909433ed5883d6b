/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There are few chains and ops on either side: they are found by walking the list.
 */
#include "lib/query/diff_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/query/group_by.h"
#include "lib/query/chains.h"
#include "lib/query/ops.h"
#include "lib/base/json.h"
#include "lib/input/input.h"
#include "lib/input/resolve.h"
#include "lib/filter/cut.h"

struct query_diff_source {
	const char *name;
	struct world *w;
	struct input *in;
	struct filter sel, all;	      /* the part asked for; everything of it */
	struct query_chains_run *run; /* NULL: only counted */
	struct query_ops_run *counting;
	struct query_by *by; /* NULL: only ops */
	const struct query_chains *chains;
	const struct ops_summary *ops;
};

static int read_items(struct query_diff_source *s, const struct query_diff_options *want,
		      struct err *e)
{
	struct event_stream *stream = input_stream(s->in);
	struct filter_cut cut = { 0 };
	struct stream_item item;
	bool left;
	int rc;

	while ((rc = stream->next(stream, &item, e)) > 0) {
		left = true;
		rc = s->run && s->sel.resolved
			     ? filter_cut_item(&cut, &s->sel, s->w, &item, &left, e)
			     : 0;
		if (rc >= 0 && left && s->run)
			rc = query_chains_item(s->run, &item, e);
		if (rc >= 0 && left)
			rc = query_ops_item(s->counting, &item, e);
		if (rc >= 0 && want->between)
			rc = want->between(want->ctx, s->in, e);
		if (rc < 0)
			break;
	}
	filter_cut_free(&cut);
	return rc;
}

int query_diff_read(struct query_diff_source **out, const char *name,
		    const struct filter_words *words, const struct query_diff_options *want,
		    struct err *e)
{
	struct query_diff_source *s = calloc(1, sizeof(*s));
	int rc;

	*out = NULL;
	if (!s)
		return err_nomem(e);
	s->name = name;
	s->w = world_new();
	s->run = s->w && want->causes ? query_chains_new(s->w, NULL) : NULL;
	s->sel.calls = s->run != NULL;
	s->counting = s->w ? query_ops_new(s->w, want->causes ? &s->all : &s->sel) : NULL;
	if (s->counting && !want->causes) {
		s->by = query_by_new(s->w, want->key, BY_TEXT | (want->calls_only ? BY_CALLS : 0));
		query_ops_set_group_by(s->counting, s->by);
	}
	rc = s->counting && (want->causes ? s->run != NULL : s->by != NULL)
		     ? filter_words(&s->sel, words, e)
		     : err_nomem(e);
	if (!rc)
		rc = input_open_within(&s->in, s->w, &name, 1, &s->sel, e);
	if (!rc)
		rc = read_items(s, want, e);
	if (!rc && s->run)
		rc = query_chains_end(s->run, &s->chains, e);
	if (!rc)
		rc = query_ops_end(s->counting, e);
	if (!rc) {
		s->ops = query_ops_answer(s->counting);
		rc = s->ops ? 0 : err_nomem(e);
	}
	if (rc)
		query_diff_source_free(s);
	else
		*out = s;
	return rc;
}

bool query_diff_damaged(const struct query_diff_source *s, struct buf *notes)
{
	return input_verdict(s->in, notes) != 0;
}

int query_diff_read_both(struct query_diff_source *sides[DIFF_SIDES], char *const *names,
			 const struct filter_words *words, const struct query_diff_options *want,
			 bool *damaged, struct buf *notes, struct err *e)
{
	int rc = 0;

	*damaged = false;
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		sides[i] = NULL;
	for (unsigned i = 0; i < DIFF_SIDES && !rc; i++) {
		rc = query_diff_read(&sides[i], names[i], words, want, e);
		if (!rc)
			*damaged |= query_diff_damaged(sides[i], notes);
	}
	return rc;
}

const struct chain_list *query_diff_chains(const struct query_diff_source *s)
{
	return &s->chains->list;
}

const struct ops_summary *query_diff_ops(const struct query_diff_source *s)
{
	return s->ops;
}

const struct world *query_diff_world(const struct query_diff_source *s)
{
	return s->w;
}

const char *query_diff_name(const struct query_diff_source *s)
{
	return s->name;
}

void query_diff_source_free(struct query_diff_source *s)
{
	if (!s)
		return;
	input_free(s->in);
	query_chains_free(s->run);
	query_ops_free(s->counting);
	query_by_free(s->by);
	filter_free(&s->sel);
	filter_free(&s->all);
	world_free(s->w);
	free(s);
}

static struct diff_cause *cause_of(struct diff *d, const struct finding *c)
{
	struct diff_cause fresh = { .match = c->match, .kind = c->kind };

	for (size_t i = 0; i < d->causes.n; i++) {
		if (bytes_equal(d->causes.v[i].match, c->match))
			return &d->causes.v[i];
	}
	return vec_push(&d->causes, fresh) ? &d->causes.v[d->causes.n - 1] : NULL;
}

/* Chains of several victims that are the same thing (ranks of a job) are one cause here. */
static bool add_causes(struct diff *d, unsigned at, const struct chain_list *list)
{
	for (size_t i = 0; i < list->v.n; i++) {
		const struct finding *c = &list->v.v[i];
		struct diff_cause *k = c->hidden ? NULL : cause_of(d, c);
		struct diff_cause_side *s;

		if (c->hidden)
			continue;
		if (!k)
			return false;
		s = &k->side[at];
		if (!s->known || c->lost_ns > s->lost_ns)
			s->summary = c->summary;
		s->known = true;
		s->severity = c->severity > s->severity ? c->severity : s->severity;
		s->lost_ns += c->lost_ns;
		s->count += c->count;
		s->lost_per_s = diff_per_s(d, at, s->lost_ns);
	}
	return true;
}

static struct diff_op *op_of(struct diff *d, const struct op_def *op)
{
	for (size_t i = 0; i < d->ops.n; i++) {
		if (d->ops.v[i].op->source == op->source &&
		    strcmp(d->ops.v[i].op->name, op->name) == 0)
			return &d->ops.v[i];
	}
	return vec_push(&d->ops, (struct diff_op){ .op = op }) ? &d->ops.v[d->ops.n - 1] : NULL;
}

static bool add_ops(struct diff *d, unsigned at, const struct ops_summary *s)
{
	uint64_t runtime = 0, driver = 0;

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct ops_row *r = &s->rows.v[i];
		struct diff_op *o;

		if (!(r->op->flags & OP_CALL))
			continue;
		o = op_of(d, r->op);
		if (!o)
			return false;
		o->count[at] = r->count;
		o->total_ns[at] = r->total_ns;
		o->p50_ns[at] = r->p50_ns;
		o->p99_ns[at] = r->p99_ns;
		o->errors[at] = r->errors;
		o->lost_ns[at] = r->lost_ns;
		o->all[at] = r->all;
		if (r->op->flags & OP_LAUNCH)
			*(r->op->source == SOURCE_CUDA ? &runtime : &driver) += r->all.count;
	}
	/* The runtime launches by the driver; libraries with a runtime of their own are seen there
	 * alone. */
	d->launches[at] = driver > runtime ? driver : runtime;
	return true;
}

static double lost_change(const struct diff_cause *c)
{
	return c->side[DIFF_AFTER].lost_per_s - c->side[DIFF_BEFORE].lost_per_s;
}

/* Facts without lost time change by being there or not. */
static void set_verdict(struct diff_cause *c)
{
	double before = c->side[DIFF_BEFORE].lost_per_s, by = lost_change(c);
	bool matters = fabs(by) >= DIFF_LEAST_NS && fabs(by) >= DIFF_CHANGE * before;

	c->worse =
		c->side[DIFF_AFTER].known && (!c->side[DIFF_BEFORE].known || (matters && by > 0));
	c->better =
		c->side[DIFF_BEFORE].known && (!c->side[DIFF_AFTER].known || (matters && by < 0));
}

static int compare_bytes(struct bytes a, struct bytes b)
{
	int rc = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return rc ? rc : (a.n > b.n) - (a.n < b.n);
}

static int by_change(const void *a, const void *b)
{
	const struct diff_cause *x = a, *y = b;
	double p = fabs(lost_change(x)), q = fabs(lost_change(y));

	if (p != q)
		return p > q ? -1 : 1;
	return x->worse != y->worse ? (x->worse ? -1 : 1) : compare_bytes(x->match, y->match);
}

/* Told which diff by its own totals: qsort knows no context. */
struct op_change {
	struct diff_op op;
	double by;
};

static int by_time(const void *a, const void *b)
{
	const struct op_change *x = a, *y = b;

	if (x->by != y->by)
		return x->by > y->by ? -1 : 1;
	return strcmp(x->op.op->name, y->op.op->name);
}

static bool sort_ops(struct diff *d)
{
	struct op_change *v = calloc(d->ops.n ? d->ops.n : 1, sizeof(*v));

	if (!v)
		return false;
	for (size_t i = 0; i < d->ops.n; i++) {
		const struct diff_op *o = &d->ops.v[i];

		v[i] = (struct op_change){
			*o, fabs(diff_per_s(d, DIFF_AFTER, o->all[DIFF_AFTER].total_ns) -
				 diff_per_s(d, DIFF_BEFORE, o->all[DIFF_BEFORE].total_ns))
		};
	}
	qsort(v, d->ops.n, sizeof(*v), by_time);
	for (size_t i = 0; i < d->ops.n; i++)
		d->ops.v[i] = v[i].op;
	free(v);
	return true;
}

int query_diff(struct diff *d, struct query_diff_source *const sides[DIFF_SIDES], struct err *e)
{
	memset(d, 0, sizeof(*d));
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		const struct query_chains *a = sides[i]->chains;
		struct json host = json_get(a->list.analysis, "host_recorded");

		d->name[i] = sides[i]->name;
		d->wall_ns[i] = a->has_start && a->end_ns > a->start_ns
					? (uint64_t)(a->end_ns - a->start_ns)
					: 0;
		d->events[i] = a->events;
		d->lost_events[i] = a->lost;
		d->host_recorded[i] = json_is_true(host);
		json_free(host);
		if (!add_causes(d, i, &a->list) || !add_ops(d, i, sides[i]->ops))
			return err_nomem(e);
	}
	for (size_t i = 0; i < d->causes.n; i++)
		set_verdict(&d->causes.v[i]);
	if (d->causes.n)
		qsort(d->causes.v, d->causes.n, sizeof(*d->causes.v), by_change);
	return sort_ops(d) ? 0 : err_nomem(e);
}

void query_diff_free(struct diff *d)
{
	vec_free(&d->causes);
	vec_free(&d->ops);
}
