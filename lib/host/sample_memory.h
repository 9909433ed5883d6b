/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What files of /proc and of memory cgroups, version 1 and 2, say about memory, faults and storage.
 * Parsers take the text; counters a kernel does not have are 0, and what a reader wants to know of
 * them it asks with has.
 */
#ifndef INGERO_HOST_SAMPLE_MEMORY_H
#define INGERO_HOST_SAMPLE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

/* /proc/vmstat: pages, and times. */
struct host_vm {
	uint64_t allocated, freed, alloc_stalls, compact_stalls, major_faults, swap_in, swap_out,
		oom_kills;
};
bool host_vm_parse(struct bytes text, struct host_vm *out);

/* /proc/PID/stat and /proc/PID/io. */
bool host_faults_parse(struct bytes text, uint64_t *minor, uint64_t *major);
bool host_io_parse(struct bytes text, uint64_t *read_bytes, uint64_t *write_bytes);

/* One cgroup's memory: its files kept open. */
struct host_memory_group {
	int used, limit, events, kills; /* -1: there is none */
	bool v1;
};
struct host_memory_group_now {
	uint64_t used_bytes, limit_bytes; /* limit 0: none */
	uint64_t high, max;		  /* its own limits were hit; version 1 has no high one */
	uint64_t oom_kills;		  /* of processes in it or, with version 2, below */
	bool has_events, has_kills;
};
/* folder: of the cgroup. False: nothing of the kind is in it. */
bool host_memory_group_open(struct host_memory_group *g, const char *folder);
void host_memory_group_close(struct host_memory_group *g);
bool host_memory_group_read(const struct host_memory_group *g, struct buf *room,
			    struct host_memory_group_now *now);

#endif
