/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that ended, and when what is kept of them is given up: once nothing more can come of
 * it. That is so when nothing was heard of a process for ENDED_NS, when all it lived was a smaller
 * share of the recording so far than a finding has to have lost (the recording only gets longer),
 * and when no finding about it was told: those are told again in the end, of the whole. Of
 * processes about which something was told the newest ENDED_TOLD are kept as well; of one more, its
 * findings of lost time are told a last time as they are, and it is given up, too. All of it in
 * event time.
 */
#ifndef INGERO_ACCOUNT_ENDED_H
#define INGERO_ACCOUNT_ENDED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/account/thread_ledger.h"
#include "lib/event/event.h"

#define ENDED_NS             \
	((TALLY_PANES + 1) * \
	 (int64_t)TALLY_PANE_NS) /* until no window holds it, nor a gap waits for it */
#define ENDED_TOLD 64

struct cause;

/* Zero-initialised is empty. */
struct cause_leaving {
	VEC(struct leaving {
		uint32_t process;
		int64_t exit_ns;
	})
	v; /* in order of their ends */
};

/* A process ended. False: out of memory. */
bool cause_ended_event(struct cause *c, const struct event *ev);

/* A second of event time is over, and told of: give up what can be. */
int cause_ended_settle(struct cause *c, struct err *e);

#endif
