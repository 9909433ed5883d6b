/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process as the sampler watches it: its files kept open, so that a pid that is used again is
 * never taken for the old process, and the waiting time of its threads summed up. Threads that
 * ended keep what they had waited at the last look; what they waited after it is missing.
 */
#ifndef INGERO_HOST_SAMPLE_TARGET_H
#define INGERO_HOST_SAMPLE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"

struct host_watch;

/* All of it counters since the process began, but rss. */
struct host_watch_now {
	uint64_t cpu_ns;
	uint64_t wait_ns; /* threads runnable and not running */
	uint64_t rss_bytes;
	uint64_t minor_faults, major_faults;
	uint64_t read_bytes, write_bytes; /* from and to storage */
	bool has_cpu, has_wait, has_faults, has_io;
	bool moved; /* to another cgroup, or seen for the first time */
};

/* NULL: no such process, or no memory. */
struct host_watch *host_watch_new(uint32_t tgid);

/* files: as below; the descriptors of its threads are given back to it. */
void host_watch_free(struct host_watch *w, unsigned *files);

/* room: scratch. files: how many more descriptors for threads may be kept. False: the process is
 * gone. */
bool host_watch_look(struct host_watch *w, struct buf *room, unsigned *files,
		     struct host_watch_now *now);

#endif
