/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps of a process's devices, in which these had nothing to do (lib/gpustate/gaps.h): what of its
 * tracks lies in them is lost.
 */
#ifndef INGERO_ACCOUNT_LOSS_GAPS_H
#define INGERO_ACCOUNT_LOSS_GAPS_H

#include "lib/account/found.h"
#include "lib/account/analysis_state.h"
#include "lib/gpustate/gaps.h"

/* Of a process; one that has no gaps has none. */
struct loss_gaps {
	uint64_t ns[2]; /* of its tracks; [1]: where the devices may have had work */
	/* The calls before and after most of its own code in gaps; ns: how much more than between
	 * others. */
	struct {
		uint32_t since_stack, until_stack;
		uint64_t ns;
	} between;
	uint32_t gpu; /* world id: whose gaps they are */
	bool gpus;    /* it has more of them */
	/* All its gaps, for what they stand for where the recording has pauses. */
	struct cause_found found;
	uint64_t found_ns, found_count;
};

/* A gap of this device is over; storm: behind a wait of a sync-storm, which has what the program
 * does between them. False: out of memory. */
bool loss_gaps_add(struct cause *c, const struct device *d, const struct gap *gap, bool storm);

/* All zero where it has none. */
const struct loss_gaps *loss_gaps_of(const struct cause *c, uint32_t process);

/* How many times as much its gaps stand for as they are, in a recording with its calls in windows,
 * or up to some time; 1: no more, or nothing is known of the rest. */
double loss_gaps_factor(const struct cause *c, uint32_t process);

/* What a loss stands for in all of the recording. In the end it is of all of it (idle_shares.h). */
struct cause_estimate loss_gaps_estimate(const struct cause *c, const struct loss *x);

#endif
