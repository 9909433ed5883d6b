/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where time, calls, bytes or lost time went, by stack: what all profile formats are made of. A
 * stack begins with its process and ends with the call, and the kernel it launched. A call's time
 * is its own: what the calls inside it took is theirs. Unless ops were chosen, only library calls
 * count. Memory grows with distinct stacks.
 */
#ifndef INGERO_EXPORT_PROFILE_H
#define INGERO_EXPORT_PROFILE_H

#include "lib/base/vec.h"
#include "lib/export/format.h"

struct profile_frame {
	uint32_t name, file, module; /* world strings, 0 unknown; name is never 0 */
	uint64_t line;		     /* 0 unknown */
};

struct profile_stack {
	uint32_t process; /* index of its first frame among those of all stacks: whose it is */
	uint32_t at, n;	  /* in path: frame indices, outermost first */
	uint64_t calls, weight;
};

struct profile {
	VEC(struct profile_frame) frames;
	VEC(uint32_t) path;
	VEC(struct profile_stack)
	stacks; /* most weight first within a process, processes most weight first */
	uint64_t weight;
	int64_t first_ns, last_ns; /* of the events, on the recording's clock */
};

struct profile_run;

struct profile_run *profile_new(const struct export_ctx *em); /* NULL: out of memory */
int profile_item(struct profile_run *p, const struct stream_item *it, struct err *e);
/* What was counted; *out belongs to the run. ERR_CANNOT: lost time was asked for and nobody has
 * analyzed the stream. */
int profile_end(struct profile_run *p, const struct profile **out, struct err *e);
void profile_free(struct profile_run *p);

/* "time", "ns": what the weight is, for headings. */
const char *profile_weight_name(enum export_weight weight);
const char *profile_weight_unit(enum export_weight weight); /* "nanoseconds", "count", "bytes" */

/* "backward_pass (train.cpp:68)": a frame where there is one name for all. */
void profile_frame_text(struct buf *out, const struct world *w, const struct profile_frame *f);

#endif
