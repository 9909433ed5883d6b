/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is nothing is a dash: tables are read for what stands out.
 */
#include "lib/emit/cells.h"

#include <stdio.h>
#include <string.h>

const char *cell_quantile(struct human_text *t, uint64_t ns, uint64_t count)
{
	char few[sizeof(t->s)];

	*t = human_ns(ns);
	if (count < CELL_FEW) {
		snprintf(few, sizeof(few), "~%.40s", t->s);
		memcpy(t->s, few, sizeof(t->s));
	}
	return t->s;
}

void cell_quantiles(struct table *t, uint64_t p50_ns, uint64_t p95_ns, uint64_t p99_ns,
		    uint64_t count)
{
	struct human_text text;

	table_cell(t, "%s", cell_quantile(&text, p50_ns, count));
	table_cell(t, "%s", cell_quantile(&text, p95_ns, count));
	table_cell(t, "%s", cell_quantile(&text, p99_ns, count));
}

void cell_errors(struct table *t, uint64_t errors)
{
	if (errors)
		table_cell_styled(t, HUMAN_RED, "%s", human_count(errors).s);
	else
		table_cell(t, "-");
}

void cell_share(struct table *t, uint64_t ns, double wall_ns)
{
	table_cell(t, "%s", wall_ns > 0 ? human_percent((double)ns / wall_ns).s : "-");
}

void cell_lost(struct table *t, uint64_t ns)
{
	if (ns)
		table_cell_styled(t, HUMAN_YELLOW, "%s", human_ns(ns).s);
	else
		table_cell(t, "-");
}
