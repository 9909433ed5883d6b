/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a fleet answered: one line a chain with its node, then the root cause and what to do;
 * the node itself can show more. */
#include "lib/fleet/fleet_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/fleet/fleet_internal.h"

#define EXACT 9007199254740992.0 /* 2^53: up to it a double has every whole number */

static void add_quantile(struct table *t, const struct fleet_op *o, double ns)
{
	table_cell(t, "%s%s", o->approximate ? "<= " : "", fmt_ns((uint64_t)ns).s);
}

void fleet_ops_text(struct buf *out, const struct fleet_ops *o, bool color, unsigned columns)
{
	static const char *const headers[] = { "OPERATION", "SOURCE", ">COUNT", ">P50",
					       ">P95",	    ">P99",   ">MAX",	">TOTAL",
					       ">ERRORS",   ">NODES", NULL };
	struct table *t = table_new(headers);

	for (size_t i = 0; t && i < o->v.n; i++) {
		const struct fleet_op *r = &o->v.v[i];

		table_cell_styled(t, FMT_BOLD, "%s", r->operation);
		table_cell(t, "%s", r->source);
		table_cell(t, "%s", fmt_count(r->count).s);
		add_quantile(t, r, r->p50_ns);
		add_quantile(t, r, r->p95_ns);
		add_quantile(t, r, r->p99_ns);
		table_cell(t, "%s", fmt_ns((uint64_t)r->max_ns).s);
		table_cell(t, "%s", fmt_ns((uint64_t)r->total_ns).s);
		table_cell(t, "%s", fmt_count(r->errors).s);
		table_cell(t, "%zu of %zu", r->nodes, o->nodes);
	}
	out->failed |= !t;
	if (t)
		table_fold(out, t, 0, color, columns);
	table_free(t);
}

void fleet_ops_json(struct buf *out, const struct fleet_ops *o)
{
	struct jsonw j;

	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	jsonw_key_u64(&j, "nodes", o->nodes);
	jsonw_key_array(&j, "ops");
	for (size_t i = 0; i < o->v.n; i++) {
		const struct fleet_op *r = &o->v.v[i];

		jsonw_object_begin(&j);
		jsonw_key_str(&j, "operation", r->operation);
		jsonw_key_str(&j, "source", r->source);
		jsonw_key_u64(&j, "count", r->count);
		jsonw_key_u64(&j, "errors", r->errors);
		jsonw_key_u64(&j, "total_ns", (uint64_t)r->total_ns);
		jsonw_key_u64(&j, "p50_ns", (uint64_t)r->p50_ns);
		jsonw_key_u64(&j, "p95_ns", (uint64_t)r->p95_ns);
		jsonw_key_u64(&j, "p99_ns", (uint64_t)r->p99_ns);
		jsonw_key_u64(&j, "max_ns", (uint64_t)r->max_ns);
		jsonw_key_bool(&j, "approximate", r->approximate);
		jsonw_key_u64(&j, "nodes", r->nodes);
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_putc(out, '\n');
}

/* Appends "  label: text" if the chain has that member. */
static void append_line(struct buf *out, const char *label, struct json object, const char *key)
{
	char *text = fleet_get_text(object, key);

	if (text && *text) {
		buf_printf(out, "  %s: ", label);
		fmt_safe(out, bytes_of(text));
		buf_putc(out, '\n');
	}
	out->failed |= !text;
	free(text);
}

static void append_part(struct buf *out, struct json object, const char *key, const char *before,
			const char *behind)
{
	char *text = fleet_get_text(object, key);

	buf_puts(out, before);
	if (text)
		fmt_safe(out, bytes_of(text));
	buf_puts(out, behind);
	out->failed |= !text;
	free(text);
}

/* Appends "  symptom: cudaStreamSynchronize p99 12 ms, 9.8 times its p50" if the node sent it. */
static void append_symptom(struct buf *out, struct json c)
{
	double ratio = fleet_get_number(c, "tail_ratio"),
	       p99_us = fleet_get_number(c, "cuda_p99_us");
	char *op = fleet_get_text(c, "cuda_op");

	if (op && *op && ratio > 0 && p99_us > 0 && p99_us < 1e12) {
		buf_puts(out, "  symptom: ");
		fmt_safe(out, bytes_of(op));
		buf_printf(out, " p99 %s, %.1f times its p50\n", fmt_ns((uint64_t)(p99_us * 1e3)).s,
			   ratio);
	}
	out->failed |= !op;
	free(op);
}

static void one_chain(struct buf *out, struct json c, bool color)
{
	struct json fixes = json_get(c, "recommendations"), first = json_at(fixes, 0);
	struct json name = json_get(c, "node_name");
	struct bytes fix = json_bytes(first);
	struct buf head = { 0 };

	append_part(&head, c, "severity", "[", "] ");
	append_part(&head, c, json_bytes(name).n ? "node_name" : "node", "[", "]");
	fmt_styled(out, color, FMT_BOLD, buf_text(&head));
	out->failed |= head.failed;
	buf_free(&head);
	append_part(out, c, "summary", " ", "\n");
	append_line(out, "root cause", c, "root_cause");
	append_symptom(out, c);
	if (fix.n) {
		buf_puts(out, "  fix: ");
		fmt_safe(out, fix);
		buf_putc(out, '\n');
	}
	json_free(first);
	json_free(fixes);
	json_free(name);
}

static bool has_finding(struct json chains, const char *node)
{
	bool has = false;

	for (size_t i = 0; i < json_length(chains) && !has; i++) {
		struct json c = json_at(chains, i), name = json_get(c, "node");

		has = bytes_equal(json_bytes(name), bytes_of(node));
		json_free(name);
		json_free(c);
	}
	return has;
}

/* "FLEET: 2 findings from 4 nodes", and the nodes that have none. */
static void put_fleet(struct buf *out, const struct fleet *f, struct json chains, bool color)
{
	struct buf head = { 0 };
	size_t answered = 0, healthy = 0;

	for (size_t i = 0; i < f->n; i++)
		answered += f->nodes[i].answered;
	buf_puts(&head, "FLEET: ");
	fmt_counted(&head, json_length(chains), bytes_of("findings"));
	buf_puts(&head, " from ");
	fmt_counted(&head, answered, bytes_of("nodes"));
	fmt_styled(out, color, FMT_BOLD, buf_text(&head));
	buf_putc(out, '\n');
	out->failed |= head.failed;
	buf_free(&head);
	for (size_t i = 0; i < f->n; i++) {
		if (!f->nodes[i].answered || has_finding(chains, f->nodes[i].name))
			continue;
		buf_puts(out, healthy++ ? ", " : "nothing found on ");
		fmt_safe(out, bytes_of(fleet_label(f, i)));
	}
	buf_puts(out, healthy ? "\n" : "");
}

void fleet_chains_text(struct buf *out, const struct fleet *f, struct json chains, size_t top,
		       bool color)
{
	size_t n = json_length(chains), shown = top && top < n ? top : n;

	put_fleet(out, f, chains, color);
	for (size_t i = 0; i < shown; i++) {
		struct json c = json_at(chains, i);

		one_chain(out, c, color);
		json_free(c);
	}
	if (shown < n)
		buf_printf(out, "and %zu more (--top 0 shows all)\n", n - shown);
}

static struct archive_value value_of(struct json v, struct buf *text)
{
	struct archive_value out = { 0 };
	double x;

	switch (json_type(v)) {
	case JSON_TYPE_NONE:
	case JSON_TYPE_NULL:
		break;
	case JSON_TYPE_BOOL:
		out.type = ARCHIVE_INTEGER;
		out.integer = json_is_true(v);
		break;
	case JSON_TYPE_NUMBER:
		x = json_double(v, 0);
		out.type = fabs(x) <= EXACT && x == (double)(int64_t)x ? ARCHIVE_INTEGER
								       : ARCHIVE_REAL;
		out.integer = out.type == ARCHIVE_INTEGER ? (int64_t)x : 0;
		out.real = x;
		break;
	case JSON_TYPE_STRING:
		out.type = ARCHIVE_TEXT;
		buf_add(text, json_bytes(v).p, json_bytes(v).n);
		break;
	default:
		out.type = ARCHIVE_TEXT;
		json_dump(text, v, 0);
	}
	return out;
}

static int give_columns(const struct fleet_rows *r, unsigned n, struct archive_answer *to,
			struct err *e)
{
	struct buf *names = calloc(n + 1, sizeof(*names));
	const char **texts = calloc(n + 1, sizeof(*texts));
	int rc = names && texts ? 0 : err_nomem(e);

	for (unsigned i = 0; !rc && i < n; i++) {
		struct json c = json_at(r->columns, i);

		buf_add(&names[i], json_bytes(c).p, json_bytes(c).n);
		texts[i] = buf_text(&names[i]);
		json_free(c);
	}
	rc = rc ? rc : to->columns(to, texts, n, e);
	for (unsigned i = 0; names && i < n; i++)
		buf_free(&names[i]);
	free(names);
	free(texts);
	return rc;
}

int fleet_rows_write(const struct fleet_rows *r, struct archive_answer *to, struct err *e)
{
	unsigned n = (unsigned)json_length(r->columns);
	struct archive_value *values = calloc(n + 1, sizeof(*values));
	struct buf *texts = calloc(n + 1, sizeof(*texts));
	int rc = values && texts ? give_columns(r, n, to, e) : err_nomem(e);

	for (size_t k = 0; !rc && k < json_length(r->rows); k++) {
		struct json row = json_at(r->rows, k);

		for (unsigned i = 0; i < n; i++) {
			struct json v = json_at(row, i);

			buf_reset(&texts[i]);
			values[i] = value_of(v, &texts[i]);
			values[i].bytes = buf_bytes(&texts[i]);
			json_free(v);
		}
		rc = to->row(to, values, n, e);
		json_free(row);
	}
	for (unsigned i = 0; texts && i < n; i++)
		buf_free(&texts[i]);
	free(texts);
	free(values);
	return rc;
}
