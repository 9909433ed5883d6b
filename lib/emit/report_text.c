/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for people. The first line is the verdict; below it each cause with its evidence and
 * what to do, then what became of each process's time, then what the recording covers. Text
 * from outside (commands, paths, symbols) is made harmless before it reaches a terminal.
 */
#include "lib/base/human.h"
#include "lib/emit/report_breakdown.h"
#include "lib/emit/report_chain.h"
#include "lib/emit/report_failures.h"
#include "lib/emit/report_memory.h"
#include "lib/emit/report_oncpu.h"
#include "lib/emit/report_parts.h"
#include "lib/emit/report_step_table.h"
#include "lib/emit/report_steps.h"
#include "lib/emit/report_verdict.h"
#include "lib/emit/report_views.h"

#define PROCESSES_SHOWN 5

void report_text(struct buf *out, const struct report *r, bool color)
{
	unsigned shown = 0, selected = 0;

	for (size_t i = 0; i < r->chains->v.n; i++)
		selected += report_selects(r, &r->chains->v.v[i]);
	if (r->steps) {
		report_view_steps(out, r, color);
		report_coverage(out, r);
		return;
	}
	if (selected == 0)
		report_verdict_none(out, r);
	if (r->chains_only) {
		if (selected)
			report_view_chains(out, r, color);
		return;
	}
	if (r->per_process) {
		report_view_processes(out, r, color);
		report_coverage(out, r);
		return;
	}
	for (size_t i = 0; i < r->chains->v.n && (r->top == 0 || shown < r->top); i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (!report_selects(r, c))
			continue;
		if (shown++ == 0) {
			report_style(out, color, "1");
			human_safe(out, c->summary);
			report_style(out, color, "0");
			buf_puts(out, ".\n");
			report_oncpu_sentence(out, r);
		}
		report_chain(out, r, c, shown, color);
	}
	if (selected > shown)
		buf_printf(out, "\n%u more not shown (--top 0 shows all).\n", selected - shown);
	if (selected)
		report_verdict_calls(out, r);
	report_oncpu_text(out, r, color);
	report_failures_text(out, r, color);
	report_memory_text(out, r, color);
	report_steps_text(out, r, color);
	report_breakdowns(out, r, PROCESSES_SHOWN, color);
	report_coverage(out, r);
}
