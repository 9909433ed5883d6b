/* SPDX-License-Identifier: Apache-2.0 */
/* Collects rows and chains of many nodes, one after another. A node whose columns differ from those
 * of the first one is left out. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/jsonw.h"
#include "lib/fleet/fleet_internal.h"

#define COLUMNS_MAX 2000
#define CHAINS_MAX  100000 /* of all nodes */

static bool is_named(struct json column, const char *name)
{
	struct bytes b = json_bytes(column);

	return b.n == strlen(name) && !strncasecmp(b.p, name, b.n);
}

/* Whether v is a list of names; own: one of them is "node". */
static bool good_columns(struct json v, bool *own)
{
	size_t n = json_length(v);
	bool good = json_type(v) == JSON_TYPE_ARRAY && n <= COLUMNS_MAX;

	*own = false;
	for (size_t i = 0; good && i < n; i++) {
		struct json c = json_at(v, i);

		good = json_type(c) == JSON_TYPE_STRING;
		*own |= is_named(c, "node");
		json_free(c);
	}
	return good;
}

static bool same_text(struct json a, struct json b)
{
	struct buf x = { 0 }, y = { 0 };
	bool same;

	json_dump(&x, a, 0);
	json_dump(&y, b, 0);
	same = !x.failed && !y.failed && bytes_equal(buf_bytes(&x), buf_bytes(&y));
	buf_free(&x);
	buf_free(&y);
	return same;
}

/* Puts the node's name before a row; node NULL: it has one already. JSON_NONE: it is no row. */
static struct json add_node_name(struct json row, size_t columns, const char *node)
{
	struct json out;

	if (json_type(row) != JSON_TYPE_ARRAY || json_length(row) != columns) {
		json_free(row);
		return JSON_NONE;
	}
	if (!node)
		return row;
	out = json_array();
	json_append(&out, json_text(node));
	for (size_t i = 0; i < columns; i++)
		json_append(&out, json_at(row, i));
	json_free(row);
	return out;
}

static int append_rows(struct json *to, struct json rows, size_t n, size_t columns,
		       const char *node, struct err *e)
{
	bool good = json_type(rows) == JSON_TYPE_ARRAY || json_type(rows) == JSON_TYPE_NULL;
	struct json mine = json_array();

	for (size_t i = 0; good && i < n; i++) {
		struct json row = add_node_name(json_at(rows, i), columns, node);

		good = json_type(row) == JSON_TYPE_ARRAY;
		if (good)
			json_append(&mine, row);
	}
	for (size_t i = 0; good && i < n; i++)
		json_append(to, json_at(mine, i));
	json_free(mine);
	return good ? 0 : err_set(e, ERR_DAMAGED, "its rows are no rows of its columns");
}

/* Adds at most limit rows of node i; 0: no limit. */
static int add_answer(struct fleet *f, size_t i, uint64_t limit, struct fleet_rows *out,
		      struct json *first, struct err *e)
{
	struct json answer = f->states[i].answer, columns = json_get(answer, "columns"),
		    rows = json_get(answer, "rows"), more = json_get(answer, "truncated");
	size_t n = json_length(rows), taken = limit && n > limit ? (size_t)limit : n;
	bool own;
	int rc;

	if (!good_columns(columns, &own)) {
		rc = err_set(e, ERR_DAMAGED, "its answer has no columns");
	} else if (json_type(*first) != JSON_TYPE_NONE && !same_text(*first, columns)) {
		rc = err_set(e, ERR_DAMAGED, "its columns are other ones");
	} else {
		rc = append_rows(&out->rows, rows, taken, json_length(columns),
				 own ? NULL : f->nodes[i].name, e);
		if (!rc && json_type(*first) == JSON_TYPE_NONE) {
			*first = columns;
			columns = JSON_NONE;
			if (!own)
				json_append(&out->columns, json_text("node"));
			for (size_t k = 0; k < json_length(*first); k++)
				json_append(&out->columns, json_at(*first, k));
		}
		out->truncated |= !rc && (json_is_true(more) || taken < n);
	}
	json_free(columns);
	json_free(rows);
	json_free(more);
	return rc;
}

int fleet_query_sql(struct fleet *f, const char *sql, uint64_t limit, struct fleet_rows *out,
		    struct err *e)
{
	struct fleet_request q = { .path = "/api/v1/query" };
	struct json first = JSON_NONE;
	struct buf body = { 0 };
	struct jsonw j;
	int rc;

	*out = (struct fleet_rows){ .columns = json_array(), .rows = json_array() };
	buf_reset(&f->warnings);
	jsonw_init(&j, &body, false);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "sql", sql);
	jsonw_key_u64(&j, "limit",
		      limit); /* 0: as many as it gives; said, or it is what it gives unasked */
	jsonw_object_end(&j);
	q.body = buf_bytes(&body);
	rc = body.failed ? err_nomem(e) : fleet_query_nodes(f, &q, &out->nodes, e);
	for (size_t i = 0; !rc && i < f->n; i++) {
		struct err bad = { 0 };

		if (f->nodes[i].answered && add_answer(f, i, limit, out, &first, &bad))
			fleet_exclude_node(f, i, &out->nodes, &bad);
		/* Its rows are kept by reference: the rest of its answer goes. */
		json_free(f->states[i].answer);
		f->states[i].answer = JSON_NONE;
	}
	json_free(first);
	buf_free(&body);
	if (!rc && !out->nodes)
		rc = err_set(e, ERR_CANNOT, "no node answered as it should");
	if (rc)
		fleet_rows_free(out);
	return rc;
}

void fleet_rows_free(struct fleet_rows *r)
{
	json_free(r->columns);
	json_free(r->rows);
	*r = (struct fleet_rows){ 0 };
}

/* ---- chains ---- */

struct ranked {
	struct json chain;
	int severity;
	double lost_ns;
	size_t at;
};

static int severity_rank(const char *severity)
{
	static const char *const names[] = { "LOW", "MEDIUM", "HIGH", "CRITICAL" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcasecmp(severity, names[i]))
			return (int)i + 1;
	return 0;
}

static int most_severe(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->severity != y->severity)
		return y->severity - x->severity;
	if (x->lost_ns != y->lost_ns)
		return x->lost_ns < y->lost_ns ? 1 : -1;
	return x->at < y->at ? -1 : x->at > y->at;
}

struct ranking {
	VEC(struct ranked) v;
};

static int rank_all(struct ranking *r, struct json list, const char *node, struct err *e)
{
	size_t n = json_length(list);
	int rc = json_type(list) == JSON_TYPE_ARRAY || json_type(list) == JSON_TYPE_NULL
			 ? 0
			 : err_set(e, ERR_DAMAGED, "its answer has no list of chains");

	if (!rc && r->v.n + n > CHAINS_MAX)
		rc = err_set(e, ERR_DAMAGED, "more than %d chains in all", CHAINS_MAX);
	for (size_t i = 0; !rc && i < n; i++) {
		struct ranked x = { .chain = json_at(list, i), .at = r->v.n };
		char *severity = fleet_get_text(x.chain, "severity");

		if (json_type(x.chain) != JSON_TYPE_OBJECT)
			rc = err_set(e, ERR_DAMAGED, "a chain is no object");
		else if (!severity || !vec_push(&r->v, x))
			rc = err_nomem(e);
		if (rc) {
			json_free(x.chain);
		} else {
			struct ranked *y = &r->v.v[r->v.n - 1];
			struct json own = json_get(y->chain, "node");

			/* What the machine calls itself. */
			if (json_type(own) == JSON_TYPE_STRING && json_bytes(own).n)
				json_set(&y->chain, "node_name", own);
			else
				json_free(own);
			y->severity = severity_rank(severity);
			y->lost_ns = fleet_get_number(y->chain, "lost_ns");
			json_set(&y->chain, "node", json_text(node));
		}
		free(severity);
	}
	return rc;
}

int fleet_query_chains(struct fleet *f, const char *since, struct json *chains, struct err *e)
{
	struct fleet_request q = { 0 };
	struct ranking r = { 0 };
	struct buf path = { 0 };
	size_t nodes = 0;
	int rc;

	*chains = JSON_NONE;
	buf_reset(&f->warnings);
	buf_puts(&path, "/api/v1/chains");
	fleet_append_since(&path, since);
	q.path = buf_text(&path);
	rc = path.failed ? err_nomem(e) : fleet_query_nodes(f, &q, &nodes, e);
	for (size_t i = 0; !rc && i < f->n; i++) {
		struct json list = json_get(f->states[i].answer, "chains");
		struct err bad = { 0 };
		size_t before = r.v.n;

		if (f->nodes[i].answered &&
		    (fleet_learn_name(&f->nodes[i], f->states[i].answer, &bad) ||
		     rank_all(&r, list, f->nodes[i].name, &bad))) {
			while (r.v.n > before)
				json_free(r.v.v[--r.v.n].chain);
			fleet_exclude_node(f, i, &nodes, &bad);
		}
		json_free(list);
	}
	fleet_free_answers(f);
	buf_free(&path);
	if (!rc && !nodes)
		rc = err_set(e, ERR_CANNOT, "no node answered as it should");
	if (r.v.n)
		qsort(r.v.v, r.v.n, sizeof(r.v.v[0]), most_severe);
	if (!rc)
		*chains = json_array();
	for (size_t i = 0; i < r.v.n; i++) {
		if (rc)
			json_free(r.v.v[i].chain);
		else
			json_append(chains, r.v.v[i].chain);
	}
	vec_free(&r.v);
	return rc;
}

int fleet_query_overview(struct fleet *f, const char *since, struct json *nodes, struct err *e)
{
	struct fleet_request q = { 0 };
	struct buf path = { 0 };
	size_t answered;
	int rc;

	*nodes = JSON_NONE;
	buf_reset(&f->warnings);
	buf_puts(&path, "/api/v1/overview");
	fleet_append_since(&path, since);
	q.path = buf_text(&path);
	rc = path.failed ? err_nomem(e) : fleet_query_nodes(f, &q, &answered, e);
	buf_free(&path);
	if (!rc)
		*nodes = json_array();
	for (size_t i = 0; !rc && i < f->n; i++) {
		struct json v = f->states[i].answer;

		if (!f->nodes[i].answered)
			continue;
		f->states[i].answer = JSON_NONE;
		json_set(&v, "node", json_text(f->nodes[i].name));
		json_append(nodes, v);
	}
	fleet_free_answers(f);
	return rc;
}
