/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the text report of ingero-explain, section by section. The first line is the verdict;
 * below it each cause with its evidence and what to do, then what became of each process's time,
 * then what the recording covers. Text from outside (commands, paths, symbols) is made harmless
 * before it reaches a terminal.
 */
#include "lib/base/fmt.h"
#include "lib/report/report_breakdown.h"
#include "lib/report/report_chain.h"
#include "lib/report/report_failures.h"
#include "lib/report/report_internal.h"
#include "lib/report/report_oncpu.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_verdict.h"
#include "lib/report/report_without.h"
#include "lib/report/step_track.h"
#include "lib/report/stepless.h"

#define PROCESSES_SHOWN 5

/* "2 findings: 1 HIGH, 1 MEDIUM" */
static void put_counts(struct buf *out, const struct report *r)
{
	unsigned n[FINDING_HIGH + 1] = { 0 }, all = 0;

	for (size_t i = 0; i < r->chains->v.n; i++) {
		uint32_t severity = r->chains->v.v[i].severity;

		if (report_selects(r, &r->chains->v.v[i])) {
			n[severity < FINDING_HIGH ? severity : FINDING_HIGH]++;
			all++;
		}
	}
	if (!all)
		return;
	n[FINDING_LOW] += n[0]; /* finding_severity_name */
	fmt_counted(out, all, bytes_of("findings"));
	for (uint32_t severity = FINDING_HIGH, said = 0; severity >= FINDING_LOW; severity--)
		if (n[severity])
			buf_printf(out, "%s%s %s", said++ ? ", " : ": ", fmt_count(n[severity]).s,
				   finding_severity_name(severity));
	buf_putc(out, '\n');
}

/* The first line: of a program with steps where these go, of one without steps where all of its
 * time went, else the first cause. */
static void put_verdict(struct buf *out, const struct report *r, unsigned selected, bool steps,
			const struct paths_track *stepless, bool color)
{
	struct step_track t;
	size_t first = 0;

	if (!steps && !stepless && !selected)
		return;
	while (!steps && !stepless && !report_selects(r, &r->chains->v.v[first]))
		first++;
	report_style(out, color, "1");
	if (steps && step_track_main(r, &t))
		step_track_print_verdict(out, &t);
	else if (stepless)
		stepless_print(out, r, stepless);
	else if (!steps)
		fmt_safe(out, r->chains->v.v[first].summary);
	report_style(out, color, "0");
	buf_puts(out, ".\n");
	if (!steps && selected)
		report_oncpu_sentence(out, r);
}

/* What a start or an end took is no fault by itself: a line each. */
static void put_outside(struct buf *out, const struct report *r, bool color)
{
	report_style(out, color, "1");
	buf_puts(out, "\nBefore the first step or after the last\n");
	report_style(out, color, "0");
	for (size_t i = 0; i < r->chains->v.n; i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (!report_selects(r, c) || !step_track_is_outside(r, c))
			continue;
		buf_puts(out, "    ");
		fmt_safe(out, c->kind);
		buf_puts(out, ": ");
		fmt_safe(out, c->summary);
		buf_puts(out, "  (");
		fmt_safe(out, c->id);
		buf_puts(out, ")\n");
	}
}

void report_text(struct buf *out, const struct report *r, bool color)
{
	unsigned shown = 0, selected = 0, hidden = 0, outside;
	const struct paths_track *stepless;
	struct step_track t;
	bool steps;

	for (size_t i = 0; i < r->chains->v.n; i++) {
		selected += report_selects(r, &r->chains->v.v[i]);
		hidden += r->chains->v.v[i].hidden;
	}
	if (r->steps) {
		report_view_steps(out, r, color);
		report_coverage(out, r);
		return;
	}
	if (!r->chains_only)
		report_verdict_no_library(out, r);
	steps = !r->chains_only && !r->per_process && step_track_main(r, &t);
	stepless = steps || hidden || r->chains_only || r->per_process ? NULL : stepless_find(r);
	if (selected == 0 && stepless)
		put_verdict(out, r, selected, steps, stepless, color);
	if (selected == 0 && (!steps || hidden))
		report_verdict_none(out, r);
	if (r->chains_only) {
		if (selected)
			report_view_chains(out, r, color);
		return;
	}
	if (r->per_process) {
		put_counts(out, r);
		report_view_processes(out, r, color);
		report_coverage(out, r);
		return;
	}
	if (selected || !stepless)
		put_verdict(out, r, selected, steps, stepless, color);
	if (selected == 0 && steps && !hidden)
		report_verdict_none(out, r);
	put_counts(out, r);
	report_path_text(out, r, color);
	outside = steps ? step_track_count_outside(r) : 0;
	for (size_t i = 0; i < r->chains->v.n && (r->top == 0 || shown < r->top); i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (!report_selects(r, c) || (outside && step_track_is_outside(r, c)))
			continue;
		shown++;
		report_chain(out, r, c, shown, steps || stepless || shown > 1, color);
	}
	report_without_all(out, r);
	if (outside)
		put_outside(out, r, color);
	shown += outside;
	if (selected > shown)
		buf_printf(out, "\n%u more not shown (--top 0 shows all).\n", selected - shown);
	if (selected)
		report_verdict_calls(out, r);
	report_oncpu_text(out, r, color);
	report_failures_text(out, r, color);
	report_memory_text(out, r, color);
	report_breakdowns(out, r, PROCESSES_SHOWN, color);
	report_coverage(out, r);
}
