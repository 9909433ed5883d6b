/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items of a stream with only those events that were asked for, whole: for what shows events
 * one by one. Records of another time are left out, those of no time stay. (filter/cut.h is for
 * analyses, whose parts must sum up.)
 */
#ifndef INGERO_FILTER_PICK_H
#define INGERO_FILTER_PICK_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/event/stream.h"
#include "lib/filter/expr.h"
#include "lib/filter/filter.h"
#include "lib/world/event_json.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

/* All borrowed; expr NULL: none. */
struct filter_pick {
	struct filter *select;
	struct filter_expr *expr;
	const struct world *w;
	const struct late_names *told;
	VEC(struct event) events; /* from here on: zero */
	struct buf line;
	struct event_json_stacks stacks;
};

/* Reduces *item to the selected part, borrowed from p until the next call. *left false: nothing is
 * left. */
int filter_pick_item(struct filter_pick *p, struct stream_item *item, bool *left, struct err *e);
void filter_pick_free(struct filter_pick *p);

/* Whether a sample is of the time, the machines and the processes asked for. */
bool filter_sample(const struct filter *s, const struct world *w, const struct rec_SAMPLE *r);

#endif
