/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the machine's state in a few lines, without what is at rest: low pressure, empty swap, no
 * stolen time. */
#include <stdio.h>

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/live/live_page.h"
#include "lib/report/view_lines.h"
#include "lib/event/section_rows.h"

#define BAR_COLUMNS 10
#define BUSY_LOW    0.7
#define BUSY_HIGH   0.9
#define PSI_LEAST   0.05 /* as view_system.c has it */
#define LEAST	    2.0	 /* percent of the CPU's time */
#define MEMORY_HIGH 0.98

static void print_bar(struct buf *out, const struct report_text_style *st, const char *label,
		      double fraction)
{
	buf_printf(out, "%s ", label);
	plot_bar(out, fraction, BAR_COLUMNS, st->form, st->color,
		 fraction >= BUSY_HIGH	? FMT_RED
		 : fraction >= BUSY_LOW ? FMT_YELLOW
					: FMT_GREEN);
	buf_putc(out, ' ');
}

static const struct view_metric *find_metric(const struct ops_summary *s, uint32_t node,
					     enum metric_id id)
{
	return view_find(s->view, VIEW_NODE, node, 0, id);
}

static void load_line(struct buf *out, const struct ops_summary *s, uint32_t node,
		      const struct report_text_style *st)
{
	const struct view_metric *busy = find_metric(s, node, METRIC_CPU_BUSY),
				 *used = find_metric(s, node, METRIC_MEM_USED),
				 *left = find_metric(s, node, METRIC_MEM_AVAILABLE),
				 *load = find_metric(s, node, METRIC_LOAD_1),
				 *swap = find_metric(s, node, METRIC_SWAP_USED);
	struct ops_machine has = ops_machine_of(s, node);
	uint64_t all = has.memory_bytes;
	const char *gap = "";

	if (busy) {
		print_bar(out, st, "CPU", busy->last / 100);
		buf_printf(out, "%.0f%%", busy->last);
		gap = "  ";
	}
	if (!all && used && left)
		all = view_bytes(used->last + left->last);
	if (used && all) {
		buf_puts(out, gap);
		print_bar(out, st, "memory", used->last / (double)all);
		buf_printf(out, "%.0f%%", 100 * used->last / (double)all);
		if (left)
			buf_printf(out, " (%s free)", fmt_bytes(view_bytes(left->last)).s);
		gap = "  ";
	}
	if (load) {
		buf_printf(out, "%sload %.1f", gap, load->last);
		if (has.cpus)
			buf_printf(out, " of %u", has.cpus);
	}
	if (swap && swap->last > 0)
		buf_printf(out, "  swap %s", fmt_bytes(view_bytes(swap->last)).s);
	buf_putc(out, '\n');
}

static void append_item(struct buf *out, const char *text)
{
	buf_printf(out, "%s%s", out->n ? ", " : "", text);
}

/* What a person would look at, in one line. */
static void trouble_line(struct buf *out, const struct ops_summary *s, uint32_t node,
			 const struct report_text_style *st)
{
	static const struct {
		enum metric_id id;
		const char *what;
	} parts[] = { { METRIC_CPU_IOWAIT, "CPUs wait for I/O" },
		      { METRIC_CPU_STEAL, "stolen by the hypervisor" } },
	  pressures[] = { { METRIC_PSI_CPU_SOME, "tasks wait for a CPU" },
			  { METRIC_PSI_IO_SOME, "tasks wait for I/O" },
			  { METRIC_PSI_MEM_SOME, "tasks wait for memory" } };
	struct buf line = { 0 };
	char text[96];

	for (unsigned i = 0; i < sizeof(pressures) / sizeof(pressures[0]); i++) {
		const struct view_metric *x = find_metric(s, node, pressures[i].id);
		double share = x && x->n > 1 ? view_growth(x) / 1e6 : 0; /* microseconds a second */

		if (share < PSI_LEAST)
			continue;
		snprintf(text, sizeof(text), "%s %.0f%% of the time", pressures[i].what,
			 share * 100);
		append_item(&line, text);
	}
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct view_metric *x = find_metric(s, node, parts[i].id);

		if (!x || view_mean(x) < LEAST)
			continue;
		snprintf(text, sizeof(text), "%s %.0f%%", parts[i].what, view_mean(x));
		append_item(&line, text);
	}
	if (line.n) {
		fmt_styled(out, st->color, FMT_YELLOW, buf_text(&line));
		buf_putc(out, '\n');
	}
	out->failed |= line.failed;
	buf_free(&line);
}

/* Of several machines the first two: a page is for one, as a rule. */
#define MACHINES_SHOWN 2

void report_live_system(struct buf *out, const struct world *w, const struct ops_summary *s,
			const struct report_text_style *st)
{
	uint32_t node = UINT32_MAX;
	unsigned shown = 0;

	for (size_t i = 0; s->view && i < s->view->metrics.n && shown < MACHINES_SHOWN; i++) {
		const struct view_metric *x = &s->view->metrics.v[i];

		if (x->scope != VIEW_NODE || x->node == node)
			continue;
		node = x->node;
		shown++;
		if (s->nodes > 1) {
			fmt_safe(out, world_node_name(w, node));
			buf_puts(out, ": ");
		}
		load_line(out, s, node, st);
		trouble_line(out, s, node, st);
	}
}

/* ---- GPUs ---- */

static void value_cell(struct table *t, const struct view_metric *x, double by, const char *unit)
{
	if (x)
		table_cell(t, "%.0f%s", x->last * by, unit);
	else
		table_cell(t, "-");
}

static void limits_cell(struct table *t, const struct view *v, uint32_t gpu)
{
	const struct view_gpu *x = NULL;
	struct buf text = { 0 };

	for (size_t i = 0; i < v->gpus.n && !x; i++)
		x = v->gpus.v[i].gpu == gpu ? &v->gpus.v[i] : NULL;
	for (unsigned i = 0; x && x->known_ns && i < VIEW_LIMITS; i++)
		if (x->limit_ns[i] && view_limit_bad(i))
			buf_printf(&text, "%s%s %s", text.n ? ", " : "", view_limit_text(i),
				   fmt_percent((double)x->limit_ns[i] / (double)x->known_ns).s);
	table_cell_styled(t, text.n ? FMT_RED : FMT_PLAIN, "%s", text.n ? buf_text(&text) : "-");
	buf_free(&text);
}

static void gpu_cells(struct table *t, const struct world *w, const struct view *v, uint32_t gpu)
{
	const struct view_metric *used = view_find(v, VIEW_GPU_WHOLE, 0, gpu, METRIC_GPU_MEM_USED),
				 *all = view_find(v, VIEW_GPU_WHOLE, 0, gpu, METRIC_GPU_MEM_TOTAL);
	const struct world_gpu *x = world_get_gpu(w, gpu);
	struct bytes name = x ? world_text(w, x->name) : (struct bytes){ 0 };
	bool full = used && all && all->last > 0 && used->last / all->last > MEMORY_HIGH;

	table_cell(t, "%u %.*s", x ? x->index : 0, (int)name.n, name.n ? name.p : "");
	value_cell(t, view_find(v, VIEW_GPU_WHOLE, 0, gpu, METRIC_GPU_BUSY), 1, "%");
	if (used)
		table_cell_styled(t, full ? FMT_RED : FMT_PLAIN, "%s",
				  fmt_bytes(view_bytes(used->last)).s);
	else
		table_cell(t, "-");
	if (all)
		table_cell(t, "%s", fmt_bytes(view_bytes(all->last)).s);
	else
		table_cell(t, "-");
	value_cell(t, view_find(v, VIEW_GPU_WHOLE, 0, gpu, METRIC_GPU_POWER), 1, " W");
	value_cell(t, view_find(v, VIEW_GPU_WHOLE, 0, gpu, METRIC_GPU_TEMPERATURE), 1, " C");
	value_cell(t, view_find(v, VIEW_GPU_WHOLE, 0, gpu, METRIC_GPU_SM_CLOCK), 1e-6, " MHz");
	limits_cell(t, v, gpu);
}

void report_live_gpus(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st)
{
	static const unsigned leave_out[] = { 6, 3, 5, 4, 0 };
	uint64_t last = UINT64_MAX;
	struct buf head = { 0 };
	struct table *t = NULL;
	unsigned n = 0;

	for (size_t i = 0; s->view && i < s->view->metrics.n; i++) {
		const struct view_metric *x = &s->view->metrics.v[i];

		if (x->scope != VIEW_GPU_WHOLE || x->subject == last)
			continue;
		last = x->subject;
		n++;
	}
	if (!n)
		return;
	buf_printf(&head, "GPUs (%u)", n);
	t = table_new((const char *const[]){ buf_text(&head), ">busy", ">memory", ">of", ">power",
					     ">temp", ">clock", "held down by", NULL });
	last = UINT64_MAX;
	for (size_t i = 0; t && i < s->view->metrics.n; i++) {
		const struct view_metric *x = &s->view->metrics.v[i];

		if (x->scope != VIEW_GPU_WHOLE || x->subject == last)
			continue;
		last = x->subject;
		gpu_cells(t, w, s->view, (uint32_t)last);
	}
	if (t)
		table_narrow(out, t, 0, st->color, st->columns, leave_out);
	out->failed |= !t || head.failed;
	table_free(t);
	buf_free(&head);
}
