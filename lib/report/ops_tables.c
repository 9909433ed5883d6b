/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tables of ingero-stat: operations by layer, kernels, errors. Counts and times that
 * people see are with those of calls that were not recorded, behind their mark; JSON has both. */
#include "lib/report/ops_tables.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/report/report_columns.h"
#include "lib/report/table_cells.h"
#include "lib/report/view_json_parts.h"
#include "lib/report/view_lines.h"
#include "lib/event/event.h"
#include "lib/event/section_rows.h"

#define ERRORS_SHOWN	  20
#define ERROR_NODES_SHOWN 4
#define KERNELS_SHOWN	  5 /* of each launching op */
#define KERNEL_CHARS	  64
#define DETAILS_SHOWN	  3 /* of an operation of the host, as far as they fit */
#define DETAIL_COLUMNS	  56
#define DETAIL_CHARS	  32
#define DETAIL_LEAST	  0.01 /* of its time */

/* Of which operations a table is, for columns_with.shown. */
#define OF_CALLS 1u
#define OF_HOST	 2u

static bool is_instant(const void *row)
{
	const struct ops_row *r = row;

	return r->op->track == TRACK_INSTANT;
}

static const char *layer_name(const void *row)
{
	const struct ops_row *r = row;

	return source_layer(r->op->source);
}

static void share_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct ops_row *r = row;

	cell_share_about(t, r->all.self_ns, columns_wall_ns(with), estimate_mark(&r->all));
}

static void share_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	const struct ops_row *r = row;

	jsonw_double(j, columns_wall_ns(with) > 0 ? (double)r->all.self_ns / columns_wall_ns(with)
						  : 0);
}

static void flags_cell(struct table *t, const struct columns_with *with, const void *row)
{
	unsigned flags = ops_row_flags(row);

	(void)with;
	if (flags == 0)
		table_cell(t, "-");
	else
		table_cell_styled(t, FMT_RED, "%s%s%s", flags & OPS_FLAG_TAIL ? "tail" : "",
				  flags == (OPS_FLAG_TAIL | OPS_FLAG_ERRORS) ? "," : "",
				  flags & OPS_FLAG_ERRORS ? "errors" : "");
}

static void flags_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	(void)with;
	jsonw_array_begin(j);
	if (ops_row_flags(row) & OPS_FLAG_TAIL)
		jsonw_str(j, "tail");
	if (ops_row_flags(row) & OPS_FLAG_ERRORS)
		jsonw_str(j, "errors");
	jsonw_array_end(j);
}

static uint64_t detail_amount(const struct ops_row *r, const struct view_detail *d)
{
	return r->total_ns ? d->ns : d->count;
}

/* Of those of one operation, that who took time in several ways is one here. */
static uint64_t all_of(const struct view *v, const struct ops_row *r, const struct view_detail *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < v->details.n; i++) {
		const struct view_detail *x = &v->details.v[i];

		if (x->op != r->op || x->text != d->text)
			continue;
		if (x < d)
			return 0; /* told there */
		sum += detail_amount(r, x);
	}
	return sum;
}

static void append_cut(struct buf *out, struct bytes what, bool tail)
{
	if (what.n <= DETAIL_CHARS)
		buf_add(out, what.p, what.n);
	else if (tail)
		buf_printf(out, "...%.*s", DETAIL_CHARS - 3, what.p + what.n - (DETAIL_CHARS - 3));
	else
		buf_printf(out, "%.*s...", DETAIL_CHARS - 3, what.p);
}

/* What most of its time was about, with the share of it. */
static void detail_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct ops_row *r = row;
	double all = (double)(r->total_ns ? r->total_ns : r->count);
	const struct view *v = with->s->view;
	struct buf text = { 0 }, one = { 0 };
	unsigned shown = 0;

	for (size_t i = 0; v && i < v->details.n && shown < DETAILS_SHOWN; i++) {
		const struct view_detail *d = &v->details.v[i];
		uint64_t sum = d->op == r->op ? all_of(v, r, d) : 0;

		if (sum == 0 || (double)sum < DETAIL_LEAST * all)
			continue;
		/* Of a path its end says more. */
		append_cut(&one, world_text(with->w, d->text), d->about == VIEW_ABOUT_FILE);
		buf_printf(&one, " %s", fmt_percent((double)sum / all).s);
		if (shown && text.n + 2 + one.n > DETAIL_COLUMNS)
			break;
		buf_puts(&text, shown++ ? ", " : "");
		buf_add(&text, one.p, one.n);
		buf_reset(&one);
	}
	table_cell(t, "%s", shown ? buf_text(&text) : "-");
	buf_free(&text);
	buf_free(&one);
}

/* How many durations lie in each power of two, from the first that has any to the last. */
static void durations_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	const struct ops_row *r = row;
	unsigned from = 0, to = OPS_POWERS;

	(void)with;
	while (from < OPS_POWERS && r->powers[from] == 0)
		from++;
	while (to > from && r->powers[to - 1] == 0)
		to--;
	jsonw_object_begin(j);
	jsonw_key_u64(j, "from_ns", from && from < OPS_POWERS ? 1ull << (from - 1) : 0);
	jsonw_key_array(j, "counts");
	for (unsigned i = from; i < to; i++)
		jsonw_u64(j, r->powers[i]);
	jsonw_array_end(j);
	jsonw_object_end(j);
}

static void devices_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	const struct ops_row *r = row;

	if (!(r->op->flags & OP_CALL)) {
		jsonw_null(j);
		return;
	}
	jsonw_array_begin(j);
	for (unsigned i = 0; i < r->ndevices; i++) {
		const struct world_gpu *g = world_get_gpu(with->w, r->devices[i].gpu);

		jsonw_object_begin(j);
		view_json_text(j, with->w, "gpu", g ? g->uuid : 0);
		jsonw_key(j, "index");
		if (g)
			jsonw_u64(j, g->index);
		else
			jsonw_null(j);
		jsonw_key_u64(j, "count", r->devices[i].count);
		jsonw_key_u64(j, "errors", r->devices[i].errors);
		jsonw_key_u64(j, "total_ns", r->devices[i].total_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

#define ROW ops_row

static const struct column ops[] = {
	{ "source", NULL, COLUMN_SOURCE, AT(op) },
	{ "op", "op", COLUMN_OP, AT(op) },
	{ "layer", NULL, COLUMN_NAME, .name = layer_name, .maybe = true },
	{ "count", ">count", COLUMN_COUNT, ALL(count) },
	{ "errors", ">errors", COLUMN_BAD, ALL(errors), .when = OF_CALLS },
	{ .kind = COLUMN_ESTIMATE, AT(all), OF(count) },
	{ "p50_ns", ">p50", COLUMN_QUANTILE, AT(p50_ns), OF(count), .absent = is_instant },
	{ "p95_ns", ">p95", COLUMN_QUANTILE, AT(p95_ns), OF(count), .absent = is_instant },
	{ "p99_ns", ">p99", COLUMN_QUANTILE, AT(p99_ns), OF(count), .absent = is_instant },
	{ "min_ns", NULL, COLUMN_NS, AT(min_ns) },
	{ "max_ns", ">max", COLUMN_NS, AT(max_ns), .absent = is_instant },
	{ "total_ns", ">total", COLUMN_NS, ALL(total_ns), .absent = is_instant },
	{ "self_ns", ">own", COLUMN_NS, ALL(self_ns), .when = OF_CALLS, .events = true },
	{ "share", ">share", COLUMN_REAL, .cell = share_cell, .json = share_json, .when = OF_CALLS,
	  .events = true },
	{ "lost_ns", ">lost", COLUMN_LOST, ALL(lost_ns), .events = true },
	{ "flags", "flags", .cell = flags_cell, .json = flags_json, .when = OF_CALLS },
	{ .head = "detail", .cell = detail_cell, .when = OF_HOST, .events = true },
	{ "durations", .json = durations_json },
	{ "devices", .json = devices_json, .events = true },
};
const struct columns columns_ops = COLUMNS_ESTIMATED("ops", ops);
#undef ROW

#define ROW ops_kernel

static const struct column kernels[] = {
	{ "source", NULL, COLUMN_SOURCE, AT(op) },
	{ "name", "kernel", COLUMN_STRING, AT(name), .most = KERNEL_CHARS },
	{ "op", "launched by", COLUMN_OP, AT(op) },
	{ .kind = COLUMN_PROCESS, AT(process) },
	{ "handle", NULL, COLUMN_HANDLE, AT(func), .maybe = true },
	{ "count", ">count", COLUMN_COUNT, ALL(count) },
	{ "errors", NULL, COLUMN_COUNT, AT(errors) },
	{ .kind = COLUMN_ESTIMATE, AT(all), OF(count) },
	{ "p50_ns", ">p50", COLUMN_QUANTILE, AT(p50_ns), OF(count) },
	{ "p99_ns", ">p99", COLUMN_QUANTILE, AT(p99_ns), OF(count) },
	{ "max_ns", ">max", COLUMN_NS, AT(max_ns) },
	{ "total_ns", ">total", COLUMN_NS, ALL(total_ns) },
};
const struct columns columns_kernels = COLUMNS_ESTIMATED("kernels", kernels);
#undef ROW

static bool is_of(const struct ops_row *r, const char *layer)
{
	static const char *const named[] = { "runtime", "driver", "graph", "nccl", "mark" };
	const char *own = source_layer(r->op->source);

	if (layer)
		return own && !strcmp(own, layer);
	for (unsigned i = 0; own && i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(own, named[i]))
			return false;
	return true;
}

static const char *layer_heading(const char *layer)
{
	if (!layer)
		return "Host";
	if (!strcmp(layer, "runtime"))
		return "Runtime API";
	if (!strcmp(layer, "driver"))
		return "Driver API";
	if (!strcmp(layer, "graph"))
		return "Graphs";
	if (!strcmp(layer, "nccl"))
		return "NCCL";
	if (!strcmp(layer, "mark"))
		return "Marks";
	return "Host";
}

/* head: above the names; NULL: what they are names of. *calls: of calls. NULL: there are none of
 * that layer, or no memory. */
static struct table *layer_rows(const struct ops_summary *s, const struct world *w,
				const char *layer, const char *head, bool *calls, bool *few)
{
	struct columns_with with = { .w = w, .s = s };
	struct table *t = NULL;

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct ops_row *r = &s->rows.v[i];

		if (!is_of(r, layer))
			continue;
		*calls = r->op->flags & OP_CALL;
		with.shown = *calls ? OF_CALLS : OF_HOST;
		if (!t)
			t = columns_table(&columns_ops, &with,
					  head	   ? head
					  : *calls ? NULL
						   : "event");
		if (!t)
			return NULL;
		columns_cells(t, &columns_ops, &with, r);
		*few |= r->count < CELL_FEW && r->op->track != TRACK_INSTANT;
	}
	return t;
}

static size_t rows_of(const struct ops_summary *s, const char *layer)
{
	size_t n = 0;

	for (size_t i = 0; i < s->rows.n; i++)
		n += is_of(&s->rows.v[i], layer);
	return n;
}

bool ops_layer_table(struct buf *out, const struct ops_summary *s, const struct world *w,
		     const char *layer, const struct report_text_style *st, bool *few)
{
	struct table *t;
	bool calls;

	if (rows_of(s, layer) == 0)
		return false;
	t = layer_rows(s, w, layer, NULL, &calls, few);
	out->failed |= !t;
	if (!t)
		return false;
	buf_putc(out, '\n');
	fmt_styled(out, st->color, FMT_CYAN, layer_heading(layer));
	buf_putc(out, '\n');
	table_fold(out, t, 2, st->color, st->columns);
	table_free(t);
	return true;
}

void ops_layer_brief(struct buf *out, const struct ops_summary *s, const struct world *w,
		     const char *layer, const struct report_text_style *st)
{
	/* Numbers of the columns above, what says least first. */
	static const unsigned calls_out[] = { 8, 6, 2, 10, 7, 4, 9, 11, 3, 0 },
			      host_out[] = { 5, 3, 7, 2, 4, 8, 0 },
			      brief_calls_out[] = { 6, 2, 7, 4, 8, 3, 0 },
			      brief_host_out[] = { 5, 3, 6, 2, 0 };
	struct fmt_text n = fmt_count(rows_of(s, layer));
	bool calls = false, few = false;
	struct buf head = { 0 };
	struct table *t;

	if (rows_of(s, layer) == 0)
		return;
	buf_printf(&head, "%s (%s)", layer_heading(layer), n.s);
	t = layer_rows(s, w, layer, buf_text(&head), &calls, &few);
	if (t)
		table_narrow(out, t, 0, st->color, st->columns,
			     s->brief ? (calls ? brief_calls_out : brief_host_out)
			     : calls  ? calls_out
				      : host_out);
	out->failed |= !t || head.failed;
	table_free(t);
	buf_free(&head);
}

bool ops_kernel_table(struct buf *out, const struct ops_summary *s, const struct world *w,
		      const struct report_text_style *st)
{
	const struct columns_with with = { .w = w, .s = s };
	struct table *t = columns_table(&columns_kernels, &with, NULL);
	unsigned shown = 0, any = 0;
	uint64_t left = 0;

	for (size_t i = 0; t && i < s->kernels.n; i++) {
		const struct ops_kernel *k = &s->kernels.v[i];

		shown = i && s->kernels.v[i - 1].op == k->op ? shown : 0;
		if (!k->name)
			continue;
		if (shown++ >= KERNELS_SHOWN && st->top) {
			left++;
			continue;
		}
		any++;
		columns_cells(t, &columns_kernels, &with, k);
	}
	out->failed |= !t;
	if (any) {
		buf_putc(out, '\n');
		fmt_styled(out, st->color, FMT_CYAN, "Kernels, by their launching calls");
		buf_putc(out, '\n');
		table_fold(out, t, 2, st->color, st->columns);
	}
	if (left)
		cell_more(out, left, st->columns);
	table_free(t);
	return any > 0;
}

/* ", 3 of them on one, 2 on two", and of one machine alone " on one"; nothing where all is of one
 * machine. */
static void error_nodes(struct buf *out, const struct ops_summary *s, const struct world *w,
			size_t error)
{
	const struct ops_error_node *first = NULL;
	size_t n = 0, shown = 0;

	if (world_count(w, WORLD_NODE) < 2)
		return;
	for (size_t i = 0; i < s->error_nodes.n; i++) {
		const struct ops_error_node *x = &s->error_nodes.v[i];

		if (x->error != error)
			continue;
		n++;
		first = first ? first : x;
	}
	if (n == 1 && first->count == s->errors.v[error].count)
		view_on(out, w, first->node);
	else
		for (size_t i = 0; i < s->error_nodes.n && shown < ERROR_NODES_SHOWN; i++) {
			const struct ops_error_node *x = &s->error_nodes.v[i];

			if (x->error != error)
				continue;
			buf_printf(out, ", %s", fmt_count(x->count).s);
			view_on(out, w, x->node);
			shown++;
		}
	if (n > shown && shown)
		buf_printf(out, ", others on %zu more", n - shown);
}

bool ops_error_lines(struct buf *out, const struct ops_summary *s, const struct world *w,
		     const struct report_text_style *st)
{
	size_t shown = st->top && s->errors.n > ERRORS_SHOWN ? ERRORS_SHOWN : s->errors.n;

	if (s->errors.n == 0)
		return false;
	buf_putc(out, '\n');
	fmt_styled(out, st->color, FMT_RED, "Errors");
	buf_putc(out, '\n');
	for (size_t i = 0; i < shown; i++) {
		const struct ops_error *x = &s->errors.v[i];
		const char *name = event_error_name(x->op->source, x->ret);

		buf_printf(out, "  %s returned %d%s%s%s %s time%s", x->op->name, x->ret,
			   name ? " (" : "", name ? name : "", name ? ")" : "",
			   fmt_count(x->count).s, x->count == 1 ? "" : "s");
		error_nodes(out, s, w, i);
		buf_putc(out, '\n');
	}
	if (s->errors.n > shown)
		cell_more(out, s->errors.n - shown, st->columns);
	return true;
}
