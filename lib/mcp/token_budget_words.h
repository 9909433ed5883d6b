/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long values that a column has more than once: each is written once, behind a mark
 * ("$1=-4464974622736286501"), and is the mark from there on ("$1"). Zero-initialised knows none.
 */
#ifndef INGERO_MCP_TOKEN_BUDGET_WORDS_H
#define INGERO_MCP_TOKEN_BUDGET_WORDS_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"

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

#endif
