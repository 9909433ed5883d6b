/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for unwinding the stacks of processes: a thread beside the recorder reads what a process
 * maps, builds tables of files not met before, and gives them to the kernel side. A process's
 * stacks are walked by frame pointers until then. A change of what it maps is seen within
 * PROBE_UNWINDS_POLL_MS; one without the loader, by mmap, within a second.
 */
#ifndef INGERO_ATTACH_UNWINDS_H
#define INGERO_ATTACH_UNWINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "lib/base/err.h"
#include "lib/host/maps.h"
#include "lib/attach/session.h"

#define PROBE_UNWINDS_POLL_MS 20

struct probe_unwinds;

/* memory: bytes that tables may take in the kernel. *out is NULL where this session walks by frame
 * pointers. session: borrowed. */
int probe_unwinds_new(struct probe_unwinds **out, struct probe_session *session, uint64_t memory,
		      struct err *e);
/* All of these take NULL. */
void probe_unwinds_free(struct probe_unwinds *u);

/* The process is new, or executes another program. wait: until its tables are there, or
 * PROBE_UNWINDS_WAIT_MS: it is stopped, or not probed yet. What its loader changes, what it forks
 * and that it ends the kernel side knows. */
#define PROBE_UNWINDS_WAIT_MS 500
void probe_unwinds_look(struct probe_unwinds *u, uint32_t tgid, bool wait);

/* What lay at the address by the list of that generation (struct wire_stack), also when the list
 * has just gone; out's path is borrowed for as long as u lives. False: nothing that is known. */
bool probe_unwinds_file(struct probe_unwinds *u, uint32_t list, uint64_t address,
			struct host_mapping *out);

/* Whether all of a stack lay where its list said although something else was removed since that was
 * made (UNWIND_UNSURE): the process's list of now is made after that and before anything more was
 * removed, and says the same. */
bool probe_unwinds_confirm(struct probe_unwinds *u, const struct wire_stack *s);

struct probe_unwinds_sum {
	uint64_t modules, bytes, build_ns; /* built so far */
	uint64_t refused;		   /* files without a usable table */
	uint64_t dropped;		   /* tables that made room for others */
	uint64_t walks, searched; /* stacks walked by tables, and rules that no cache had */
};
struct probe_unwinds_sum probe_unwinds_totals(struct probe_unwinds *u);

/* A file whose code cannot be unwound, and why. */
struct probe_unwinds_refusal {
	char *path;
	char why[96];
};
/* All of them so far; fn must not call back. Ends with what it returns, if that is not 0. */
int probe_unwinds_refusals(struct probe_unwinds *u,
			   int (*fn)(void *ctx, const struct probe_unwinds_refusal *r,
				     struct err *e),
			   void *ctx, struct err *e);

#endif
