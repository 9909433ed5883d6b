/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events for which a jq expression is true. The expression sees the object that `ingero-export -f
 * json` writes for the event. It is the user's own: one that comes from elsewhere is not evaluated
 * here.
 */
#ifndef INGERO_FILTER_EXPR_H
#define INGERO_FILTER_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"

struct filter_expr;

/* args: "NAME=VALUE", which makes $NAME in the expression a string with that value. ERR_USAGE: one
 * has no name, or jq does not understand the expression; e says what it said. */
int filter_expr_new(struct filter_expr **out, const char *expression, const char *const *args,
		    size_t nargs, struct err *e);
void filter_expr_free(struct filter_expr *x);

/* *yes: the first thing the expression makes of this JSON object is neither false nor null. An
 * error in the evaluation (of a number that is not there, say) is no; how many there were is kept,
 * with the first one's text. */
int filter_expr_is(struct filter_expr *x, struct bytes object, bool *yes, struct err *e);
/* NULL: there were none. */
const char *filter_expr_errors(const struct filter_expr *x, uint64_t *count);

#endif
