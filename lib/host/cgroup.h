/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroup that limits a process's CPU time. With version 2 there is one tree; with version 1 the
 * cpu controller has its own, beside the unified one whose ids the kernel side reports. Reads only.
 */
#ifndef INGERO_HOST_CGROUP_H
#define INGERO_HOST_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/world/world.h"

#define HOST_CGROUP_PATH 1024

/* Where the trees are mounted; "" when they are not. root: the cgroup that a mount shows as its
 * top. */
struct host_cgroup_tree {
	char mount[HOST_CGROUP_PATH], root[HOST_CGROUP_PATH];
};
struct host_cgroup_trees {
	struct host_cgroup_tree unified, cpu_v1, memory_v1;
};

/* Text of /proc/self/mountinfo. */
void host_cgroup_mounts_parse(struct bytes text, struct host_cgroup_trees *out);
int host_cgroup_mounts(struct host_cgroup_trees *out, struct err *e);

/* The process's place in the trees, from the text of /proc/PID/cgroup: {NULL, 0} where it has none.
 * Borrowed. */
struct host_cgroup_places {
	struct bytes unified, cpu_v1, memory_v1;
};
void host_cgroup_places_parse(struct bytes text, struct host_cgroup_places *out);

/* The folder of a place in a tree. False: the mount does not show it, or the path is too long. */
bool host_cgroup_folder(const struct host_cgroup_tree *tree, struct bytes place,
			char out[HOST_CGROUP_PATH * 2]);

/* One cgroup. */
struct host_cgroup {
	uint64_t id; /* the kernel's; those of version 1 have the highest bit set: the trees number
			separately */
	bool v1;
	char path[HOST_CGROUP_PATH]; /* version 1: "cpu:/…" */
	char folder[HOST_CGROUP_PATH * 2];
};

/* The cgroup of pid that the cpu controller counts in. ERR_CANNOT when it has none that can be
 * seen. */
int host_cgroup_read(const struct host_cgroup_trees *trees, uint32_t pid, struct host_cgroup *out,
		     struct err *e);
/* The same for the memory controller; its path is "memory:/…" with version 1. */
int host_cgroup_memory(const struct host_cgroup_trees *trees, uint32_t pid, struct host_cgroup *out,
		       struct err *e);
/* The one above in the same tree; false at the top of what is mounted. */
bool host_cgroup_parent(const struct host_cgroup_trees *trees, const struct host_cgroup *of,
			struct host_cgroup *out);

uint32_t host_cgroup_world(struct world *w, uint32_t node, const struct host_cgroup *cgroup);

/* cpu.stat of either version. */
struct host_throttle {
	uint64_t periods, throttled, throttled_ns;
};
bool host_throttle_parse(struct bytes text,
			 struct host_throttle *out); /* false: not limited here, no such lines */

#endif
