/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several streams of one world as one. Events come in canonical order; a record comes when its own
 * stream stands at it. Which operand came first never matters for order.
 */
#ifndef INGERO_INPUT_JOIN_H
#define INGERO_INPUT_JOIN_H

#include "lib/event/stream.h"
#include "lib/world/world.h"

/* streams[0..n) stay the caller's. NULL: out of memory. Close frees the join. */
struct event_stream *input_join(const struct world *w, struct event_stream *const *streams,
				unsigned n);

#endif
