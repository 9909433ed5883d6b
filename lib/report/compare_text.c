/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the comparison of two recordings as text and as JSON. The first line is the answer; the
 * table below it has every figure of both sides. */
#include "lib/report/compare_text.h"

#include "lib/base/fmt.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/report/group_by_text.h"
#include "lib/report/table_cells.h"
#include "lib/report/view_json_parts.h"

static const char *const whats[COMPARE_WHATS] = { "p50", "p99", "total", "errors" };

static void print_answer(struct buf *out, const struct compare *c)
{
	const char *of = c->calls_only ? ", of calls" : "";

	if (c->wall_ns[DIFF_BEFORE] == 0 || c->wall_ns[DIFF_AFTER] == 0)
		buf_printf(out, "Nothing can be compared: the %s recording holds nothing.\n",
			   c->wall_ns[DIFF_BEFORE] ? "second" : "first");
	else if (c->worse == 0)
		buf_printf(out, "Nothing got worse by more than %g%% (by %s%s).\n",
			   c->threshold * 100, by_key_name(c->key), of);
	else
		buf_printf(out, "Worse by more than %g%%: %s of %s rows (by %s%s).\n",
			   c->threshold * 100, fmt_count(c->worse).s, fmt_count(c->rows.n).s,
			   by_key_name(c->key), of);
}

static const char *change_text(const struct compare_row *r)
{
	return !r->side[DIFF_BEFORE]  ? "new"
	       : !r->side[DIFF_AFTER] ? "gone"
	       : r->worse	      ? "worse"
	       : r->better	      ? "better"
				      : "same";
}

static void append_change(struct buf *out, const char *what, double before, double after)
{
	buf_puts(out, out->n ? ", " : "");
	if (before > 0)
		buf_printf(out, "%s %+.0f%%", what, (after / before - 1) * 100);
	else
		buf_printf(out, "%s from 0", what);
}

/* "p50 +12%, p99 +300%" */
static void by_how_much(struct buf *out, const struct compare *c, const struct compare_row *r)
{
	const struct by_row *a = r->side[DIFF_BEFORE], *b = r->side[DIFF_AFTER];
	unsigned which = r->worse | r->better;

	/* NOLINTBEGIN(clang-analyzer-core.NullDereference): what has quantiles to compare is on
	 * both sides */
	if (which & COMPARE_P50)
		append_change(out, "p50", (double)a->p50_ns, (double)b->p50_ns);
	if (which & COMPARE_P99)
		append_change(out, "p99", (double)a->p99_ns, (double)b->p99_ns);
	/* NOLINTEND(clang-analyzer-core.NullDereference) */
	if (which & COMPARE_TOTAL)
		append_change(out, "total/s",
			      a ? compare_per_s(c, DIFF_BEFORE, a->all.total_ns) : 0,
			      b ? compare_per_s(c, DIFF_AFTER, b->all.total_ns) : 0);
	if (which & COMPARE_ERRORS)
		append_change(out, "errors/s", a ? compare_per_s(c, DIFF_BEFORE, a->all.errors) : 0,
			      b ? compare_per_s(c, DIFF_AFTER, b->all.errors) : 0);
}

static void fill_row(struct table *t, struct buf *text, const struct compare *c,
		     const struct compare_row *r)
{
	uint64_t timed[DIFF_SIDES] = { 0 }, p50[DIFF_SIDES] = { 0 }, p99[DIFF_SIDES] = { 0 };

	table_cell_styled(t,
			  r->worse    ? FMT_RED
			  : r->better ? FMT_GREEN
				      : FMT_PLAIN,
			  "%s", change_text(r));
	by_title(text, c->key, r->kind, r->node, r->key, r->name);
	cell_title(t, text);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		const struct by_row *s = r->side[i];

		table_cell(t, "%s%.1f", s ? estimate_mark(&s->all) : "",
			   s ? compare_per_s(c, i, s->all.count) : 0);
		timed[i] = s ? s->timed : 0;
		p50[i] = s ? s->p50_ns : 0;
		p99[i] = s ? s->p99_ns : 0;
	}
	cell_pair(t, p50, timed);
	cell_pair(t, p99, timed);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		table_cell(t, "%s%s", r->side[i] ? estimate_mark(&r->side[i]->all) : "",
			   fmt_ns(r->side[i]
					  ? (uint64_t)compare_per_s(c, i, r->side[i]->all.total_ns)
					  : 0)
				   .s);
	by_how_much(text, c, r);
	table_cell(t, "%s", buf_text(text));
	buf_reset(text);
}

void compare_text(struct buf *out, const struct compare *c, unsigned top, bool color,
		  unsigned columns)
{
	const char *headers[] = { "",
				  by_key_name(c->key),
				  ">count/s before",
				  ">after",
				  ">p50 before",
				  ">after",
				  ">p99 before",
				  ">after",
				  ">total/s before",
				  ">after",
				  "change",
				  NULL };
	struct table *t = table_new(headers);
	struct buf text = { 0 };

	print_answer(&text, c);
	fmt_styled(out, color, FMT_BOLD, buf_text(&text));
	buf_reset(&text);
	for (size_t i = 0; t && i < c->rows.n && (top == 0 || i < top); i++)
		fill_row(t, &text, c, &c->rows.v[i]);
	if (t && c->rows.n) {
		buf_putc(out, '\n');
		table_fold(out, t, 2, color, columns);
	}
	if (top && c->rows.n > top)
		cell_more(out, c->rows.n - top, 0);
	buf_putc(out, '\n');
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		cell_side(out, i, c->name[i], c->events[i], c->wall_ns[i], c->lost_events[i]);
	out->failed |= text.failed || !t;
	buf_free(&text);
	table_free(t);
}

static void whats_json(struct jsonw *j, const char *key, unsigned mask)
{
	jsonw_key_array(j, key);
	for (unsigned i = 0; i < COMPARE_WHATS; i++)
		if (mask >> i & 1)
			jsonw_str(j, whats[i]);
	jsonw_array_end(j);
}

static void text_json(struct jsonw *j, const char *key, struct bytes text)
{
	if (text.n)
		jsonw_key_bytes(j, key, text);
	else
		jsonw_key_null(j, key);
}

static void row_json(struct jsonw *j, const struct compare *c, const struct compare_row *r)
{
	jsonw_object_begin(j);
	jsonw_key_str(j, "kind", by_kind_name(r->kind));
	text_json(j, "key", r->key);
	text_json(j, "name", r->name);
	text_json(j, "node", r->node);
	jsonw_key_str(j, "change", change_text(r));
	whats_json(j, "worse", r->worse);
	whats_json(j, "better", r->better);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		const struct by_row *s = r->side[i];

		if (!s) {
			jsonw_key_null(j, cell_side_name(i));
			continue;
		}
		jsonw_key_object(j, cell_side_name(i));
		jsonw_key_u64(j, "count", s->count);
		jsonw_key_double(j, "per_s", compare_per_s(c, i, s->all.count));
		jsonw_key_u64(j, "errors", s->errors);
		view_json_estimate(j, s->count, &s->all);
		jsonw_key_u64(j, "timed", s->timed);
		jsonw_key_u64(j, "p50_ns", s->p50_ns);
		jsonw_key_u64(j, "p99_ns", s->p99_ns);
		jsonw_key_u64(j, "total_ns", s->total_ns);
		jsonw_key_double(j, "total_ns_per_s", compare_per_s(c, i, s->all.total_ns));
		jsonw_object_end(j);
	}
	jsonw_object_end(j);
}

void compare_json(struct buf *out, const struct compare *c)
{
	struct jsonw j;

	jsonw_init(&j, out, true);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "schema", "ingero.compare/1");
	jsonw_key_str(&j, "by", by_key_name(c->key));
	jsonw_key_bool(&j, "calls_only", c->calls_only);
	jsonw_key_double(&j, "threshold", c->threshold);
	jsonw_key_u64(&j, "worse", c->worse);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		jsonw_key_object(&j, cell_side_name(i));
		jsonw_key_str(&j, "name", c->name[i]);
		jsonw_key_u64(&j, "wall_ns", c->wall_ns[i]);
		jsonw_key_u64(&j, "events", c->events[i]);
		jsonw_key_u64(&j, "lost_events", c->lost_events[i]);
		jsonw_object_end(&j);
	}
	jsonw_key_array(&j, "rows");
	for (size_t i = 0; i < c->rows.n; i++)
		row_json(&j, c, &c->rows.v[i]);
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_putc(out, '\n');
}
