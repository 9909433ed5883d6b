/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream as if recording had begun and ended with the selection's time: for analyses, whose parts
 * must sum up. What ended before it or had not ended with it is left out, as from any recording;
 * what began before it begins with it, calls and waits alike, and calls that never returned are
 * open at its end. Chains and analyses of the whole are left out: they are of another time.
 */
#ifndef INGERO_FILTER_CUT_H
#define INGERO_FILTER_CUT_H

#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/event/stream.h"
#include "lib/filter/filter.h"
#include "lib/world/world.h"

/* Zero-initialised is ready. */
struct filter_cut {
	VEC(struct event) events;
	struct record record;
};

/* *item becomes what is left of it, borrowed from c until the next call. *left false: nothing is. s
 * must be resolved. */
int filter_cut_item(struct filter_cut *c, const struct filter *s, const struct world *w,
		    struct stream_item *item, bool *left, struct err *e);
void filter_cut_free(struct filter_cut *c);

#endif
