/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that ended, and when the analysis drops its state of them: once no finding about them
 * can arise any more. That is the case when no event of the process came for ENDED_NS, when its
 * lifetime was a smaller share of the recording so far than a finding must have lost (the recording
 * only gets longer), and when no finding about it was reported: those are reported again at the
 * end, for the whole recording. The newest ENDED_TOLD processes with reported findings are kept as
 * well; when there is one more, its findings of lost time are reported a last time, and its state
 * is dropped, too. All of this is in event time.
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

/* A second of event time is over, and its findings are reported: drops the state that is no longer
 * needed. */
int cause_ended_settle(struct cause *c, struct err *e);

#endif
