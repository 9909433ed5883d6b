/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a list as lines of text: what is the same in all of them is said once before them,
 * and long numbers that lie close to each other are counted from the least, and a long value that
 * comes again is a mark then. Nothing is lost: every value stands in the text, or follows from what
 * stands before it.
 */
#ifndef INGERO_MCP_TOKEN_BUDGET_ROWS_H
#define INGERO_MCP_TOKEN_BUDGET_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/mcp/token_budget.h"

struct token_budget_cells; /* a column */

struct token_budget_rows {
	const struct answer_list *list;
	VEC(struct token_budget_cells) columns;
	unsigned marks; /* given to values that come again */
};

/* The lines before the rows go to head, when there are rows. answer: where the list is from. Out of
 * memory: head has failed. */
void token_budget_rows_begin(struct token_budget_rows *r, struct buf *head,
			     const struct answer_list *l, struct json answer, struct json rows);
/* at: how many rows were before it. */
void token_budget_rows_write(struct token_budget_rows *r, struct buf *out, struct json row,
			     size_t at);
void token_budget_rows_end(struct token_budget_rows *r);

#endif
