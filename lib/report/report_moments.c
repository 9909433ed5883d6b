/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the intervals that show a finding best: on a terminal with aligned times, elsewhere as a
 * table. */
#include "lib/report/report_internal.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/marks.h"
#include "lib/base/table.h"
#include "lib/base/timetext.h"
#include "lib/report/report_parts.h"

/* "00:00:02.922", in the zone that the title names; empty where the recording does not say what
 * time it was. */
static const char *clock_of(char text[64], const struct report *r, const struct finding_moment *m)
{
	if (r->has_real && r->has_start)
		time_local(text, 64, r->start_ns + m->start_ns + r->real_minus_mono_ns, false);
	else
		*text = '\0';
	text[strcspn(text, " ")] = '\0';
	return text;
}

static const char *zone_of(char text[64], const struct report *r)
{
	const char *zone =
		r->has_real && r->has_start
			? strrchr(time_local(text, 64, r->start_ns + r->real_minus_mono_ns, false),
				  ' ')
			: NULL;

	return zone ? zone + 1 : "";
}

static void print_moment(struct buf *out, const struct report *r, const struct finding_moment *m)
{
	char t[64];

	snprintf(t, sizeof(t), "%.6f", (double)m->start_ns / 1e9);
	buf_printf(out, "        +%12s s  ", t);
	if (*clock_of(t, r, m))
		buf_printf(out, "%s  ", t);
	fmt_safe(out, m->layer);
	buf_printf(out, "%*s", m->layer.n < 8 ? 8 - (int)m->layer.n : 1, "");
	fmt_safe(out, m->text);
	buf_putc(out, '\n');
}

static void moment_cells(struct table *t, const struct report *r, const struct finding_moment *m,
			 struct buf *text)
{
	char clock[64];

	table_cell(t, "+%.6f s", (double)m->start_ns / 1e9);
	table_cell(t, "%s", clock_of(clock, r, m));
	for (unsigned i = 0; i < 2; i++) {
		fmt_safe(text, i ? m->text : m->layer);
		table_cell(t, "%s", buf_text(text));
		buf_reset(text);
	}
}

void report_moments(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	static const char *const headers[] = { ">after the start", "at", "layer", "what", NULL };
	bool marks = c->moments.n && r->columns == MARKS_COLUMNS;
	struct table *t = marks ? table_new(headers) : NULL;
	struct buf text = { 0 };
	char zone[64], title[96];

	snprintf(title, sizeof(title), "Timeline%s%s%s", *zone_of(zone, r) ? " (" : "",
		 zone_of(zone, r), *zone_of(zone, r) ? ")" : "");
	if (c->moments.n)
		report_chain_title(out, r, color, title);
	for (size_t i = 0; i < c->moments.n; i++) {
		if (t)
			moment_cells(t, r, &c->moments.v[i], &text);
		else
			print_moment(out, r, &c->moments.v[i]);
	}
	if (t)
		table_fold(out, t, 0, color, r->columns);
	out->failed |= text.failed || (marks && !t);
	buf_free(&text);
	table_free(t);
}
