/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary as text: what was recorded, a table per layer, errors, and what the figures cover. Names
 * from outside go through human_safe or a table cell.
 */
#include "lib/emit/ops_text.h"

#include <string.h>

#include "lib/base/human.h"
#include "lib/base/table.h"
#include "lib/base/timetext.h"
#include "lib/emit/by.h"
#include "lib/emit/cells.h"
#include "lib/event/chain.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/world/stack_ends.h"

#define ERRORS_SHOWN	20
#define PROCESSES_SHOWN 16
#define KERNELS_SHOWN	5 /* of each launching op */
#define KERNEL_CHARS	60
#define ENDS_SHOWN	4 /* modules in which stacks end */

static void flags_cell(struct table *t, unsigned flags)
{
	if (flags == 0)
		table_cell(t, "-");
	else
		table_cell_styled(t, HUMAN_RED, "%s%s%s", flags & OPS_FLAG_TAIL ? "tail" : "",
				  flags == (OPS_FLAG_TAIL | OPS_FLAG_ERRORS) ? "," : "",
				  flags & OPS_FLAG_ERRORS ? "errors" : "");
}

static void ops_cells(struct table *t, const struct ops_row *r, bool calls, bool brief, double wall)
{
	table_cell(t, "%s", r->op->name);
	table_cell(t, "%s", human_count(r->count).s);
	if (calls)
		cell_errors(t, r->errors);
	if (r->op->track == TRACK_INSTANT) {
		for (unsigned i = 0; i < 5; i++)
			table_cell(t, "-");
	} else {
		cell_quantiles(t, r->p50_ns, r->p95_ns, r->p99_ns, r->count);
		table_cell(t, "%s", human_ns(r->max_ns).s);
		table_cell(t, "%s", human_ns(r->total_ns).s);
	}
	if (!brief && calls) {
		table_cell(t, "%s", human_ns(r->self_ns).s);
		cell_share(t, r->self_ns, wall);
	}
	if (!brief)
		cell_lost(t, r->lost_ns);
	if (calls)
		flags_cell(t, ops_row_flags(r));
}

static const char *heading(const char *layer)
{
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

/* One table per layer; *few: a quantile was marked. */
static void ops_tables(struct buf *out, const struct ops_summary *s, bool color, unsigned columns,
		       bool *few)
{
	static const char *const call_headers[] = { "op",    ">count", ">errors", ">p50", ">p95",
						    ">p99",  ">max",   ">total",  ">own", ">share",
						    ">lost", "flags",  NULL };
	static const char *const host_headers[] = { "event", ">count", ">p50",	">p95", ">p99",
						    ">max",  ">total", ">lost", NULL };
	static const char *const brief_calls[] = { "op",   ">count", ">errors", ">p50",	 ">p95",
						   ">p99", ">max",   ">total",	"flags", NULL };
	static const char *const brief_host[] = { "event", ">count", ">p50",   ">p95",
						  ">p99",  ">max",   ">total", NULL };
	double wall = (double)(s->end_ns - s->start_ns);

	for (size_t i = 0; i < s->rows.n;) {
		const char *title = heading(source_layer(s->rows.v[i].op->source));
		bool calls = s->rows.v[i].op->flags & OP_CALL;
		struct table *t = table_new(s->brief ? (calls ? brief_calls : brief_host)
					    : calls  ? call_headers
						     : host_headers);

		if (!t) {
			out->failed = true;
			return;
		}
		for (; i < s->rows.n && heading(source_layer(s->rows.v[i].op->source)) == title;
		     i++) {
			ops_cells(t, &s->rows.v[i], calls, s->brief, wall);
			*few |= s->rows.v[i].count < CELL_FEW &&
				s->rows.v[i].op->track != TRACK_INSTANT;
		}
		buf_putc(out, '\n');
		human_styled(out, color, HUMAN_CYAN, title);
		buf_putc(out, '\n');
		table_fold(out, t, 2, color, columns);
		table_free(t);
	}
}

/* Most time first, of each launching op; only where names are known: handles say nothing to a person. */
static void kernel_table(struct buf *out, const struct ops_summary *s, const struct world *w,
			 bool color, unsigned columns)
{
	static const char *const headers[] = { "kernel", "launched by", ">count", ">p50",
					       ">p99",	 ">max",	">total", NULL };
	struct table *t = table_new(headers);
	struct human_text text;
	unsigned shown = 0, any = 0;
	struct bytes name;

	for (size_t i = 0; t && i < s->kernels.n; i++) {
		const struct ops_kernel *k = &s->kernels.v[i];

		shown = i && s->kernels.v[i - 1].op == k->op ? shown : 0;
		if (!k->name || shown++ >= KERNELS_SHOWN)
			continue;
		any++;
		name = world_text(w, k->name);
		if (name.n > KERNEL_CHARS) /* templates have no end */
			table_cell(t, "%.*s...", KERNEL_CHARS - 3, name.p);
		else
			table_cell(t, "%.*s", (int)name.n, name.p);
		table_cell(t, "%s", k->op->name);
		table_cell(t, "%s", human_count(k->count).s);
		table_cell(t, "%s", cell_quantile(&text, k->p50_ns, k->count));
		table_cell(t, "%s", cell_quantile(&text, k->p99_ns, k->count));
		table_cell(t, "%s", human_ns(k->max_ns).s);
		table_cell(t, "%s", human_ns(k->total_ns).s);
	}
	out->failed |= !t;
	if (any) {
		buf_putc(out, '\n');
		human_styled(out, color, HUMAN_CYAN, "Kernels, by their launching calls");
		buf_putc(out, '\n');
		table_fold(out, t, 2, color, columns);
	}
	table_free(t);
}

static void error_lines(struct buf *out, const struct ops_summary *s, bool color)
{
	if (s->errors.n == 0)
		return;
	buf_putc(out, '\n');
	human_styled(out, color, HUMAN_RED, "Errors");
	buf_putc(out, '\n');
	for (size_t i = 0; i < s->errors.n && i < ERRORS_SHOWN; i++) {
		const struct ops_error *x = &s->errors.v[i];
		const char *name = event_error_name(x->op->source, x->ret);

		buf_printf(out, "  %s returned %d%s%s%s %s times\n", x->op->name, x->ret,
			   name ? " (" : "", name ? name : "", name ? ")" : "",
			   human_count(x->count).s);
	}
}

static void process_lines(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	double wall = (double)(s->end_ns - s->start_ns);
	size_t shown = 0, with_calls = 0;
	uint64_t calls;

	/* Those in calls come first; of those without, none where some have. */
	while (shown < s->processes.n && shown < PROCESSES_SHOWN &&
	       (s->processes.v[shown].calls || !s->processes.v[0].calls))
		shown++;
	for (size_t i = shown; i < s->processes.n; i++)
		with_calls += s->processes.v[i].calls > 0;
	for (size_t i = 0; i < shown; i++) {
		const struct ops_process *p = &s->processes.v[i];
		const struct world_process *id = world_get_process(w, p->process);

		buf_printf(out, "process %u ", id ? id->tgid : 0);
		human_safe(out, world_text(w, p->comm));
		calls = p->outer_calls ? p->outer_calls : p->calls;
		buf_printf(out, ": %s thread%s, %s call%s", human_count(p->threads).s,
			   p->threads == 1 ? "" : "s", human_count(calls).s, calls == 1 ? "" : "s");
		if (p->calls > calls)
			buf_printf(out, " (%s with those inside)", human_count(p->calls).s);
		if (wall > 0 && p->outer_calls)
			buf_printf(out, " taking %s of wall time",
				   human_percent((double)p->in_calls_ns / wall).s);
		if (p->lost_ns)
			buf_printf(out, ", %s lost to the host", human_ns(p->lost_ns).s);
		buf_putc(out, '\n');
	}
	if (s->processes.n > shown)
		buf_printf(out, "and %zu more process%s%s (--json has them all)\n",
			   s->processes.n - shown, s->processes.n - shown == 1 ? "" : "es",
			   with_calls ? "" : " without calls");
}

static void system_line(struct buf *out, const struct ops_summary *s)
{
	const struct ops_metric *busy = &s->metrics[METRIC_CPU_BUSY],
				*load = &s->metrics[METRIC_LOAD_1];
	const struct ops_metric *used = &s->metrics[METRIC_MEM_USED],
				*psi = &s->metrics[METRIC_PSI_CPU_SOME];
	const struct ops_metric *free_mem = &s->metrics[METRIC_MEM_AVAILABLE];
	double wall_us = (double)(s->end_ns - s->start_ns) / 1000;

	if (!busy->n && !load->n && !used->n)
		return;
	buf_puts(out, "system:");
	if (busy->n)
		buf_printf(out, " CPU %.0f%% busy (at most %.0f%%)", busy->sum / (double)busy->n,
			   busy->max);
	if (load->n)
		buf_printf(out, ", load %.1f", load->last);
	if (psi->n > 1 && wall_us > 0)
		buf_printf(out, ", tasks waiting for a CPU %.1f%% of the time",
			   100 * (psi->last - psi->first) / wall_us);
	if (used->n && used->last >= 0)
		buf_printf(out, ", memory %s used", human_bytes((uint64_t)used->last).s);
	if (free_mem->n && free_mem->last >= 0)
		buf_printf(out, ", %s available", human_bytes((uint64_t)free_mem->last).s);
	buf_putc(out, '\n');
}

static void head_lines(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	char when[64];

	if (s->hostname)
		human_safe(out, world_text(w, s->hostname));
	else
		buf_puts(out, "recording");
	if (s->nodes > 1)
		buf_printf(out, " and %u more nodes", s->nodes - 1);
	buf_printf(out, ": %s", human_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	if (s->has_real)
		buf_printf(out, " from %s",
			   time_local(when, sizeof(when), s->start_ns + s->real_minus_mono_ns,
				      true));
	buf_putc(out, '\n');
	process_lines(out, w, s);
	system_line(out, s);
}

/* Calls that are missing on purpose: what that is called, and why. */
static void left_out_line(struct buf *out, const char *what, const char *why, uint64_t calls)
{
	if (calls)
		buf_printf(
			out,
			"coverage: %s: %s calls more were made and counted, and not recorded (%s): "
			"counts and totals here are of those recorded\n",
			what, human_count(calls).s, why);
}

static void stacks_line(struct buf *out, const struct world *w, const struct stack_ends_sum *sum)
{
	if (!sum || sum->events == 0 || sum->whole == sum->events)
		return;
	buf_printf(out, "coverage: native stacks: %.2f%% of %s reach main or a thread's start",
		   100.0 * (double)sum->whole / (double)sum->events, human_count(sum->events).s);
	stack_ends_text(sum, w, ENDS_SHOWN, out);
	buf_putc(out, '\n');
}

static void coverage_lines(struct buf *out, const struct world *w, const struct ops_summary *s,
			   bool over, bool few)
{
	buf_printf(out, "coverage: %s events", human_count(s->events).s);
	if (s->selected != s->events)
		buf_printf(out, " (%s counted here)", human_count(s->selected).s);
	buf_printf(out, ", %s lost", human_count(s->lost).s);
	for (unsigned i = 0; i < OPS_LOSS_REASONS; i++)
		if (s->loss_by_reason[i])
			buf_printf(out, " (%s: %s)", loss_reason_text(i),
				   human_count(s->loss_by_reason[i]).s);
	if (s->late)
		buf_printf(out, ", %s late", human_count(s->late).s);
	if (s->open)
		buf_printf(out, ", %s call%s still open at the end", human_count(s->open).s,
			   s->open == 1 ? "" : "s");
	buf_printf(out, ", window %s", human_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	if (over && !s->complete)
		buf_puts(out, ", without an end");
	if (s->exact)
		buf_puts(out, ", quantiles exact");
	buf_putc(out, '\n');
	left_out_line(out, "sampled", "one of several was asked for", s->sampled_out);
	left_out_line(out, "given up", "to stay within the budget", s->given_up);
	left_out_line(out, "not kept", "waits among them: its recorder keeps a part", s->not_kept);
	if (s->cpu_hz)
		buf_printf(out,
			   "coverage: each CPU sample stands for about %s of CPU time (%u a "
			   "second of each CPU; ingero-explain says where)\n",
			   human_ns(1000000000 / s->cpu_hz).s, s->cpu_hz);
	stacks_line(out, w, s->stacks);
	if (s->cost_over_ns)
		buf_printf(out,
			   "coverage: recording took about %s of the wall time from the programs "
			   "(estimate: calibrated traps, measured programs)\n",
			   human_percent((double)s->cost_ns / (double)s->cost_over_ns).s);
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct ops_layer *l = &s->layers.v[i];

		if (l->failed == 0 || bytes_equal(world_text(w, l->layer), bytes_of("stacks")))
			continue; /* stacks: counted anew from what is looked at */
		buf_puts(out, "coverage: ");
		human_safe(out, world_text(w, l->layer));
		buf_printf(out, ": %u of %u not traced", l->failed, l->requested);
		if (l->reason) {
			buf_puts(out, ": ");
			human_safe(out, world_text(w, l->reason));
		}
		buf_putc(out, '\n');
	}
	if (few)
		buf_printf(out,
			   "~ a quantile over fewer than %d calls; share is of wall time, calls "
			   "inside not counted again\n",
			   CELL_FEW);
}

#define FINDINGS_SHOWN 4

/* What the stream says of causes. */
static void finding_lines(struct buf *out, const struct ops_summary *s)
{
	size_t n = s->findings.n < FINDINGS_SHOWN ? s->findings.n : FINDINGS_SHOWN;

	for (size_t i = 0; i < n; i++) {
		const struct ops_finding *f = &s->findings.v[i];

		buf_printf(out, "found: %s ", chain_severity_name(f->severity));
		human_safe(out, bytes_of(f->summary));
		buf_putc(out, '\n');
	}
	if (s->findings.n > n)
		buf_printf(out, "found: %zu more (ingero-explain tells them)\n", s->findings.n - n);
}

void ops_text(struct buf *out, const struct world *w, const struct ops_summary *s, bool over,
	      unsigned top, bool color, unsigned columns)
{
	bool few = false;

	head_lines(out, w, s);
	finding_lines(out, s);
	if (!over) /* what is drawn over is cut at the bottom */
		coverage_lines(out, w, s, over, false);
	if (s->by)
		few = by_text(out, w, s, top, color, columns);
	else
		ops_tables(out, s, color, columns, &few);
	if (s->rows.n == 0)
		buf_puts(out, s->events ? "\nno event is what was asked for\n" : "\nno events\n");
	if (!s->by)
		kernel_table(out, s, w, color, columns);
	error_lines(out, s, color);
	if (!over)
		return;
	buf_putc(out, '\n');
	coverage_lines(out, w, s, over, few);
}
