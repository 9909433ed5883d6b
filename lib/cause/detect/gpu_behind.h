/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device without work waited for in truth: the thread that would have given it some waited for another one, and
 * that one was blocked on a disk, asleep, kept from its CPU, or worked (lib/line/behind.h).
 */
#ifndef INGERO_CAUSE_DETECT_GPU_BEHIND_H
#define INGERO_CAUSE_DETECT_GPU_BEHIND_H

#include "lib/cause/fact.h"
#include "lib/world/site_frames.h"
#include "lib/line/doings.h"

#define GPU_BEHIND 8 /* states at places kept of a cause, the largest */

struct gpu_behind {
	struct gpu_behind_item {
		uint32_t comm; /* world string; threads of one command are one */
		uint32_t thread, frame, stack, culprit;
		enum part part;
		uint64_t ns;
	} v[GPU_BEHIND];
	unsigned n;
};

/* What is said of a thread in that state: "slept"; NULL: nothing that the state of who waits for it does not say. */
const char *gpu_behind_was(enum part part);

/* What threads take as their command: they may take it after they have begun. A world string, 0 unknown. */
uint32_t gpu_comm(const struct cause *c, uint32_t thread);

void gpu_behind_add(struct gpu_behind *b, const struct cause *c, struct site_frames *frames,
		    const struct doing *d);

/* What most of the wait went to, when it is at least this share of the fact's lost time: NULL otherwise. */
const struct gpu_behind_item *gpu_behind_most(const struct gpu_behind *b, const struct fact *f,
					      double share);

/* "loader (pid 4821) was blocked on disk in read_batch (data.py:31)" */
void gpu_behind_text(const struct gpu_behind_item *x, const struct cause *c, struct buf *out);

/* A line for each that took a twentieth of the lost time; what to do about the largest. */
void gpu_behind_evidence(const struct gpu_behind *b, const struct cause *c, struct fact *f);
void gpu_behind_fix(const struct gpu_behind_item *x, const struct cause *c, struct fact *f);

#endif
