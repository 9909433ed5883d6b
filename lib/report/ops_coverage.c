/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the recording covers: first what is unknown, then what was left out on purpose. */
#include "lib/report/ops_coverage.h"

#include "lib/base/fmt.h"
#include "lib/report/table_cells.h"
#include "lib/report/report_internal.h"
#include "lib/report/view_lines.h"
#include "lib/event/missing.h"
#include "lib/event/record.h"
#include "lib/world/stack_ends.h"

#define ENDS_SHOWN	4 /* modules in which stacks end */
#define UNCOVERED_SHOWN 8

/* Empty: it did nothing in the recording. */
static struct bytes comm_of(const struct world *w, const struct ops_summary *s, uint32_t process)
{
	for (size_t i = 0; i < s->processes.n; i++)
		if (s->processes.v[i].process == process)
			return world_text(w,
					  world_process_name(w, s->processes.v[i].process,
							     s->processes.v[i].image, INT64_MAX));
	return (struct bytes){ 0 };
}

/* Calls that are missing on purpose: what that is called, and why. */
static void left_out_line(struct buf *out, const char *what, const char *why, uint64_t calls)
{
	if (calls)
		buf_printf(
			out,
			"coverage: %s: %s calls more were made and counted, and not recorded (%s): "
			"counts and totals here are of those recorded\n",
			what, fmt_count(calls).s, why);
}

static void stacks_line(struct buf *out, const struct world *w, const struct stack_ends_sum *sum)
{
	if (!sum || sum->events == 0 || (sum->whole == sum->events && !sum->walks_known))
		return;
	buf_puts(out, "coverage: native stacks: ");
	stack_ends_text(sum, w, ENDS_SHOWN, out);
	buf_putc(out, '\n');
}

static void late_line(struct buf *out, const struct world *w, const struct ops_layer *l,
		      struct bytes what)
{
	buf_printf(out, "coverage: %s of %s ", fmt_count(l->attached).s, fmt_count(l->requested).s);
	fmt_safe(out, what);
	view_on(out, w, l->node);
	buf_puts(out, " were read by the recorder: their memory was not mapped yet\n");
}

/* A runtime without symbols, inside a file: nothing could be asked for, and that is said. */
static bool is_stripped(const struct world *w, const struct ops_layer *l)
{
	return l->process && l->requested == 0 && l->reason &&
	       bytes_equal(world_text(w, l->layer), bytes_of("runtime"));
}

/* Of another process. */
static bool is_named_before(const struct ops_summary *s, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (s->layers.v[i].path == s->layers.v[at].path && s->layers.v[i].requested == 0)
			return true;
	return false;
}

static void stripped_line(struct buf *out, const struct world *w, const struct ops_layer *l)
{
	buf_puts(out, "coverage: ");
	fmt_safe(out, world_text(w, l->path));
	buf_puts(out, ": ");
	fmt_safe(out, world_text(w, l->reason));
	buf_putc(out, '\n');
}

/* A line for each library of each process; of many, some. */
static void uncovered_lines(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	size_t said = 0, unseen = 0;

	for (size_t i = 0; i < s->uncovered.v.n; i++) {
		const struct uncovered_row *u = &s->uncovered.v.v[i];

		if (!u->layer[0]) {
			unseen++;
			continue;
		}
		if (said++ >= UNCOVERED_SHOWN)
			continue;
		buf_puts(out, "coverage: ");
		uncovered_text(out, u, world_process_pid(w, u->process), comm_of(w, s, u->process));
		buf_putc(out, '\n');
	}
	if (said > UNCOVERED_SHOWN)
		buf_printf(
			out,
			"coverage: calls of %zu libraries of processes more were not recorded, or "
			"not from their start\n",
			said - UNCOVERED_SHOWN);
	if (unseen)
		buf_printf(
			out,
			"coverage: calls of %zu process%s were not recorded, if there were any: %s "
			"ended before %s libraries could be read\n",
			unseen, unseen == 1 ? "" : "es", unseen == 1 ? "it" : "they",
			unseen == 1 ? "its" : "their");
}

/* Once for each tier and machine. */
static void paused_lines(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	for (size_t i = 0; i < s->paused.n; i++) {
		const struct ops_paused *p = &s->paused.v[i];

		buf_puts(out, "coverage: ");
		paused_text(out, p->tier, p->covered, -1, p->least, p->reason);
		view_on(out, w, p->node);
		buf_putc(out, '\n');
	}
}

static void folded_line(struct buf *out, const struct ops_summary *s)
{
	const struct ops_folded *most = s->folded.v;
	uint64_t calls = 0;

	for (size_t i = 0; i < s->folded.n; i++) {
		calls += s->folded.v[i].calls;
		if (s->folded.v[i].calls > most->calls)
			most = &s->folded.v[i];
	}
	if (!calls)
		return;
	buf_printf(
		out,
		"coverage: %s more driver calls were made by the runtime's own, whose events stand "
		"for them: %s%s\n",
		fmt_count(calls).s, s->folded.n > 1 ? "most of them " : "", most->op->name);
}

void ops_coverage_line(struct buf *out, const struct ops_summary *s, bool over)
{
	buf_printf(out, "coverage: %s events", fmt_count(s->events).s);
	if (s->selected != s->events)
		buf_printf(out, " (%s counted here)", fmt_count(s->selected).s);
	buf_printf(out, ", %s lost", fmt_count(s->lost).s);
	for (unsigned i = 0; i < OPS_LOSS_REASONS; i++)
		if (s->loss_by_reason[i])
			buf_printf(out, " (%s: %s)", loss_reason_text(i),
				   fmt_count(s->loss_by_reason[i]).s);
	if (s->late)
		buf_printf(out, ", %s late", fmt_count(s->late).s);
	if (s->open)
		buf_printf(out, ", %s call%s still open at the end", fmt_count(s->open).s,
			   s->open == 1 ? "" : "s");
	buf_printf(out, ", window %s", fmt_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	if (over && !s->complete)
		buf_puts(out, ", without an end");
	if (s->exact)
		buf_puts(out, ", quantiles exact");
	buf_putc(out, '\n');
}

void ops_coverage_lines(struct buf *out, const struct world *w, const struct ops_summary *s,
			bool over, bool few)
{
	ops_coverage_line(out, s, over);
	left_out_line(out, "sampled", "one of several was asked for", s->sampled_out);
	left_out_line(out, "given up", "to stay within the budget", s->given_up);
	left_out_line(out, "not kept", "waits among them: its recorder keeps a part", s->not_kept);
	paused_lines(out, w, s);
	folded_line(out, s);
	if (s->cpu_hz)
		buf_printf(out,
			   "coverage: each CPU sample stands for about %s of CPU time (%u a "
			   "second of each CPU; ingero-explain says where)\n",
			   fmt_ns(1000000000 / s->cpu_hz).s, s->cpu_hz);
	stacks_line(out, w, s->stacks);
	unwind_coverage_text(out, w, s);
	if (s->cost_over_ns)
		buf_printf(out,
			   "coverage: recording took about %s of the wall time from the programs "
			   "(estimate: calibrated traps, measured programs)\n",
			   fmt_percent((double)s->cost_ns / (double)s->cost_over_ns).s);
	if (s->stops)
		buf_printf(
			out,
			"coverage: the recorder stopped programs %s time%s to attach to what they "
			"had loaded, for %s in all\n",
			fmt_count(s->stops).s, s->stops == 1 ? "" : "s", fmt_ns(s->stopped_ns).s);
	uncovered_lines(out, w, s);
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct ops_layer *l = &s->layers.v[i];
		struct bytes lost = missing_what(world_text(w, l->layer));
		struct bytes late = missing_late(world_text(w, l->layer));

		if (late.n) {
			late_line(out, w, l, late);
			continue;
		}
		if (is_stripped(w, l) && !is_named_before(s, i)) {
			stripped_line(out, w, l);
			continue;
		}
		/* What has no probes at all stands among the calls that are not recorded. */
		if (l->failed == 0 || (l->process && l->attached == 0) ||
		    bytes_equal(world_text(w, l->layer), bytes_of("stacks")) ||
		    unwind_coverage_is(w, l))
			continue; /* stacks: counted anew from what is looked at */
		buf_puts(out, "coverage: ");
		if (lost.n) {
			struct buf on = { 0 };

			view_on(&on, w, l->node);
			missing_text(out, l->failed, l->requested, lost, buf_bytes(&on),
				     world_text(w, l->reason));
			buf_putc(out, '\n');
			buf_free(&on);
			continue;
		}
		fmt_safe(out, world_text(w, l->layer));
		buf_printf(out, ": %u of %u not traced", l->failed, l->requested);
		if (l->reason) {
			buf_puts(out, ": ");
			fmt_safe(out, world_text(w, l->reason));
		}
		buf_putc(out, '\n');
	}
	if (few)
		buf_printf(out,
			   CELL_FEW_MARK
			   " a quantile over fewer than %d calls; share is of wall time, calls "
			   "inside not counted again\n",
			   CELL_FEW);
}
