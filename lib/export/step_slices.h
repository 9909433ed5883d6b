/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of programs as slices of a timeline: "step 12", on a lane of the loop's process. Steps
 * are held until the stream is over, STEP_SLICES_HELD at most, as a wider loop may turn out to be
 * the one.
 */
#ifndef INGERO_EXPORT_STEP_SLICES_H
#define INGERO_EXPORT_STEP_SLICES_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/loops/loops_feed.h"

/* 40 bytes each. When there are more, those so far are shown as they are. */
#define STEP_SLICES_HELD 262144

struct step_slices {
	struct loop_listener listener; /* first: it is cast back */
	const struct world *w;
	struct loops *loops; /* NULL: steps are not shown */
	struct loops_feed feed;
	VEC(struct loop_step) v;
	bool nomem;
};

/* False: out of memory. */
bool step_slices_init(struct step_slices *s, const struct world *w);
int step_slices_item(struct step_slices *s, const struct stream_item *item, struct err *e);
/* No more items come: all steps are known. */
int step_slices_finish(struct step_slices *s, struct err *e);
void step_slices_free(struct step_slices *s);

/* "steps of Trainer.step (train.py:199-209)" */
void step_slices_print_loop(const struct step_slices *s, uint32_t loop, struct buf *out);
/* Whether it is a step still, now that more is known. */
static inline bool step_slices_is_valid(const struct step_slices *s, const struct loop_step *step)
{
	return !loops_get(s->loops, step->loop)->is_void;
}

#endif
