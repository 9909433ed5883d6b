/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the table of ingero-stat --by for people and as JSON. Names of code can be very long:
 * people see them cut, the JSON has them whole. */
#include "lib/report/group_by_text.h"

#include "lib/report/report_columns.h"
#include "lib/report/table_cells.h"

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

#define OF_KEYS	 1u
#define OF_STEPS 2u /* count and times are those of the steps */

/* With that of calls that were not recorded. */
static double own_of_calls(const struct by_row *r)
{
	return r->self_ns ? (double)r->calls_self_ns * (double)r->all.self_ns / (double)r->self_ns
			  : (double)r->calls_self_ns;
}

static const char *kind_name(const void *row)
{
	const struct by_row *r = row;

	return by_kind_name(r->kind);
}

static bool is_no_key(const void *row)
{
	const struct by_row *r = row;

	return r->kind != BY_KNOWN;
}

static void title_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct world *w = with->w;
	const struct by_row *r = row;
	struct buf title = { 0 };

	by_title(&title, with->s->by->key, r->kind, world_text(w, r->node), world_text(w, r->key),
		 world_text(w, r->name));
	cell_title(t, &title);
	buf_free(&title);
}

static void each_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct by_row *r = row;

	(void)with;
	if (r->kind == BY_KNOWN && r->all.count && !r->all.least)
		table_cell(t, "%.1f", (double)r->calls / (double)r->all.count);
	else
		table_cell(t, "-");
}

static void share_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct by_row *r = row;

	if (with->shown == OF_STEPS)
		cell_share(t, r->calls_self_ns, columns_wall_ns(with));
	else
		cell_share_about(t, (uint64_t)own_of_calls(r), columns_wall_ns(with),
				 estimate_mark(&r->all));
}

static void share_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	jsonw_double(j, columns_wall_ns(with) > 0 ? own_of_calls(row) / columns_wall_ns(with) : 0);
}

#define ROW by_row

static const struct column rows[] = {
	{ "kind", NULL, COLUMN_NAME, .name = kind_name, .names = by_kinds },
	{ "key", "", COLUMN_STRING, AT(key), .cell = title_cell },
	{ "name", NULL, COLUMN_STRING, AT(name) },
	{ "node", NULL, COLUMN_STRING, AT(node) },
	{ "count", ">count", COLUMN_COUNT, ALL(count), .when = OF_KEYS },
	{ NULL, ">count", COLUMN_COUNT, ALL(count), .absent = is_no_key, .when = OF_STEPS },
	{ "errors", ">errors", COLUMN_BAD, ALL(errors), .when = OF_KEYS },
	{ .kind = COLUMN_ESTIMATE, AT(all), OF(count) },
	{ "timed", NULL, COLUMN_COUNT, AT(timed) },
	{ "p50_ns", ">p50", COLUMN_QUANTILE, AT(p50_ns), OF(timed) },
	{ "p95_ns", ">p95", COLUMN_QUANTILE, AT(p95_ns), OF(timed) },
	{ "p99_ns", ">p99", COLUMN_QUANTILE, AT(p99_ns), OF(timed) },
	{ "max_ns", ">max", COLUMN_NS, AT(max_ns), OF(timed) },
	{ "total_ns", ">total", COLUMN_NS, ALL(total_ns), .when = OF_KEYS },
	{ NULL, ">total", COLUMN_NS, AT(total_ns), .absent = is_no_key, .when = OF_STEPS },
	{ "calls", ">calls", COLUMN_COUNT, AT(calls), .when = OF_STEPS, .member = OF_STEPS },
	{ NULL, ">each", .cell = each_cell, .when = OF_STEPS },
	{ NULL, ">errors", COLUMN_BAD, AT(errors), .when = OF_STEPS },
	{ "self_ns", ">own", COLUMN_NS, ALL(self_ns), .when = OF_KEYS },
	{ NULL, ">own", COLUMN_NS, AT(self_ns), .when = OF_STEPS },
	{ "share", ">share", COLUMN_REAL, .cell = share_cell, .json = share_json },
	{ "lost_ns", ">lost", COLUMN_LOST, ALL(lost_ns), .when = OF_KEYS },
	{ NULL, ">lost", COLUMN_LOST, AT(lost_ns), .when = OF_STEPS },
};
const struct columns columns_by = COLUMNS_ESTIMATED("rows", rows);

static struct columns_with with_of(const struct world *w, const struct ops_summary *s)
{
	return (struct columns_with){ w, s, s->by->key == BY_STEP ? OF_STEPS : OF_KEYS };
}

bool by_text(struct buf *out, const struct world *w, const struct ops_summary *s, unsigned top,
	     bool color, unsigned columns)
{
	const struct columns_with with = with_of(w, s);
	struct table *t = columns_table(&columns_by, &with, by_key_name(s->by->key));
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
		columns_cells(t, &columns_by, &with, r);
	}
	out->failed |= !t;
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
	table_free(t);
	return few;
}

void by_json(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	const struct columns_with with = with_of(w, s);

	jsonw_key_object(j, "by");
	jsonw_key_str(j, "key", by_key_name(s->by->key));
	jsonw_key_u64(j, "limit", BY_KEYS_MAX);
	columns_json(j, &columns_by, &with, s->by->rows.v, s->by->rows.n);
	jsonw_object_end(j);
}
