/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal functions of the token budget: notes on what was left out, and the jq filter.
 */
#ifndef INGERO_MCP_TOKEN_BUDGET_PARTS_H
#define INGERO_MCP_TOKEN_BUDGET_PARTS_H

#include "lib/mcp/token_budget.h"

#define TOKEN_BUDGET_NOTES 20 /* reserved for the notes on lists that are cut, */
#define TOKEN_BUDGET_NOTE  8  /* …and for each note */

/* Appends a note to the array notes: so many rows of a list were left out, by the budget or by the
 * number of rows that was requested. */
void token_budget_add_note(struct json *notes, const struct answer_list *l, size_t rows,
			   bool by_budget, uint64_t budget);
/* Appends a line for each reason: what was left out, how much, and once how to get it. */
void token_budget_write_notes(struct buf *out, struct json notes, uint64_t budget);

/* Replaces the answer by the results of args->jq: whole results, as many as fit. */
int token_budget_filter_answer(struct mcp_reply *out, struct json answer,
			       const struct tool_args *args, const struct request_ctx *rctx,
			       struct err *e);

#endif
