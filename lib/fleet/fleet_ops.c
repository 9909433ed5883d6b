/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of many nodes as rows of all. The sketches of nodes are merged and their quantiles are
 * those of all calls; of a node that only has quantiles of its own the largest stand for the whole,
 * which can be too much and never too little.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/fleet_internal.h"
#include "lib/store/sketch_json.h"

#define OPS_MAX	 4096 /* of one node, and of all */
#define MICRO_NS 1e3

/* What one node says of one operation. */
struct said {
	char *operation, *source;
	uint64_t count, errors;
	double total_ns, p50_ns, p95_ns, p99_ns, max_ns;
	struct sketch sketch;
	bool sketched;
};

static void said_free(struct said *s)
{
	free(s->operation);
	free(s->source);
	sketch_free(&s->sketch);
}

static int read_one(struct said *s, struct json v, struct err *e)
{
	struct json sketch = json_get(v, "sketch");
	int rc = 0;

	*s = (struct said){ .operation = fleet_get_text(v, "operation"),
			    .source = fleet_get_text(v, "source"),
			    .count = (uint64_t)fleet_get_number(v, "count"),
			    .errors = (uint64_t)fleet_get_number(v, "errors"),
			    .total_ns = fleet_get_number(v, "total_ns"),
			    .p50_ns = fleet_get_number(v, "p50_us") * MICRO_NS,
			    .p95_ns = fleet_get_number(v, "p95_us") * MICRO_NS,
			    .p99_ns = fleet_get_number(v, "p99_us") * MICRO_NS,
			    .max_ns = fleet_get_number(v, "max_us") * MICRO_NS };
	if (s->total_ns <= 0)
		s->total_ns = fleet_get_number(v, "avg_us") * MICRO_NS * (double)s->count;
	if (s->max_ns <= 0)
		s->max_ns = s->p99_ns;
	/* The older agent writes sources as it likes. */
	for (char *c = s->source; c && *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
	if (!s->operation || !s->source)
		rc = err_nomem(e);
	else if (!s->operation[0])
		rc = err_set(e, ERR_DAMAGED, "an operation without a name");
	if (!rc && json_type(sketch) == JSON_TYPE_OBJECT) {
		rc = sketch_json_read(&s->sketch, sketch, e);
		if (!rc && s->sketch.count != s->count)
			rc = err_set(e, ERR_DAMAGED,
				     "%s: its sketch counts other calls than it does",
				     s->operation);
		s->sketched = !rc && s->count;
	}
	json_free(sketch);
	return rc;
}

static struct fleet_op *find_op(const struct fleet_ops *o, const struct said *s)
{
	for (size_t i = 0; i < o->v.n; i++)
		if (!strcmp(o->v.v[i].operation, s->operation) &&
		    !strcmp(o->v.v[i].source, s->source))
			return &o->v.v[i];
	return NULL;
}

static struct fleet_op *row_of(struct fleet_ops *o, struct said *s, struct err *e)
{
	struct fleet_op row = { .operation = s->operation, .source = s->source },
			*known = find_op(o, s);

	if (known)
		return known;
	if (!vec_push(&o->v, row)) {
		err_nomem(e);
		return NULL;
	}
	s->operation = s->source = NULL;
	return &o->v.v[o->v.n - 1];
}

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

static int merge_one(struct fleet_ops *o, struct said *s, struct err *e)
{
	struct fleet_op *row = row_of(o, s, e);

	if (!row)
		return e->code;
	row->count += s->count;
	row->errors += s->errors;
	row->total_ns += s->total_ns;
	row->max_ns = max_of(row->max_ns, s->max_ns);
	row->nodes++;
	if (s->sketched)
		return sketch_merge(&row->sketch, &s->sketch) ? 0 : err_nomem(e);
	row->approximate |= s->count > 0;
	row->p50_ns = max_of(row->p50_ns, s->p50_ns);
	row->p95_ns = max_of(row->p95_ns, s->p95_ns);
	row->p99_ns = max_of(row->p99_ns, s->p99_ns);
	return 0;
}

/* Adds all operations of a node or none: its answer is checked before any of it counts. */
static int add_answer(void *ctx, size_t node, struct json answer, struct err *e)
{
	struct fleet_ops *o = ctx;
	struct json list = json_get(answer, "ops");
	size_t n = json_length(list), read = 0, fresh = 0;
	struct said *all = NULL;
	int rc = 0;

	if (json_type(list) != JSON_TYPE_ARRAY && json_type(list) != JSON_TYPE_NULL)
		rc = err_set(e, ERR_DAMAGED, "its answer has no list of operations");
	else if (n > OPS_MAX)
		rc = err_set(e, ERR_DAMAGED, "more than %d operations", OPS_MAX);
	else if (!(all = calloc(n + 1, sizeof(*all))))
		rc = err_nomem(e);
	for (; !rc && read < n; read++) {
		struct json v = json_at(list, read);

		rc = read_one(&all[read], v, e);
		json_free(v);
	}
	for (size_t i = 0; !rc && i < n; i++)
		fresh += !find_op(o, &all[i]);
	if (!rc && o->v.n + fresh > OPS_MAX)
		rc = err_set(e, ERR_DAMAGED, "more than %d operations in all", OPS_MAX);
	for (size_t i = 0; !rc && i < n; i++)
		rc = merge_one(o, &all[i], e);
	for (size_t i = 0; i < read; i++)
		said_free(&all[i]);
	free(all);
	json_free(list);
	return rc;
}

static int most_time(const void *a, const void *b)
{
	const struct fleet_op *x = a, *y = b;
	int by = strcmp(x->operation, y->operation);

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return by ? by : strcmp(x->source, y->source);
}

/* Sets the quantiles of all calls that have sketches; those of other nodes are lower bounds. */
static void set_quantiles(struct fleet_op *row)
{
	if (!row->sketch.count)
		return;
	row->p50_ns = max_of(row->p50_ns, (double)sketch_quantile(&row->sketch, 0.5));
	row->p95_ns = max_of(row->p95_ns, (double)sketch_quantile(&row->sketch, 0.95));
	row->p99_ns = max_of(row->p99_ns, (double)sketch_quantile(&row->sketch, 0.99));
	row->max_ns = max_of(row->max_ns, (double)row->sketch.max);
}

int fleet_query_ops(struct fleet *f, const char *since, struct fleet_ops *out, struct err *e)
{
	struct fleet_request q = { .on_node_answer = add_answer, .ctx = out };
	struct buf path = { 0 };
	int rc;

	*out = (struct fleet_ops){ 0 };
	buf_reset(&f->warnings);
	buf_puts(&path, "/api/v1/ops?sketch=1");
	fleet_append_since(&path, since);
	q.path = buf_text(&path);
	rc = path.failed ? err_nomem(e) : fleet_query_nodes(f, &q, &out->nodes, e);
	fleet_free_answers(f);
	buf_free(&path);
	for (size_t i = 0; i < out->v.n; i++)
		set_quantiles(&out->v.v[i]);
	if (out->v.n)
		qsort(out->v.v, out->v.n, sizeof(out->v.v[0]), most_time);
	if (rc)
		fleet_ops_free(out);
	return rc;
}

void fleet_ops_free(struct fleet_ops *o)
{
	for (size_t i = 0; i < o->v.n; i++) {
		free(o->v.v[i].operation);
		free(o->v.v[i].source);
		sketch_free(&o->v.v[i].sketch);
	}
	vec_free(&o->v);
}
