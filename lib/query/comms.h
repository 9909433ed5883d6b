/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL communicators: who is which rank of how many, and what went through each. A communicator is
 * known by its handle in its process. Bytes are those of the calls' own arguments. Memory is
 * bounded by COMMS_MAX of them; what is beyond is not reported.
 */
#ifndef INGERO_QUERY_COMMS_H
#define INGERO_QUERY_COMMS_H

#include "lib/base/map.h"
#include "lib/event/event.h"
#include "lib/event/section_rows.h"

/* Zero-initialised is empty. */
struct query_comms {
	VEC(struct view_comm) v;
	struct map by; /* hash of process and handle -> index */
};

/* An event of NCCL; others are ignored. False: out of memory. */
bool query_comms_event(struct query_comms *c, const struct event *ev, const struct op_def *op,
		       uint32_t process);
/* comms of the view, emptied before. False: out of memory. */
bool query_comms_rows(const struct query_comms *c, struct view *v);
void query_comms_free(struct query_comms *c);

#endif
