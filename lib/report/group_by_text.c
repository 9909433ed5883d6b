/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of ingero-stat --by as text and as JSON. Names of code can be very long: the
 * table cuts them, the JSON has them whole. */
#include "lib/report/group_by_text.h"

#include "lib/report/table_cells.h"
#include "lib/report/view_json_parts.h"

static void append_piece(struct buf *out, const char *before, struct bytes text, const char *after)
{
	if (text.n == 0)
		return;
	buf_puts(out, before);
	fmt_safe(out, text);
	buf_puts(out, after);
}

void by_title(struct buf *out, enum by_key key, enum by_kind kind, struct bytes node,
	      struct bytes id, struct bytes name)
{
	if (kind == BY_NONE) {
		buf_printf(out, "no %s", by_key_name(key));
		return;
	}
	if (kind != BY_KNOWN) {
		buf_puts(out, by_kind_name(kind));
		return;
	}
	append_piece(out, "", node, ": ");
	if (key == BY_SIZE || key == BY_DIRECTION || key == BY_STACK) {
		append_piece(out, "", name.n ? name : id, "");
		return;
	}
	append_piece(out, "", id, "");
	if (key != BY_OP)
		append_piece(out, " ", name, "");
}

/* With that of calls that were not recorded. */
static double own_of_calls(const struct by_row *r)
{
	return r->self_ns ? (double)r->calls_self_ns * (double)r->all.self_ns / (double)r->self_ns
			  : (double)r->calls_self_ns;
}

static void fill_row(struct table *t, struct buf *title, const struct by_row *r, double wall)
{
	const char *about = estimate_mark(&r->all);

	cell_title(t, title);
	table_cell(t, "%s%s", about, fmt_count(r->all.count).s);
	cell_errors_about(t, r->all.errors, about);
	if (r->timed) {
		cell_quantiles(t, r->p50_ns, r->p95_ns, r->p99_ns, r->timed);
		table_cell(t, "%s", fmt_ns(r->max_ns).s);
	} else {
		for (unsigned i = 0; i < 4; i++)
			table_cell(t, "-");
	}
	table_cell(t, "%s%s", about, fmt_ns(r->all.total_ns).s);
	table_cell(t, "%s%s", about, fmt_ns(r->all.self_ns).s);
	cell_share_about(t, (uint64_t)own_of_calls(r), wall, about);
	cell_lost_about(t, r->all.lost_ns, about);
}

/* A row of steps: count and times are theirs. */
static void fill_row_steps(struct table *t, struct buf *title, const struct by_row *r, double wall)
{
	const char *about = estimate_mark(&r->all);
	bool known = r->kind == BY_KNOWN;

	cell_title(t, title);
	if (known)
		table_cell(t, "%s%s", about, fmt_count(r->all.count).s);
	else
		table_cell(t, "-");
	if (r->timed) {
		cell_quantiles(t, r->p50_ns, r->p95_ns, r->p99_ns, r->timed);
		table_cell(t, "%s", fmt_ns(r->max_ns).s);
	} else {
		for (unsigned i = 0; i < 4; i++)
			table_cell(t, "-");
	}
	table_cell(t, "%s", known ? fmt_ns(r->total_ns).s : "-");
	table_cell(t, "%s", fmt_count(r->calls).s);
	if (known && r->all.count && !r->all.least)
		table_cell(t, "%.1f", (double)r->calls / (double)r->all.count);
	else
		table_cell(t, "-");
	cell_errors_about(t, r->errors, "");
	table_cell(t, "%s", fmt_ns(r->self_ns).s);
	cell_share_about(t, r->calls_self_ns, wall, "");
	cell_lost_about(t, r->lost_ns, "");
}

static const char *const step_headers[] = { "step", ">count", ">p50",	">p95",	 ">p99",
					    ">max", ">total", ">calls", ">each", ">errors",
					    ">own", ">share", ">lost",	NULL };

bool by_text(struct buf *out, const struct world *w, const struct ops_summary *s, unsigned top,
	     bool color, unsigned columns)
{
	const char *headers[] = { by_key_name(s->by->key),
				  ">count",
				  ">errors",
				  ">p50",
				  ">p95",
				  ">p99",
				  ">max",
				  ">total",
				  ">own",
				  ">share",
				  ">lost",
				  NULL };
	double wall = (double)(s->end_ns - s->start_ns);
	bool steps = s->by->key == BY_STEP;
	struct table *t = table_new(steps ? step_headers : headers);
	struct buf title = { 0 };
	size_t shown = 0, left = 0;
	bool few = false, other = false;

	/* What is unknown, and the rest, is shown however many rows come before. */
	for (size_t i = 0; t && i < s->by->rows.n; i++) {
		const struct by_row *r = &s->by->rows.v[i];

		other |= r->kind == BY_OTHER;
		if (r->kind == BY_KNOWN && top && shown >= top) {
			left++;
			continue;
		}
		shown++;
		few |= r->timed && r->timed < CELL_FEW;
		by_title(&title, s->by->key, r->kind, world_text(w, r->node), world_text(w, r->key),
			 world_text(w, r->name));
		(steps ? fill_row_steps : fill_row)(t, &title, r, wall);
	}
	out->failed |= !t || title.failed;
	if (t && s->by->rows.n) {
		buf_putc(out, '\n');
		table_fold(out, t, 2, color, columns);
	}
	if (left)
		cell_more(out, left, 0);
	if (s->by->key == BY_STEP && s->paused.n)
		buf_puts(out,
			 "  calls that were recorded in windows are counted as far as they were\n");
	if (other)
		buf_printf(out, "  other: whatever came after the first %s, counted together\n",
			   fmt_count(BY_KEYS_MAX).s);
	buf_free(&title);
	table_free(t);
	return few;
}

static void append_text(struct jsonw *j, const struct world *w, const char *key, uint32_t string)
{
	jsonw_key(j, key);
	if (string)
		jsonw_bytes(j, world_text(w, string));
	else
		jsonw_null(j);
}

void by_json(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	double wall = (double)(s->end_ns - s->start_ns);

	jsonw_key_object(j, "by");
	jsonw_key_str(j, "key", by_key_name(s->by->key));
	jsonw_key_u64(j, "limit", BY_KEYS_MAX);
	jsonw_key_array(j, "rows");
	for (size_t i = 0; i < s->by->rows.n; i++) {
		const struct by_row *r = &s->by->rows.v[i];

		jsonw_object_begin(j);
		jsonw_key_str(j, "kind", by_kind_name(r->kind));
		append_text(j, w, "key", r->key);
		append_text(j, w, "name", r->name);
		append_text(j, w, "node", r->node);
		jsonw_key_u64(j, "count", r->count);
		jsonw_key_u64(j, "errors", r->errors);
		view_json_estimate(j, r->count, &r->all);
		if (s->by->key == BY_STEP)
			jsonw_key_u64(j, "calls", r->calls);
		jsonw_key_u64(j, "timed", r->timed);
		jsonw_key_u64(j, "p50_ns", r->p50_ns);
		jsonw_key_u64(j, "p95_ns", r->p95_ns);
		jsonw_key_u64(j, "p99_ns", r->p99_ns);
		jsonw_key_u64(j, "max_ns", r->max_ns);
		jsonw_key_u64(j, "total_ns", r->total_ns);
		jsonw_key_u64(j, "self_ns", r->self_ns);
		jsonw_key_u64(j, "lost_ns", r->lost_ns);
		jsonw_key_double(j, "share", wall > 0 ? own_of_calls(r) / wall : 0);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
}
