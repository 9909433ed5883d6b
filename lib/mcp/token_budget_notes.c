/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was left out of an answer, and how to ask for it.
 */
#include <inttypes.h>

#include "lib/mcp/token_budget_internal.h"

void token_budget_add_note(struct json *notes, const struct answer_list *l, size_t rows,
			   bool by_budget, uint64_t budget)
{
	struct json o = json_object();
	struct buf how = { 0 };

	if (by_budget)
		buf_printf(&how, "budget %" PRIu64 " tokens: ask with a larger budget%s%s", budget,
			   l->more ? ", or " : "", l->more ? l->more : "");
	else
		buf_printf(&how, "ask with %s", l->more ? l->more : "a larger top_n");
	json_set(&o, "list", json_text(l->key));
	json_set(&o, "rows", json_number((double)rows));
	json_set(&o, "by", json_text(by_budget ? "budget" : "top"));
	json_set(&o, "how", json_string(buf_bytes(&how)));
	json_append(notes, o);
	buf_free(&how);
}

void token_budget_write_notes(struct buf *out, struct json notes, uint64_t budget)
{
	static const char *const reasons[] = { "budget", "top" };

	for (unsigned r = 0; r < 2; r++) {
		unsigned listed = 0;

		for (size_t i = 0; i < json_length(notes); i++) {
			struct json o = json_at(notes, i), by = json_get(o, "by");

			if (bytes_equal(json_bytes(by), bytes_of(reasons[r]))) {
				if (listed++)
					buf_puts(out, ", ");
				else if (r == 0)
					buf_printf(out, "left out by the budget of %" PRIu64 ": ",
						   budget);
				else
					buf_puts(out, "left out: ");
				token_budget_append_member(out, o, "rows");
				buf_putc(out, ' ');
				token_budget_append_member(out, o, "list");
				if (r == 1) {
					buf_puts(out, " (");
					token_budget_append_member(out, o, "how");
					buf_putc(out, ')');
				}
			}
			json_free(by);
			json_free(o);
		}
		if (listed)
			buf_putc(out, '\n');
	}
}
