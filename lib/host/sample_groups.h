/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the cgroups that targets are in, and of those above that limit it: in a pod it is
 * rarely a process's own cgroup whose limit is hit. A cgroup above is said where it has a limit, or
 * its limit was hit before.
 */
#ifndef INGERO_HOST_SAMPLE_GROUPS_H
#define INGERO_HOST_SAMPLE_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/host/cgroup.h"
#include "lib/host/sample_memory.h"
#include "lib/world/world.h"

#define HOST_GROUPS_DEPTH 16u /* cgroups above a process that are looked at */

struct host_group {
	uint32_t cgroup; /* world id */
	uint64_t tick,
		own_tick; /* of the last target in it or below, and of the last directly in it */
	struct host_memory_group files;
};

/* Zero-initialised knows none. */
struct host_groups {
	VEC(struct host_group) v;
};
void host_groups_free(struct host_groups *g);

/* Those of a process, innermost first, as indices + 1. They are its until a tick passes at which it
 * is not seen in them. */
unsigned host_groups_find(struct host_groups *g, const struct host_cgroup_trees *trees,
			  struct world *w, uint32_t node, uint32_t pid, uint64_t tick,
			  uint32_t out[HOST_GROUPS_DEPTH]);
/* A process is in them at this tick. */
void host_groups_seen(struct host_groups *g, const uint32_t *which, unsigned n, uint64_t tick);

/* What is known of those seen at this tick. room: scratch. */
typedef void host_group_fn(void *ctx, uint32_t cgroup, uint32_t metric, double value);
void host_groups_say(const struct host_groups *g, uint64_t tick, struct buf *room,
		     host_group_fn *fn, void *ctx);

#endif
