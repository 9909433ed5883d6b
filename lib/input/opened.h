/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are open where a part of a recording begins or ends. A recorder writes one OPEN record
 * for a call that does not return, and a killed recorder writes none at its end: later events of
 * the thread show whether the call has returned. Calls that return after the part are found by
 * their events.
 */
#ifndef INGERO_INPUT_OPENED_H
#define INGERO_INPUT_OPENED_H

#include "lib/event/stream.h"
#include "lib/world/world.h"

/* inner, which has every event from from_ns on: OPEN records between from_ns and since_ns come
 * where the first event ends that does at since_ns or later, as of since_ns, and only those of
 * calls that are open then. Behind events of calls that are open at until_ns, for 5 s or since
 * before since_ns, come OPEN records that say so, as at a recording's end. Close leaves inner
 * alone. NULL: out of memory. */
struct event_stream *input_opened(const struct world *w, struct event_stream *inner,
				  int64_t from_ns, int64_t since_ns, int64_t until_ns);

#endif
