/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the functions that a process called with the quantiles of their durations, and the GPUs
 * that several processes use: where they take turns, a kernel of one waits for those of the others.
 */
#include "lib/report/report_internal.h"

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/report/table_cells.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_recording.h"

#define NAMES_SHOWN 4

void report_operations(struct buf *out, const struct report *r, struct json process, bool color)
{
	static const char *const headers[] = { "operation", ">calls", ">p50",	">p95",
					       ">p99",	    ">max",   ">total", NULL };
	struct table *t = NULL;
	bool few = false;

	for (size_t i = 0; r->operations && i < r->operations->rows.n; i++) {
		const struct op_totals_row *row = &r->operations->rows.v[i];

		if (!report_is_process(process, row->pid, row->node))
			continue;
		t = t ? t : table_new(headers);
		if (!t)
			break;
		table_cell(t, "%s", row->op->name);
		table_cell(t, "%s", fmt_count(row->calls).s);
		cell_quantiles(t, row->p50_ns, row->p95_ns, row->p99_ns, row->calls);
		table_cell(t, "%s", fmt_ns(row->max_ns).s);
		table_cell(t, "%s", fmt_ns(row->total_ns).s);
		few |= row->calls < CELL_FEW;
	}
	if (!t)
		return;
	buf_putc(out, '\n');
	report_style(out, color, "1");
	buf_puts(out, "Operations of ");
	report_member(out, process, "comm", "?");
	buf_printf(out, " (pid %.0f)", report_number(process, "pid"));
	report_style(out, color, "0");
	buf_puts(out,
		 report_has_paused(r)
			 ? ", as recorded, in windows; calls inside calls are rows of their own\n"
			 : ", calls inside calls are rows of their own\n");
	table_fold(out, t, 4, false, r->columns);
	if (few)
		buf_printf(out, "    " CELL_FEW_MARK " over fewer than %d calls\n", CELL_FEW);
	table_free(t);
}

static bool is_shown(const struct report *r, const struct op_totals_use *use)
{
	return report_is_pid(r, use->pid);
}

static bool is_same_gpu(const struct op_totals_use *a, const struct op_totals_use *b)
{
	return a->gpu == b->gpu && bytes_equal(a->node, b->node);
}

/* "4801 (train), 5601 (embed-server) and 3 more" */
static void put_names(struct buf *out, const struct op_totals_use *v, size_t n)
{
	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++) {
		buf_puts(out, i ? ", " : "");
		report_print_text(out, v[i].comm, "?");
		buf_printf(out, " (pid %u)", v[i].pid);
	}
	if (n > NAMES_SHOWN)
		buf_printf(out, " and %zu more", n - NAMES_SHOWN);
}

static void put_gpu(struct buf *out, const struct report *r, const struct op_totals_use *v,
		    size_t n)
{
	buf_printf(out, "%zu processes ", n);
	if (v->gpu) {
		buf_printf(out, "share GPU %u", v->index);
		if (v->gpu_name.n) {
			buf_puts(out, " (");
			fmt_safe(out, v->gpu_name);
			buf_putc(out, ')');
		}
	} else {
		buf_puts(out, "made calls");
	}
	report_on_node(out, r, v->node);
	buf_puts(out, ": ");
	put_names(out, v, n);
	buf_puts(out, v->gpu ? ". Without MPS their kernels take turns.\n"
			     : "; which GPU each used is not in the recording.\n");
}

void report_shared_gpus(struct buf *out, const struct report *r)
{
	const struct op_totals_use *v = r->operations ? r->operations->uses.v : NULL;
	size_t n = r->operations ? r->operations->uses.n : 0;

	for (size_t i = 0, end; i < n; i = end) {
		bool shown = false;

		for (end = i; end < n && is_same_gpu(&v[i], &v[end]); end++)
			shown |= is_shown(r, &v[end]);
		if (shown && end - i > 1)
			put_gpu(out, r, &v[i], end - i);
	}
}

struct json report_operations_json(const struct report *r)
{
	struct json all = r->operations ? json_array() : JSON_NONE;

	for (size_t i = 0; r->operations && i < r->operations->rows.n; i++) {
		const struct op_totals_row *row = &r->operations->rows.v[i];
		struct json o = JSON_NONE;

		if (!report_is_pid(r, row->pid))
			continue;
		o = json_object();
		json_set(&o, "pid", json_number(row->pid));
		json_set(&o, "node", row->node.n ? json_string(row->node) : json_null());
		json_set(&o, "source", json_text(row->op->source_name));
		json_set(&o, "op", json_text(row->op->name));
		json_set(&o, "count", json_number((double)row->calls));
		json_set(&o, "total_ns", json_number((double)row->total_ns));
		json_set(&o, "p50_ns", json_number((double)row->p50_ns));
		json_set(&o, "p95_ns", json_number((double)row->p95_ns));
		json_set(&o, "p99_ns", json_number((double)row->p99_ns));
		json_set(&o, "max_ns", json_number((double)row->max_ns));
		json_append(&all, o);
	}
	return all;
}
