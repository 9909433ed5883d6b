/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that were open before a part of a recording begins, and are open in it: a recorder says once that a call is, and one
 * that was killed says nothing at its end. What a thread did in between shows whether its call had returned.
 */
#ifndef INGERO_INPUT_OPENED_H
#define INGERO_INPUT_OPENED_H

#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/event/stream.h"
#include "lib/select/select.h"
#include "lib/world/world.h"

/* Zero-initialised is ready. */
struct input_opened {
	VEC(struct record) calls; /* OPEN */
};

int input_opened_add(struct input_opened *o, const struct record *r, struct err *e);

/* What happens before the part: calls that it shows to have returned, or never to return, are forgotten. True: the part
 * begins in item, which is of it from there on. */
bool input_opened_ends(struct input_opened *o, const struct world *w,
		       const struct stream_item *item, const struct select *sel);

/* Another recording begins: what was open in the one before it is not known to be. r: SESSION. */
void input_opened_session(struct input_opened *o, const struct world *w, const struct record *r);

/* When the first of them began, where that is before floor_ns; else floor_ns. */
int64_t input_opened_floor(const struct input_opened *o, int64_t floor_ns);

void input_opened_free(struct input_opened *o);

#endif
