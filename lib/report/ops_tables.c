/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tables of ingero-stat: operations by layer, kernels, errors. Names from the recorded
 * programs go through fmt_safe or a table cell. */
#include "lib/report/ops_tables.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/report/table_cells.h"
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

static void flags_cell(struct table *t, unsigned flags)
{
	if (flags == 0)
		table_cell(t, "-");
	else
		table_cell_styled(t, FMT_RED, "%s%s%s", flags & OPS_FLAG_TAIL ? "tail" : "",
				  flags == (OPS_FLAG_TAIL | OPS_FLAG_ERRORS) ? "," : "",
				  flags & OPS_FLAG_ERRORS ? "errors" : "");
}

static void ops_cells(struct table *t, const struct ops_row *r, bool calls, bool brief, double wall)
{
	const char *about = estimate_mark(&r->all);

	table_cell(t, "%s", r->op->name);
	table_cell(t, "%s%s", about, fmt_count(r->all.count).s);
	if (calls)
		cell_errors_about(t, r->all.errors, about);
	if (r->op->track == TRACK_INSTANT) {
		for (unsigned i = 0; i < 5; i++)
			table_cell(t, "-");
	} else {
		cell_quantiles(t, r->p50_ns, r->p95_ns, r->p99_ns, r->count);
		table_cell(t, "%s", fmt_ns(r->max_ns).s);
		table_cell(t, "%s%s", about, fmt_ns(r->all.total_ns).s);
	}
	if (!brief && calls) {
		table_cell(t, "%s%s", about, fmt_ns(r->all.self_ns).s);
		cell_share_about(t, r->all.self_ns, wall, about);
	}
	if (!brief)
		cell_lost_about(t, r->all.lost_ns, about);
	if (calls)
		flags_cell(t, ops_row_flags(r));
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
static void detail_cell(struct table *t, const struct ops_summary *s, const struct world *w,
			const struct ops_row *r)
{
	double all = (double)(r->total_ns ? r->total_ns : r->count);
	const struct view *v = s->view;
	struct buf text = { 0 }, one = { 0 };
	unsigned shown = 0;

	for (size_t i = 0; i < v->details.n && shown < DETAILS_SHOWN; i++) {
		const struct view_detail *d = &v->details.v[i];
		uint64_t sum = d->op == r->op ? all_of(v, r, d) : 0;

		if (sum == 0 || (double)sum < DETAIL_LEAST * all)
			continue;
		/* Of a path its end says more. */
		append_cut(&one, world_text(w, d->text), d->about == VIEW_ABOUT_FILE);
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

#define COLUMNS_MOST 13 /* and the NULL behind them */

/* head: above the names; NULL: what they are names of. *calls: of calls. NULL: there are none of
 * that layer, or no memory. */
static struct table *layer_rows(const struct ops_summary *s, const struct world *w,
				const char *layer, const char *head, bool *calls, bool *few)
{
	static const char *const call_headers[] = { "op",    ">count", ">errors", ">p50", ">p95",
						    ">p99",  ">max",   ">total",  ">own", ">share",
						    ">lost", "flags",  NULL };
	static const char *const host_headers[] = { "event", ">count", ">p50",	">p95",	  ">p99",
						    ">max",  ">total", ">lost", "detail", NULL };
	static const char *const brief_calls[] = { "op",   ">count", ">errors", ">p50",	 ">p95",
						   ">p99", ">max",   ">total",	"flags", NULL };
	static const char *const brief_host[] = { "event", ">count", ">p50",   ">p95",
						  ">p99",  ">max",   ">total", NULL };
	double wall = (double)(s->end_ns - s->start_ns);
	const char *headers[COLUMNS_MOST] = { 0 };
	struct table *t = NULL;

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct ops_row *r = &s->rows.v[i];

		if (!is_of(r, layer))
			continue;
		*calls = r->op->flags & OP_CALL;
		if (!t) {
			const char *const *from = s->brief ? (*calls ? brief_calls : brief_host)
						  : *calls ? call_headers
							   : host_headers;

			for (unsigned k = 0; from[k]; k++)
				headers[k] = from[k];
			headers[0] = head ? head : headers[0];
			t = table_new(headers);
			if (!t)
				return NULL;
		}
		ops_cells(t, r, *calls, s->brief, wall);
		if (!*calls && !s->brief && s->view)
			detail_cell(t, s, w, r);
		else if (!*calls && !s->brief)
			table_cell(t, "-");
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
	static const char *const headers[] = { "kernel", "launched by", ">count", ">p50",
					       ">p99",	 ">max",	">total", NULL };
	struct table *t = table_new(headers);
	struct fmt_text text;
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
		table_cell_long(t, world_text(w, k->name),
				KERNEL_CHARS); /* templates have no end */
		table_cell(t, "%s", k->op->name);
		table_cell(t, "%s%s", estimate_mark(&k->all), fmt_count(k->all.count).s);
		table_cell(t, "%s", cell_quantile(&text, k->p50_ns, k->count));
		table_cell(t, "%s", cell_quantile(&text, k->p99_ns, k->count));
		table_cell(t, "%s", fmt_ns(k->max_ns).s);
		table_cell(t, "%s%s", estimate_mark(&k->all), fmt_ns(k->all.total_ns).s);
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
