/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that were open before a part of a recording begins, and are open in it: a recorder says once that a call is, and one
 * that was killed says nothing at its end. What a thread did in between shows whether its call had returned.
 */
#ifndef INGERO_INPUT_OPENED_H
#define INGERO_INPUT_OPENED_H

#include "lib/event/stream.h"
#include "lib/world/world.h"

/* inner, which has every event from from_ns on: OPEN records between from_ns and since_ns come where the first event ends that
 * does at since_ns or later, as of since_ns, and only those of calls that are open then. Close leaves inner alone. NULL: out of
 * memory. */
struct event_stream *input_opened(const struct world *w, struct event_stream *inner,
				  int64_t from_ns, int64_t since_ns);

#endif
