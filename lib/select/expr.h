/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events for which a jq expression is true. The expression sees the object that `ingero-export -f json` writes for the
 * event. It is the user's own: one that comes from elsewhere is not evaluated here.
 */
#ifndef INGERO_SELECT_EXPR_H
#define INGERO_SELECT_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"

struct select_expr;

/* args: "NAME=VALUE", which makes $NAME in the expression a string with that value. ERR_USAGE: one has no name, or jq does
 * not understand the expression; e says what it said. */
int select_expr_new(struct select_expr **out, const char *expression, const char *const *args,
		    size_t nargs, struct err *e);
void select_expr_free(struct select_expr *x);

/* *yes: the first thing the expression makes of this JSON object is neither false nor null. An error in the evaluation
 * (of a number that is not there, say) is no; how many there were is kept, with the first one's text. */
int select_expr_is(struct select_expr *x, struct bytes object, bool *yes, struct err *e);
/* NULL: there were none. */
const char *select_expr_errors(const struct select_expr *x, uint64_t *count);

#endif
