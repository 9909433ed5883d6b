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

struct shape_word; /* a value */

struct shape_words {
	VEC(struct shape_word) v;
};

/* Each value of the column, then the end of them. false: out of memory, and no marks then. */
bool shape_words_look(struct shape_words *w, struct bytes value);
void shape_words_settle(struct shape_words *w);
/* A value, or its mark. marks: how many were given, in all columns of a table. */
void shape_words_put(struct shape_words *w, struct buf *out, struct bytes value, unsigned *marks);
void shape_words_free(struct shape_words *w);

#endif
