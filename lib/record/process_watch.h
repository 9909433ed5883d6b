/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that a recording without probes covers: the same choices as in targets.h, read from
 * /proc once a second with the caller's own rights.
 */
#ifndef INGERO_RECORD_PROCESS_WATCH_H
#define INGERO_RECORD_PROCESS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/attach/targets.h"

struct record_watch {
	struct map alive; /* tgid -> start time | seen in this round */
	struct map looks; /* at others, see probe_targets_looks */
	uint64_t round;
	size_t with_cuda;
};

/* One look: calls came for processes that are new since the last look, gone for those that have
 * ended. ERR_CANNOT: a process that was named does not exist at the first look. */
int record_watch_look(struct record_watch *w, const struct probe_targets_options *opt,
		      void (*came)(void *ctx, uint32_t tgid),
		      void (*gone)(void *ctx, uint32_t tgid), void *ctx, struct err *e);
void record_watch_free(struct record_watch *w);

#endif
