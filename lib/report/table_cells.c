/* SPDX-License-Identifier: Apache-2.0 */
/* Fills table cells with numbers, durations and shares. Nothing is a dash, so that values stand
 * out. */
#include "lib/report/table_cells.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/marks.h"

#define TITLE_CHARS 96

const char *cell_quantile(struct fmt_text *t, uint64_t ns, uint64_t count)
{
	char few[sizeof(t->s)];

	*t = fmt_ns(ns);
	if (count < CELL_FEW) {
		snprintf(few, sizeof(few), CELL_FEW_MARK "%.40s", t->s);
		memcpy(t->s, few, sizeof(t->s));
	}
	return t->s;
}

void cell_quantiles(struct table *t, uint64_t p50_ns, uint64_t p95_ns, uint64_t p99_ns,
		    uint64_t count)
{
	struct fmt_text text;

	table_cell(t, "%s", cell_quantile(&text, p50_ns, count));
	table_cell(t, "%s", cell_quantile(&text, p95_ns, count));
	table_cell(t, "%s", cell_quantile(&text, p99_ns, count));
}

void cell_errors(struct table *t, uint64_t errors)
{
	cell_errors_about(t, errors, "");
}

void cell_share(struct table *t, uint64_t ns, double wall_ns)
{
	cell_share_about(t, ns, wall_ns, "");
}

void cell_lost(struct table *t, uint64_t ns)
{
	cell_lost_about(t, ns, "");
}

void cell_errors_about(struct table *t, uint64_t errors, const char *about)
{
	if (errors)
		table_cell_styled(t, FMT_RED, "%s%s", about, fmt_count(errors).s);
	else
		table_cell(t, "-");
}

void cell_share_about(struct table *t, uint64_t ns, double wall_ns, const char *about)
{
	if (wall_ns > 0)
		table_cell(t, "%s%s", about, fmt_percent((double)ns / wall_ns).s);
	else
		table_cell(t, "-");
}

void cell_lost_about(struct table *t, uint64_t ns, const char *about)
{
	if (ns)
		table_cell_styled(t, FMT_YELLOW, "%s%s", about, fmt_ns(ns).s);
	else
		table_cell(t, "-");
}

void cell_title(struct table *t, struct buf *title)
{
	table_cell_long(t, buf_bytes(title), TITLE_CHARS);
	buf_reset(title);
}

void cell_pair(struct table *t, const uint64_t ns[2], const uint64_t count[2])
{
	for (unsigned i = 0; i < 2; i++)
		table_cell(t, "%s", count[i] ? fmt_ns(ns[i]).s : "-");
}

void cell_more_of(struct buf *out, uint64_t left, const char *what, const char *plural,
		  unsigned columns)
{
	buf_printf(out, "  %s %s%s more%s\n", fmt_count(left).s, what, left == 1 ? "" : plural,
		   columns == MARKS_COLUMNS ? "" : " (--top 0 shows all)");
}

void cell_more(struct buf *out, uint64_t left, unsigned columns)
{
	cell_more_of(out, left, "row", "s", columns);
}

const char *cell_side_name(unsigned side)
{
	return side ? "after" : "before";
}

void cell_side(struct buf *out, unsigned side, const char *name, uint64_t events, uint64_t wall_ns,
	       uint64_t lost)
{
	buf_printf(out, "%-7s ", cell_side_name(side));
	fmt_safe(out, bytes_of(name));
	buf_printf(out, ": %s", fmt_count(events).s);
	buf_printf(out, " events over %s", fmt_ns(wall_ns).s);
	buf_printf(out, ", %s lost\n", fmt_count(lost).s);
}
