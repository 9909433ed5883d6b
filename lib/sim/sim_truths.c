/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the list of scenarios, and the causes planted in a generated recording. JSON has the shape
 * of formats/demo.schema.json.
 */
#include "lib/sim/sim_truths.h"

#include "lib/base/fmt.h"
#include "lib/base/table.h"

void sim_truths_json(struct jsonw *j, const struct sim_truth *t, unsigned n)
{
	jsonw_key_array(j, "truths");
	for (unsigned i = 0; i < n; i++) {
		if (t[i].count == 0)
			continue;
		jsonw_object_begin(j);
		jsonw_key_str(j, "kind", t[i].kind);
		jsonw_key_str(j, "culprit", t[i].culprit);
		jsonw_key_u64(j, "culprit_pid", t[i].culprit_pid);
		jsonw_key_u64(j, "victim_pid", t[i].victim_pid);
		jsonw_key_u64(j, "lost_ns", t[i].lost_ns);
		jsonw_key_u64(j, "count", t[i].count);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

/* Prints and frees the table; NULL: out of memory. */
static void print_table(struct buf *out, struct table *table, bool color, unsigned columns)
{
	if (table)
		table_fold(out, table, 0, color, columns);
	else
		out->failed = true;
	table_free(table);
}

void sim_truths_text(struct buf *out, const struct sim_truth *t, unsigned n, bool color,
		     unsigned columns)
{
	static const char *const headers[] = { "planted", "culprit", ">pid", ">victim",
					       ">lost",	  ">times",  NULL };
	struct table *table = table_new(headers);
	unsigned rows = 0;

	for (unsigned i = 0; table && i < n; i++) {
		if (t[i].count == 0)
			continue;
		rows++;
		table_cell(table, "%s", t[i].kind);
		table_cell(table, "%s", t[i].culprit);
		table_cell(table, "%u", t[i].culprit_pid);
		table_cell(table, "%u", t[i].victim_pid);
		table_cell(table, "%s", fmt_ns(t[i].lost_ns).s);
		table_cell(table, "%s", fmt_count(t[i].count).s);
	}
	if (table && !rows) {
		buf_puts(out, "nothing is planted\n");
		table_free(table);
		return;
	}
	print_table(out, table, color, columns);
}

void sim_list_json(struct buf *out)
{
	struct jsonw j;
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);

	jsonw_init(&j, out, true);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "schema", "ingero.demo/1");
	jsonw_key_array(&j, "scenarios");
	for (unsigned i = 0; i < n; i++) {
		jsonw_object_begin(&j);
		jsonw_key_str(&j, "name", s[i].name);
		jsonw_key_str(&j, "summary", s[i].summary);
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_putc(out, '\n');
}

void sim_list_text(struct buf *out, bool color, unsigned columns)
{
	static const char *const headers[] = { "scenario", "what is wrong", NULL };
	struct table *table = table_new(headers);
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);

	for (unsigned i = 0; table && i < n; i++) {
		table_cell(table, "%s", s[i].name);
		table_cell(table, "%s", s[i].summary);
	}
	print_table(out, table, color, columns);
}
