/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When probes of a tier of ops were detached on a node (PAUSED records): calls of that time are not
 * in the recording. Code that counts calls scales by the time that was covered and marks the figure
 * (~); code that concludes something from the absence of calls asks paused_ns first.
 */
#ifndef INGERO_EVENT_PAUSED_H
#define INGERO_EVENT_PAUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/event/tier.h"

struct paused_row {
	int64_t since_ns, until_ns; /* INT64_MAX: it goes on */
	uint64_t before_ns;	    /* sum of the rows before this one */
};

/* The pauses of one tier on one node, in order, without overlap. */
struct paused_list {
	uint32_t node; /* as in the record; 0: the segment's own */
	uint32_t tier;
	char reason[80]; /* of the newest; empty: none was said */
	VEC(struct paused_row) v;
};

/* What there was of something that was counted while its probes were attached. */
struct estimate {
	bool is;    /* false: nothing was added, and the figures are what was counted */
	bool least; /* a lower bound: nothing was recorded since probes were detached */
	uint64_t count, errors, total_ns, self_ns, lost_ns;
};

/* What stands before a figure: ">=", "~" or "". */
const char *estimate_mark(const struct estimate *e);

/* Zero-initialised is empty. */
struct paused {
	VEC(struct paused_list) lists;
};

/* Takes every record. False: out of memory. */
bool paused_record(struct paused *p, const struct record *r);
void paused_free(struct paused *p);

/* How much of [from, to) the tier was paused on that node; node 0: it is not known, or there is
 * only one. Pauses that name no node are of all. */
uint64_t paused_ns(const struct paused *p, uint32_t node, enum op_tier tier, int64_t from_ns,
		   int64_t to_ns);

/* Calls of the tier counted in [from, to) times this estimate those made: 1 without pauses; 0: less
 * than a hundredth of that time was covered, so that nothing is known. */
double paused_scale(const struct paused *p, uint32_t node, enum op_tier tier, int64_t from_ns,
		    int64_t to_ns);

/* Whether so many calls counted in covered_ns of all_ns say anything of the rest. Below a twentieth
 * they do only if they are PAUSED_OFTEN or more: a window of 50 ms a second is as long as one step
 * of a training loop, and whatever happens to lie in it would be multiplied by more than 20. */
#define PAUSED_COVERED_MIN 0.05
#define PAUSED_OFTEN	   5
static inline bool paused_is_known(double covered_ns, double all_ns, uint64_t count)
{
	return covered_ns > 0 &&
	       (covered_ns >= PAUSED_COVERED_MIN * all_ns || count >= PAUSED_OFTEN);
}

/* The tiers (1 << enum op_tier, or-ed) of which probes were detached anywhere in [from, to). */
unsigned paused_tiers(const struct paused *p, uint32_t node, int64_t from_ns, int64_t to_ns);

/* How much of [from, to) any of these tiers (1 << enum op_tier, or-ed) was paused. */
uint64_t paused_any_ns(const struct paused *p, uint32_t node, unsigned tiers, int64_t from_ns,
		       int64_t to_ns);

/* When any of these tiers (1 << enum op_tier, or-ed) was paused first; INT64_MAX: never. */
int64_t paused_first(const struct paused *p, uint32_t node, unsigned tiers);

/* "kernel launches were recorded 24 % of the time (to stay within the budget): their counts are
 * estimates (~)". covered: that share, 0 to 1; in_steps: that of the time of the steps, below 0
 * where none are known; least: none was recorded since the first pause. */
void paused_text(struct buf *out, unsigned tier, double covered, double in_steps, bool least,
		 const char *reason);

#endif
