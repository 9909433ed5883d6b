/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would be gained without each of the largest losses, as a replay of the tracks has it
 * (lib/path/replay.h): beside what the loss took of the path, which is all that subtraction knows.
 */
#ifndef INGERO_ACCOUNT_GAINS_H
#define INGERO_ACCOUNT_GAINS_H

#include "lib/base/vec.h"
#include "lib/path/replay.h"

struct cause;
struct loss;

/* Of the loss's worst-hit thread, in its steps and in all that counts (steps and what is between
 * them; without steps its life). */
struct loss_gain {
	uint32_t loss;	 /* position */
	uint32_t anchor; /* 0: it was not replayed */
	struct replay_gain of;
	double step_scale, scale; /* what was replayed stands for so much more of the loss */
	uint64_t device_ns;
	uint64_t whole_ns; /* of what was replayed */
};

/* Of a thread without all of them at once: gains of single ones do not add up. */
struct anchor_gain {
	uint32_t anchor;
	unsigned losses;      /* that took from its steps */
	uint64_t step_ns;     /* what they took of these */
	struct loss_gain all; /* loss and scale of it mean nothing */
};

/* Zero-initialised is empty. */
struct gains {
	VEC(struct loss_gain) v;
	VEC(struct anchor_gain) anchors;
};

/* The losses are summed for the last time. False: out of memory. */
bool gains_make(struct gains *g, struct cause *c);
/* NULL: it was not replayed, or what was replayed has too little of it. */
const struct loss_gain *gains_of(const struct cause *c, const struct loss *x);
void gains_free(struct gains *g);

#endif
