/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the section of GPUs of ingero-stat. A metric that was not sampled has no line. */
#include "lib/report/report_internal.h"

#include <stdio.h>

#include "lib/base/fmt.h"

#define BUSY_LOW    2 /* of a GPU that is busy nothing is wrong: its bar is never yellow */
#define MEMORY_LOW  0.9
#define MEMORY_HIGH 0.98
#define POWER_LOW   0.95
#define POWER_HIGH  1.0
#define CLOCK_BAR   2
#define XIDS_SHOWN  8

struct one {
	const struct view *v;
	uint32_t gpu;
	const struct report_text_style *st;
};

static const struct view_metric *find_metric(const struct one *g, enum metric_id id)
{
	return view_find(g->v, VIEW_GPU_WHOLE, 0, g->gpu, id);
}

static void print_heading(struct buf *out, const struct world *w, const struct one *g)
{
	const struct world_gpu *x = world_get_gpu(w, g->gpu);
	struct bytes name = x ? world_text(w, x->name) : (struct bytes){ 0 };
	struct bytes uuid = x ? world_text(w, x->uuid) : (struct bytes){ 0 };
	struct buf title = { 0 };

	buf_puts(&title, "GPU");
	if (x)
		buf_printf(&title, " %u", x->index);
	if (name.n) {
		buf_putc(&title, ' ');
		fmt_safe(&title, name);
	}
	if (uuid.n) {
		buf_puts(&title, " (");
		fmt_safe(&title, uuid);
		buf_putc(&title, ')');
	}
	view_heading(out, g->st, buf_text(&title));
	out->failed |= title.failed;
	buf_free(&title);
}

static void print_percent(struct buf *out, const struct one *g, enum metric_id id,
			  const char *label)
{
	const struct view_metric *x = find_metric(g, id);

	if (!x)
		return;
	view_bar(out, g->st, label, view_mean(x) / 100, BUSY_LOW, BUSY_LOW);
	buf_printf(out, "%.1f%% of the time, at most %.0f%%", view_mean(x), x->max);
	view_course(out, g->st, x, 100);
}

static void print_memory(struct buf *out, const struct one *g)
{
	const struct view_metric *used = find_metric(g, METRIC_GPU_MEM_USED),
				 *all = find_metric(g, METRIC_GPU_MEM_TOTAL);
	bool whole = all && all->last > 0;

	if (!used)
		return;
	view_bar(out, g->st, "memory", whole ? used->last / all->last : -1, MEMORY_LOW,
		 MEMORY_HIGH);
	buf_printf(out, "%s used", fmt_bytes(view_bytes(used->last)).s);
	if (whole)
		buf_printf(out, " of %s", fmt_bytes(view_bytes(all->last)).s);
	buf_printf(out, ", at most %s", fmt_bytes(view_bytes(used->max)).s);
	view_course(out, g->st, used, whole ? all->last : 0);
}

static void print_clock(struct buf *out, const struct one *g, enum metric_id id,
			enum metric_id best, const char *label)
{
	const struct view_metric *x = find_metric(g, id), *max = best ? find_metric(g, best) : NULL;
	bool whole = max && max->last > 0;

	if (!x)
		return;
	view_bar(out, g->st, label, whole ? view_mean(x) / max->last : -1, CLOCK_BAR, CLOCK_BAR);
	buf_printf(out, "%.0f MHz", view_mean(x) / 1e6);
	if (whole)
		buf_printf(out, " of %.0f MHz", max->last / 1e6);
	view_course(out, g->st, x, whole ? max->last : 0);
}

static void print_clock_limits(struct buf *out, const struct one *g)
{
	const struct view_gpu *x = NULL;
	bool any = false;

	for (size_t i = 0; i < g->v->gpus.n && !x; i++)
		x = g->v->gpus.v[i].gpu == g->gpu ? &g->v->gpus.v[i] : NULL;
	if (!x || x->known_ns == 0)
		return;
	view_bar(out, g->st, "held down", -1, 0, 0);
	for (unsigned i = 0; i < VIEW_LIMITS; i++) {
		double share = (double)x->limit_ns[i] / (double)x->known_ns;
		char text[96];

		if (x->limit_ns[i] == 0)
			continue;
		snprintf(text, sizeof(text), "%s %s", view_limit_text(i), fmt_percent(share).s);
		buf_puts(out, any ? ", " : "");
		fmt_styled(out, g->st->color, view_limit_bad(i) ? FMT_RED : FMT_PLAIN, text);
		any = true;
	}
	buf_puts(out, any ? " of the time\n" : "never\n");
}

static void print_power(struct buf *out, const struct one *g)
{
	const struct view_metric *x = find_metric(g, METRIC_GPU_POWER),
				 *limit = find_metric(g, METRIC_GPU_POWER_LIMIT),
				 *energy = find_metric(g, METRIC_GPU_ENERGY);
	bool whole = limit && limit->last > 0;

	if (!x)
		return;
	view_bar(out, g->st, "power", whole ? view_mean(x) / limit->last : -1, POWER_LOW,
		 POWER_HIGH);
	buf_printf(out, "%.0f W", view_mean(x));
	if (whole)
		buf_printf(out, " of %.0f W", limit->last);
	buf_printf(out, ", at most %.0f W", x->max);
	if (energy && energy->n > 1)
		buf_printf(out, ", %.0f J in all", energy->grew);
	view_course(out, g->st, x, whole ? limit->last : 0);
}

static void print_temperature(struct buf *out, const struct one *g)
{
	const struct view_metric *x = find_metric(g, METRIC_GPU_TEMPERATURE);

	if (!x)
		return;
	view_bar(out, g->st, "temperature", -1, 0, 0);
	buf_printf(out, "%.0f C, at most %.0f C", view_mean(x), x->max);
	view_course(out, g->st, x, 0);
}

static void print_pcie_link(struct buf *out, const struct one *g)
{
	const struct view_metric *gen = find_metric(g, METRIC_GPU_PCIE_GEN),
				 *gen_max = find_metric(g, METRIC_GPU_PCIE_GEN_MAX),
				 *width = find_metric(g, METRIC_GPU_PCIE_WIDTH),
				 *width_max = find_metric(g, METRIC_GPU_PCIE_WIDTH_MAX),
				 *tx = find_metric(g, METRIC_GPU_PCIE_TX),
				 *rx = find_metric(g, METRIC_GPU_PCIE_RX),
				 *replays = find_metric(g, METRIC_GPU_PCIE_REPLAYS);

	if (!gen && !tx)
		return;
	view_bar(out, g->st, "PCIe", -1, 0, 0);
	if (gen && width) {
		buf_printf(out, "generation %.0f", gen->last);
		if (gen_max)
			buf_printf(out, " of %.0f", gen_max->last);
		buf_printf(out, ", x%.0f", width->last);
		if (width_max)
			buf_printf(out, " of x%.0f", width_max->last);
	}
	if (tx && rx) {
		buf_printf(out, "%ssends %s/s", gen && width ? ", " : "",
			   fmt_bytes(view_bytes(view_mean(tx))).s);
		buf_printf(out, ", gets %s/s", fmt_bytes(view_bytes(view_mean(rx))).s);
	}
	if (replays && replays->grew > 0)
		buf_printf(out, ", %.0f replays", replays->grew);
	buf_putc(out, '\n');
}

static void print_errors(struct buf *out, const struct one *g)
{
	const struct view_metric *mild = find_metric(g, METRIC_GPU_ECC_CORRECTED),
				 *bad = find_metric(g, METRIC_GPU_ECC_UNCORRECTED);
	unsigned shown = 0;

	if (mild || bad) {
		view_bar(out, g->st, "ECC errors", -1, 0, 0);
		if (mild)
			buf_printf(out, "%.0f corrected", mild->grew);
		if (bad)
			buf_printf(out, "%s%.0f uncorrected", mild ? ", " : "", bad->grew);
		buf_puts(out, " meanwhile");
		if ((mild ? mild->first : 0) + (bad ? bad->first : 0) > 0)
			buf_printf(out, " (%.0f and %.0f before)", mild ? mild->first : 0,
				   bad ? bad->first : 0);
		buf_putc(out, '\n');
	}
	for (size_t i = 0; i < g->v->xids.n; i++) {
		const struct view_xid *x = &g->v->xids.v[i];
		char text[32];

		if (x->gpu != g->gpu || shown++ >= XIDS_SHOWN)
			continue;
		if (shown == 1)
			view_bar(out, g->st, "errors", -1, 0, 0);
		snprintf(text, sizeof(text), "%sXID %u", shown > 1 ? ", " : "", x->number);
		fmt_styled(out, g->st->color, FMT_RED, text);
	}
	if (shown > XIDS_SHOWN)
		buf_printf(out, " and %u more", shown - XIDS_SHOWN);
	if (shown)
		buf_putc(out, '\n');
}

static void print_processes(struct buf *out, const struct world *w, const struct one *g)
{
	for (size_t i = 0; i < g->v->metrics.n; i++) {
		const struct view_metric *x = &g->v->metrics.v[i];
		bool known = x->metric == METRIC_GPU_MEM_USED || x->metric == METRIC_GPU_BUSY;
		bool first = i == 0 || x[-1].scope != x->scope || x[-1].process != x->process ||
			     x[-1].subject != x->subject;

		if (x->scope != VIEW_GPU_PROCESS || x->subject != g->gpu)
			continue;
		if (first) {
			buf_puts(out, "  ");
			view_process(out, w, x->process);
			buf_puts(out, ":");
		}
		if (x->metric == METRIC_GPU_MEM_USED)
			buf_printf(out, " memory %s, at most %s;", fmt_bytes(view_bytes(x->last)).s,
				   fmt_bytes(view_bytes(x->max)).s);
		else if (known)
			buf_printf(out, " busy %.1f%%;", view_mean(x));
		if (i + 1 == g->v->metrics.n || x[1].scope != x->scope ||
		    x[1].process != x->process || x[1].subject != x->subject)
			buf_putc(out, '\n');
	}
}

static void print_gpu(struct buf *out, const struct world *w, const struct one *g)
{
	print_heading(out, w, g);
	print_percent(out, g, METRIC_GPU_BUSY, "busy");
	print_percent(out, g, METRIC_GPU_MEM_BUSY, "memory busy");
	print_memory(out, g);
	print_clock(out, g, METRIC_GPU_SM_CLOCK, METRIC_GPU_SM_CLOCK_MAX, "SM clock");
	print_clock(out, g, METRIC_GPU_MEM_CLOCK, (enum metric_id)0, "memory clock");
	print_clock_limits(out, g);
	print_power(out, g);
	print_temperature(out, g);
	print_pcie_link(out, g);
	print_errors(out, g);
	print_processes(out, w, g);
}

bool view_gpu_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct report_text_style *st)
{
	const struct view *v = s->view;
	struct one g = { v, 0, st };
	bool any = false;

	for (uint32_t id = 1; id <= world_count(w, WORLD_GPU); id++) {
		bool sampled = false;

		for (size_t i = 0; i < v->metrics.n && !sampled; i++)
			sampled = v->metrics.v[i].subject == id &&
				  (v->metrics.v[i].scope == VIEW_GPU_WHOLE ||
				   v->metrics.v[i].scope == VIEW_GPU_PROCESS);
		for (size_t i = 0; i < v->gpus.n && !sampled; i++)
			sampled = v->gpus.v[i].gpu == id;
		if (!sampled)
			continue;
		g.gpu = id;
		print_gpu(out, w, &g);
		any = true;
	}
	return any;
}
