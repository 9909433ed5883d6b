/* SPDX-License-Identifier: Apache-2.0 */
/* Prints where each process's time went as bars, largest share first; time whose state the kernel
 * did not report is shown as unknown. */
#include "lib/report/report_breakdown.h"

#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/base/marks.h"
#include "lib/base/plot.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_recording.h"
#include "lib/report/report_internal.h"
#include "lib/event/part.h"

#define BAR_WIDTH  24
#define LEAST	   0.001 /* of the time: what is less is one line together */
#define LEAST_IDLE 0.01	 /* of the longest process's time: of one that makes no calls */

bool report_recorded(const struct report *r, const char *what)
{
	return report_is_true(r->chains->analysis, what);
}

struct share {
	enum part part;
	double ns;
};

static int by_ns(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (int)x->part - (int)y->part;
}

/* Without off-CPU intervals it is unknown whether a thread ran or waited. */
static const char *part_said(enum part part, bool host)
{
	if (!host && part == PART_SELF)
		return "running or waiting: not recorded which";
	if (!host && part == PART_DEVICE)
		return "inside calls that wait for the GPU";
	return part_text(part);
}

void report_breakdown(struct buf *out, const struct report *r, struct json p, bool color)
{
	bool host = report_recorded(r, "host_recorded"),
	     steal = report_recorded(r, "steal_recorded");
	bool calling = report_number(p, "calling_threads") > 0;
	struct json parts = json_get(p, calling ? "calling_parts" : "parts");
	double all = report_number(p, calling ? "calling_thread_ns" : "thread_ns");
	bool paused = report_has_paused(r);
	struct share v[PART_COUNT];
	unsigned n = 0;
	char t[48];

	for (unsigned i = 0; i < PART_COUNT; i++) {
		double ns = report_number(parts, part_name((enum part)i));

		if (ns > 0)
			v[n++] = (struct share){ (enum part)i, ns };
	}
	json_free(parts);
	if (n == 0)
		return;
	qsort(v, n, sizeof(*v), by_ns);
	buf_putc(out, '\n');
	report_style(out, color, "1");
	buf_puts(out, "Time of ");
	report_member(out, p, "comm", "?");
	buf_printf(out, " (pid %.0f)", report_number(p, "pid"));
	report_on(out, r, p);
	report_style(out, color, "0");
	buf_printf(out, ": %s", report_ns(t, sizeof(t), all));
	if (calling && report_number(p, "threads") > 1)
		buf_printf(out, " in %.0f of %.0f threads, those that make calls (",
			   report_number(p, "calling_threads"), report_number(p, "threads"));
	else
		buf_printf(out, " in %.0f thread%s (", report_number(p, "threads"),
			   report_number(p, "threads") == 1 ? "" : "s");
	if (report_number(p, "calls") == 0 && report_is_uncovered(r, p)) {
		buf_puts(out, "no call recorded)\n");
	} else {
		fmt_counted(out, (uint64_t)report_number(p, "calls"), bytes_of("calls"));
		buf_puts(out, paused ? " recorded)\n" : ")\n");
	}
	for (unsigned i = 0; i < n; i++) {
		if (v[i].ns < LEAST * all && n - i > 1) {
			for (unsigned k = i + 1; k < n; k++)
				v[i].ns += v[k].ns;
			buf_printf(out, "    %10s %5.1f%%  %*s  %u more, each below 0.1%%\n",
				   report_ns(t, sizeof(t), v[i].ns), v[i].ns / all * 100, BAR_WIDTH,
				   "", n - i);
			break;
		}
		buf_printf(out, "    %10s %5.1f%%  ", report_ns(t, sizeof(t), v[i].ns),
			   v[i].ns / all * 100);
		if (r->columns == MARKS_COLUMNS)
			plot_bar(out, v[i].ns / all, BAR_WIDTH, PLOT_MARKS, color,
				 view_part_style(v[i].part));
		else
			fmt_bar(out, v[i].ns / all, BAR_WIDTH);
		buf_printf(out, "  %s%s\n", part_said(v[i].part, host),
			   paused && v[i].part == PART_SELF ? ", with calls that were not recorded"
							    : "");
	}
	if (host && !steal)
		buf_printf(out, "    %10s %6s  %*s  %s (the kernel did not say)\n", "unknown", "",
			   BAR_WIDTH, "", part_text(PART_STOLEN));
}

struct candidate {
	size_t at;
	bool calling;
	double ns;
};

static int by_weight(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->calling != y->calling)
		return x->calling ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* The sort key of a process: the time of its threads, ns. A process without calls that waits for
 * children or for what is written into a pipe, such as a launcher or a tracker, counts only the
 * time it computes. */
static double weight_of(struct json p, bool calling)
{
	static const enum part patient[] = { PART_CHILD, PART_FD, PART_POLL, PART_BLOCKED };
	double ns = report_number(p, "thread_ns");
	struct json parts = json_get(p, "parts");

	for (size_t i = 0; !calling && i < sizeof(patient) / sizeof(patient[0]); i++)
		ns -= report_number(parts, part_name(patient[i]));
	json_free(parts);
	return ns;
}

void report_breakdowns(struct buf *out, const struct report *r, unsigned most, bool color)
{
	struct json all = json_get(r->chains->analysis, "processes");
	size_t n = 0, many = json_length(all), shown = 0, more = 0;
	struct candidate *v = calloc(many ? many : 1, sizeof(*v));
	double longest = 0;

	if (!v)
		out->failed = true;
	for (size_t i = 0; v && i < many; i++) {
		struct json p = json_at(all, i);

		if (report_shows(r, p)) {
			bool calling = report_number(p, "calling_threads") > 0;

			v[n] = (struct candidate){ i, calling, weight_of(p, calling) };
			longest = v[n].ns > longest ? v[n].ns : longest;
			n++;
		}
		json_free(p);
	}
	if (n)
		qsort(v, n, sizeof(*v), by_weight);
	for (; shown < n && shown < most; shown++) {
		struct json p;

		if (r->npids == 0 && !v[shown].calling && v[shown].ns < LEAST_IDLE * longest)
			break;
		p = json_at(all, v[shown].at);
		report_breakdown(out, r, p, color);
		json_free(p);
	}
	for (size_t i = shown; i < n; i++)
		more += v[i].calling;
	if (more)
		buf_printf(out,
			   "\n%zu more process%s that make%s calls not shown (-p PID shows one).\n",
			   more, more == 1 ? "" : "es", more == 1 ? "s" : "");
	free(v);
	json_free(all);
}
