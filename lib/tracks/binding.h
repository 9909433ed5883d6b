/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait for each other's CPU since all of them may run on the same few CPUs only, of a
 * machine that has more: a library narrowed the set, or the parent of the program did.
 */
#ifndef INGERO_TRACKS_BINDING_H
#define INGERO_TRACKS_BINDING_H

#include "lib/base/buf.h"
#include "lib/tracks/allowed_cpus.h"
#include "lib/tracks/track_names.h"
#include "lib/tracks/track_part.h"

#define BINDING_SHARE 0.05 /* of a phase, and so long: less is not told */
#define BINDING_NS    10000000
#define BINDING_IDLE  0.1 /* the other CPUs idled so much: it could have run there */

struct binding {
	struct bytes cpus;  /* borrowed; empty: there is none to report */
	uint64_t ns;	    /* one had the CPU that another was waiting for */
	uint32_t anchor;    /* world thread id; so are the following */
	uint32_t other;	    /* who had it for most of that */
	uint32_t processes; /* others in it that had it */
	int64_t since_ns;   /* when the anchor was narrowed; INT64_MIN: it always was */
	uint32_t machine;   /* CPUs */
	uint32_t idle_cpus; /* the others that were sampled; idle_cpu: the number of a single one */
	uint32_t idle_cpu;
	double idle;   /* share of the recording; < 0: not known */
	bool children; /* the others are processes that the anchor's one started */
};

/* Of the parts of a phase, whose pieces end by end_ns. False: out of memory. */
bool binding_find(struct binding *b, const struct allowed_cpus *allowed,
		  const struct track_names *names, uint32_t anchor, const struct track_parts *parts,
		  int64_t end_ns);

/* Whether the other CPUs had room, as far as is known. */
bool binding_matters(const struct binding *b);

/* "python3 (pid 7), pt_data_worker (pid 8) and 2 others may run on CPU 1 only, since 518 ms after
 * the start, and waited there for each other for 2.3 s; CPU 0 was idle for 83% of the recording".
 */
void binding_print(struct buf *out, const struct track_names *names, const struct binding *b,
		   int64_t start_ns);

/* The command that lets them run on all CPUs. */
void binding_print_command(struct buf *out, const struct track_names *names,
			   const struct binding *b);

#endif
