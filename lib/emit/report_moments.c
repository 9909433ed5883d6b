/* SPDX-License-Identifier: Apache-2.0 */
/* On a terminal the times stand below each other; elsewhere they are a table. */
#include "lib/emit/report_moments.h"

#include <stdio.h>

#include "lib/base/human.h"
#include "lib/base/marks.h"
#include "lib/base/table.h"
#include "lib/emit/report_parts.h"

static void moment(struct buf *out, const struct finding_moment *m)
{
	char t[48];

	snprintf(t, sizeof(t), "%.6f", (double)m->start_ns / 1e9);
	buf_printf(out, "        +%12s s  ", t);
	human_safe(out, m->layer);
	buf_printf(out, "%*s", m->layer.n < 8 ? 8 - (int)m->layer.n : 1, "");
	human_safe(out, m->text);
	buf_putc(out, '\n');
}

static void moment_cells(struct table *t, const struct finding_moment *m, struct buf *text)
{
	table_cell(t, "+%.6f s", (double)m->start_ns / 1e9);
	for (unsigned i = 0; i < 2; i++) {
		human_safe(text, i ? m->text : m->layer);
		table_cell(t, "%s", buf_text(text));
		buf_reset(text);
	}
}

void report_moments(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	static const char *const headers[] = { ">after the start", "layer", "what", NULL };
	bool marks = c->moments.n && r->columns == MARKS_COLUMNS;
	struct table *t = marks ? table_new(headers) : NULL;
	struct buf text = { 0 };

	if (c->moments.n)
		report_chain_title(out, r, color, "Timeline");
	for (size_t i = 0; i < c->moments.n; i++) {
		if (t)
			moment_cells(t, &c->moments.v[i], &text);
		else
			moment(out, &c->moments.v[i]);
	}
	if (t)
		table_fold(out, t, 0, color, r->columns);
	out->failed |= text.failed || (marks && !t);
	buf_free(&text);
	table_free(t);
}
