/* SPDX-License-Identifier: Apache-2.0 */
/* On a terminal the times stand below each other; elsewhere they are a table. */
#include "lib/emit/report_moments.h"

#include <stdio.h>

#include "lib/base/human.h"
#include "lib/base/marks.h"
#include "lib/base/table.h"
#include "lib/emit/report_parts.h"

static void moment(struct buf *out, struct json m)
{
	struct json layer = json_get(m, "layer");
	char t[48];

	snprintf(t, sizeof(t), "%.6f", report_number(m, "t_ns") / 1e9);
	buf_printf(out, "        +%12s s  ", t);
	human_safe(out, json_bytes(layer));
	buf_printf(out, "%*s", json_bytes(layer).n < 8 ? 8 - (int)json_bytes(layer).n : 1, "");
	report_member(out, m, "text", "");
	buf_putc(out, '\n');
	json_free(layer);
}

static void moment_cells(struct table *t, struct json m, struct buf *text)
{
	table_cell(t, "+%.6f s", report_number(m, "t_ns") / 1e9);
	for (unsigned i = 0; i < 2; i++) {
		report_member(text, m, i ? "text" : "layer", "");
		table_cell(t, "%s", buf_text(text));
		buf_reset(text);
	}
}

void report_moments(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	static const char *const headers[] = { ">after the start", "layer", "what", NULL };
	struct json all = json_get(c->body, "timeline");
	bool marks = json_length(all) && r->columns == MARKS_COLUMNS;
	struct table *t = marks ? table_new(headers) : NULL;
	struct buf text = { 0 };

	if (json_length(all))
		report_chain_title(out, r, color, "Timeline");
	for (size_t i = 0; i < json_length(all); i++) {
		struct json m = json_at(all, i);

		if (t)
			moment_cells(t, m, &text);
		else
			moment(out, m);
		json_free(m);
	}
	if (t)
		table_fold(out, t, 0, color, r->columns);
	out->failed |= text.failed || (marks && !t);
	buf_free(&text);
	table_free(t);
	json_free(all);
}
