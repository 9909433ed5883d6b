/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of how answers are shaped, for the files that do it.
 */
#ifndef INGERO_MCP_TOKEN_BUDGET_PARTS_H
#define INGERO_MCP_TOKEN_BUDGET_PARTS_H

#include "lib/mcp/token_budget.h"

#define SHAPE_NOTES_TOKENS 20 /* reserved for the notes on lists that are cut, */
#define SHAPE_NOTE_TOKENS  8  /* …and for each note */

/* One more of notes, an array: so many rows of a list were left out, by the budget or by how many
 * were asked for. */
void shape_note(struct json *notes, const struct shape_list *l, size_t rows, bool by_budget,
		uint64_t budget);
/* A line for each reason: what, how much, and once how to have it. */
void shape_notes_write(struct buf *out, struct json notes, uint64_t budget);

/* Instead of the answer, what args->jq makes of it: whole results only. */
int shape_filter(struct mcp_reply *out, struct json answer, const struct tool_args *args,
		 const struct request_ctx *rctx, struct err *e);

#endif
