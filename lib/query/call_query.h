/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "What happened in this call?": the one that ended at that time on that thread, as reports name it
 * (or what else did, an interval off the CPU), or the longest of an op. Memory is bounded: of each
 * thread the last CALL_RECENT stretches are kept for the call they turn out to be in.
 */
#ifndef INGERO_QUERY_CALL_QUERY_H
#define INGERO_QUERY_CALL_QUERY_H

#include "lib/base/err.h"
#include "lib/event/call.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

#define CALL_RECENT 256

struct query_call;

/* "TID@END", END in ns on the recording's clock as a report's events have it, or the name of an op
 * for the longest of its calls. id is borrowed. ERR_USAGE: it is neither. */
int query_call_new(struct query_call **out, const struct world *w, const char *id, struct err *e);
int query_call_item(struct query_call *a, const struct stream_item *item, struct err *e);

/* The call, borrowed until freed; *found NULL: there is none. */
int query_call_end(struct query_call *a, const struct call_detail **found, struct err *e);
void query_call_free(struct query_call *a);

#endif
