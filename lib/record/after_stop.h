/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a recording while the program goes on: no new call is heeded from one moment on, and
 * all other probes are detached after it, which takes up to a second. What began meanwhile would
 * look like what the program did instead of making calls. Calls that are open still return, and
 * what they wait for belongs to them. What has not ended ends with that moment: that a thread woke
 * up later is not seen once the scheduler's probes are gone.
 */
#ifndef INGERO_RECORD_AFTER_STOP_H
#define INGERO_RECORD_AFTER_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/event.h"
#include "lib/event/op.h"

/* stop_ns 0: the recording goes on. */
static inline bool after_stop_drops(int64_t stop_ns, const struct event *ev)
{
	const struct op_def *def = op_builtin(ev->op);

	return stop_ns && event_start(ev) >= stop_ns && !ev->depth &&
	       !(def && def->flags & OP_CALL);
}

#endif
