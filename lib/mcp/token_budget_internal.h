/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the token budget: notes on what was left out, the jq filter, rows and words.
 */
#ifndef INGERO_MCP_TOKEN_BUDGET_INTERNAL_H
#define INGERO_MCP_TOKEN_BUDGET_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/mcp/token_budget.h"

/*
 * Internal functions of the token budget: notes on what was left out, and the jq filter.
 */

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

/*
 * Long values that a column has more than once: each is written once, behind a mark
 * ("$1=-4464974622736286501"), and is the mark from there on ("$1"). Zero-initialised knows none.
 */

struct token_budget_word; /* a value */

struct token_budget_words {
	VEC(struct token_budget_word) v;
};

/* Counts each value of the column; afterwards, chooses those that are worth a mark. false: out of
 * memory, and no marks then. */
bool token_budget_words_count(struct token_budget_words *w, struct bytes value);
void token_budget_words_choose(struct token_budget_words *w);
/* Appends a value or its mark. marks: how many were given, in all columns of a table. */
void token_budget_words_append(struct token_budget_words *w, struct buf *out, struct bytes value,
			       unsigned *marks);
void token_budget_words_free(struct token_budget_words *w);

/*
 * The rows of a list as lines of text: what is the same in all of them is said once before them,
 * and long numbers that lie close to each other are counted from the least, and a long value that
 * comes again is a mark then. Nothing is lost: every value stands in the text, or follows from what
 * stands before it.
 */

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
