/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every copy of a CUDA library that a target maps, by device and inode: planned and probed once,
 * however many processes use it. Also Python runtimes, the loaders whose debug hook tells when new
 * copies appear, and who uses what since when, which is what coverage is made of.
 */
#ifndef INGERO_ATTACH_LIBRARY_INSTANCES_H
#define INGERO_ATTACH_LIBRARY_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/attach/plan.h"
#include "lib/attach/pythons.h"
#include "lib/attach/session.h"
#include "lib/attach/stacks.h"
#include "lib/attach/tiers.h"
#include "lib/attach/unwinds.h"
#include "lib/attach/file_users.h"

struct library_instance {
	uint32_t major, minor;
	uint64_t inode;
	char *path; /* as the first process saw it */
	struct probe_plan plan;
	size_t requested, attached;
	struct err reason; /* first failure */
	enum probe_link link;
	uint64_t attached_ns; /* CLOCK_BOOTTIME */
	int64_t attached_mono_ns;
	uint64_t took_ns; /* to attach */
	char sites[24];	  /* "+10" */
	bool gone; /* its process ended before it was probed: the next one that has it is tried */
	bool stripped;	/* a static runtime without symbols: only its driver calls are seen */
	uint32_t tried; /* with that process last */
};

/* Calls through one copy in one process that are not recorded, if it made any in that time. */
struct probe_uncovered {
	uint32_t tgid;
	uint32_t process; /* world id, once it is known; 0 before */
	uint32_t file;	  /* index of the copy; PROBE_NO_FILE: which it had is not known */
	int64_t since_ns,
		until_ns; /* CLOCK_MONOTONIC; until PROBE_NEVER: no call is recorded from then on */
	bool from_start;  /* since_ns is when the process began */
};
#define PROBE_NO_FILE UINT32_MAX
#define PROBE_NEVER   INT64_MAX

/* From when on a process may have made calls through what a scan finds new in it: its start, or
 * PROBE_STOPPED: it is stopped, and has made none. Else CLOCK_MONOTONIC. */
#define PROBE_FROM_START INT64_MIN
#define PROBE_STOPPED	 INT64_MAX

struct library_instances;

int library_instances_new(struct library_instances **out, struct probe_session *session,
			  struct probe_stacks *stacks, struct probe_pythons *pythons,
			  struct probe_unwinds *unwinds, struct err *e);
void library_instances_free(struct library_instances *c);
/* No more events from here on. Probes that take long to remove go when the copies are freed. false:
 * the kernel has not released all of them after PROBE_DETACH_MS; it does so on its own. */
bool library_instances_detach(struct library_instances *c);

/* Read the process's maps, probe copies not met before, take the maps for stacks and Python.
 * since_ns: see PROBE_FROM_START. Returns the number of CUDA copies (not NVTX) it maps, < 0 when
 * the process is gone. */
int library_instances_scan(struct library_instances *c, uint32_t tgid, int64_t since_ns,
			   struct err *e);
/* A child maps what its parent maps: its copies and its Python are taken over without a look at it.
 * Returns as a scan does; < 0 when nothing is known of the parent, so that the child is to be
 * scanned. */
int library_instances_inherit(struct library_instances *c, uint32_t parent, uint32_t child,
			      int64_t since_ns);
/* The process ended before it could be looked at: which libraries it had is not known. */
void library_instances_unseen(struct library_instances *c, uint32_t tgid, int64_t since_ns);
/* What scans found not to be recorded since the last call of this: *n of them, borrowed until the
 * next scan. */
const struct probe_uncovered *library_instances_uncovered(const struct library_instances *c,
							  size_t *n);
void library_instances_uncovered_told(struct library_instances *c);
/* Did a scan since the last call find Python in a process that had none before? Its threads are to
 * be adopted. */
bool library_instances_new_python(struct library_instances *c);
/* The process has ended; process: of the world. */
void library_instances_ended(struct library_instances *c, uint32_t tgid, uint32_t process);
/* Drops the uses of these processes, whose records are written. */
void library_instances_forget(struct library_instances *c, const struct gone_processes *gone);
/* Were all calls of the process seen, from its first on? */
bool library_instances_whole(const struct library_instances *c, uint32_t tgid);

/* What is attached to them, by tier. */
struct probe_tiers *library_instances_tiers(struct library_instances *c);

/* Does the process map a CUDA library? Reads its maps only. */
bool library_instances_has_cuda(uint32_t tgid);

const struct library_instance *library_instances_list(const struct library_instances *c, size_t *n);
/* Who uses which of them. */
const struct file_users *library_instances_uses(const struct library_instances *c);

/* Whether a loader's hook is in place; when one was seen but could not be hooked, why. */
bool library_instances_hooked(const struct library_instances *c, struct err *why);

#endif
