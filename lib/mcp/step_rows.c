/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of steps for tools: the few lines of a loop that have most of a step, so that an answer of a
 * few hundred tokens says where the time goes.
 */
#include "lib/mcp/step_rows.h"

#include "lib/report/step_track.h"
#include "lib/mcp/tool.h"

#define ROWS_MOST 5
#define ROW_LEAST 0.02 /* of a step */
#define WHY_MOST  2

static struct json why_row(const struct step_track *t, const struct paths_why *why)
{
	struct json o = json_object();

	tool_set_ms(&o, "ms", step_track_per_step(t, (double)why->ns));
	tool_set_bytes(&o, "text", why->text);
	return o;
}

static struct json step_row(const struct step_track *t, const struct paths_row *row)
{
	struct json o = json_object(), why = json_array();

	tool_set_bytes(&o, "line", row->line.n ? row->line : bytes_of("elsewhere"));
	if (row->site.n)
		tool_set_bytes(&o, "site", row->site);
	tool_set_percent(&o, "percent", (double)row->ns / t->ns);
	tool_set_ms(&o, "ms", step_track_per_step(t, (double)row->ns));
	for (size_t i = 0; i < row->why.n && i < WHY_MOST; i++)
		if ((double)row->why.v[i].ns >= ROW_LEAST * t->ns)
			json_append(&why, why_row(t, &row->why.v[i]));
	json_set(&o, "why", why);
	return o;
}

void step_rows_set(struct json *o, const struct report *r)
{
	struct json rows = json_array();
	struct buf verdict = { 0 };
	struct step_track t;

	if (!step_track_main(r, &t)) {
		json_free(rows);
		return;
	}
	step_track_print_verdict(&verdict, &t);
	json_set(o, "verdict", json_string(buf_bytes(&verdict)));
	buf_free(&verdict);
	for (size_t i = 0; i < t.phase->rows.n && i < ROWS_MOST; i++)
		if ((double)t.phase->rows.v[i].ns >= ROW_LEAST * t.ns)
			json_append(&rows, step_row(&t, &t.phase->rows.v[i]));
	json_set(o, "steps", rows);
}

void step_rows_mark_outside(struct json *row, const struct report *r, const struct finding *c)
{
	if (step_track_is_outside(r, c))
		json_set(row, "outside_steps", json_bool(true));
}

/* "step: 45.3% 4.69 ms Trainer.step (train.py:204) > Trainer.plant (train.py:174): 4.09 ms sleeps
 * in ..." */
void step_row_append_text(struct buf *out, struct json row, size_t at)
{
	struct json why = json_get(row, "why"), site = json_get(row, "site");

	buf_puts(out, "step: ");
	token_budget_append_member(out, row, "percent");
	buf_puts(out, "% ");
	token_budget_append_member(out, row, "ms");
	buf_puts(out, " ms ");
	token_budget_append_member(out, row, "line");
	if (site.is) {
		buf_puts(out, " > ");
		token_budget_append_value(out, site);
	}
	for (size_t i = 0; i < json_length(why); i++) {
		struct json w = json_at(why, i);

		buf_puts(out, i ? "; " : ": ");
		token_budget_append_member(out, w, "ms");
		buf_puts(out, " ms ");
		token_budget_append_member(out, w, "text");
		json_free(w);
	}
	buf_putc(out, '\n');
	json_free(why);
	json_free(site);
}
