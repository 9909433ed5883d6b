/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits behind waits for memory and files: a cgroup that stands at its memory limit frees pages
 * for new ones, and those of files are read again; and a request that is held back before the disk
 * (an I/O limit) waits, while the disk has nothing to do.
 */
#ifndef INGERO_TRACKS_IO_LIMITS_H
#define INGERO_TRACKS_IO_LIMITS_H

#include "lib/base/buf.h"
#include "lib/tracks/causes.h"
#include "lib/event/event.h"
#include "lib/attrib/cgroups.h"

#define IO_LIMIT_SHARE	0.05 /* of a phase, and so long: shorter waits are not looked at */
#define IO_LIMIT_NS	10000000
#define IO_LIMIT_DEVICE 0.5 /* of a wait its requests were at the device: then it is the device */

/* Block requests of a process. */
struct io_use {
	uint64_t requests, ns; /* at the device and in its queue, added up */
	uint64_t sync_ns;      /* in system calls that wait for the journal's requests, too */
};

/* Zero-initialised but for w is empty. */
struct io_limits {
	const struct world *w;
	struct cause_cgroups cgroups;
	VEC(struct io_use) uses; /* by process */
};

/* An event, and a record of the stream. False: out of memory. */
bool io_limits_event(struct io_limits *l, const struct event *ev);
bool io_limits_record(struct io_limits *l, const struct record *r);
void io_limits_free(struct io_limits *l);

/* What is known of a cause that waits for a file or a disk. */
struct io_limit {
	enum path_class class;
	uint64_t ns;	    /* of the wait */
	uint32_t thread;    /* whose it is: world thread id */
	bool before_device; /* it was held back there */
	uint64_t device_ns; /* at most so long its requests were at the device */
};

/* What a phase lost to the memory limit of a cgroup: its pages are freed for new ones, and those of
 * files read again. */
struct memory_limit {
	uint64_t ns,
		reclaim_ns; /* 0: none is known; of ns, freeing memory rather than reading pages */
	uint32_t thread, cgroup; /* world ids: of whom it was first, the largest part */
	double limit, hits;	 /* bytes; how often it was hit while recorded */
};

/* Whether a process that waited so often and so long for files was held back before the disk. False
 * also where nothing is known, as without requests for its waits (a network file system). */
bool io_limits_hold_back(const struct io_limits *l, uint32_t process, uint64_t waits, uint64_t ns,
			 uint64_t *device_ns);

struct io_limit io_limits_of(const struct io_limits *l, const struct path_cause *c, uint32_t anchor,
			     uint64_t phase_ns);

/* All causes of a phase that get memory or wait for pages of files, in the one cgroup with the
 * largest. */
struct memory_limit memory_limit_of(const struct io_limits *l, const struct path_causes *causes,
				    uint32_t anchor);

/* "main (pid 7) is in the cgroup /job, whose memory limit of 512 MiB was hit 1,234 times: ..." */
void memory_limit_print(struct buf *out, const struct track_names *names,
			const struct memory_limit *limit);

/* "of the 3.48 s that python3 (pid 7) waited for pages, its requests were at the disk for ..." */
void io_limit_print_device(struct buf *out, const struct track_names *names,
			   const struct io_limit *limit);

/* The command that shows which limits there are for a process. */
void io_limit_print_command(struct buf *out, uint32_t pid);

#endif
