/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the findings of each process below each other. A finding belongs to its victim; one
 * without a victim belongs to the machine. */
#include "lib/report/report_internal.h"

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/report/report_breakdown.h"
#include "lib/report/report_chain.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_recording.h"

void report_view_chains(struct buf *out, const struct report *r, bool color)
{
	static const char *const headers[] = { "severity", "kind", ">lost", ">of wall",
					       "id",	   "what", NULL };
	struct table *t = table_new(headers);
	struct buf text = { 0 };
	unsigned shown = 0, selected = 0;
	char ns[48];

	(void)color;
	out->failed |= !t;
	for (size_t i = 0; t && i < r->chains->v.n; i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (!report_selects(r, c))
			continue;
		selected++;
		if (r->top && shown == r->top)
			continue;
		shown++;
		table_cell(t, "%s", finding_severity_name(c->severity));
		table_cell(t, "%.*s", (int)c->kind.n, c->kind.p);
		table_cell(t, "%s%s", c->lost_ns ? report_about(c) : "",
			   c->lost_ns ? report_ns(ns, sizeof(ns), (double)c->lost_ns) : "");
		table_cell(t, "%s", c->lost_ns ? fmt_percent(c->share).s : "");
		table_cell(t, "%.*s", (int)c->id.n, c->id.p);
		fmt_safe(&text, c->summary);
		table_cell(t, "%s", buf_text(&text));
		buf_reset(&text);
	}
	if (t)
		table_fold(out, t, 0, false, r->columns);
	if (selected > shown)
		buf_printf(out, "%u more not shown (--top 0 shows all).\n", selected - shown);
	out->failed |= text.failed;
	buf_free(&text);
	table_free(t);
}

void report_view_processes(struct buf *out, const struct report *r, bool color)
{
	struct json all = json_get(r->chains->analysis, "processes");
	unsigned machine = 0;

	report_shared_gpus(out, r);
	for (size_t i = 0; i < json_length(all); i++) {
		struct json p = json_at(all, i);
		unsigned shown = 0;

		if (report_shows(r, p)) {
			if (out->n)
				buf_putc(out, '\n');
			report_process_heading(out, p, "", color);
			for (size_t k = 0; k < r->chains->v.n; k++) {
				if (!r->chains->v.v[k].hidden &&
				    report_is_of(&r->chains->v.v[k], p) &&
				    (r->top == 0 || shown < r->top))
					report_chain(out, r, &r->chains->v.v[k], ++shown, true,
						     color);
			}
			if (shown == 0)
				buf_puts(out, "No cause found.\n");
			report_operations(out, r, p, color);
			report_breakdown(out, r, p, color);
		}
		json_free(p);
	}
	for (size_t k = 0; k < r->chains->v.n; k++) {
		if (r->chains->v.v[k].hidden || r->chains->v.v[k].victim.pid != 0)
			continue;
		if (machine++ == 0)
			buf_puts(out, "\n== The machine\n");
		report_chain(out, r, &r->chains->v.v[k], machine, true, color);
	}
	json_free(all);
}
