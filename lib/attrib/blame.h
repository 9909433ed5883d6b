/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame for one off-CPU interval: its parts, summing to its length. Only overlap counts.
 * A wait for a CPU is charged slice by slice to the thread that held that CPU; a wait for a lock to
 * its holder and, while the holder itself was kept from running, to the thread that kept it,
 * through as many holders as there are.
 */
#ifndef INGERO_ATTRIB_BLAME_H
#define INGERO_ATTRIB_BLAME_H

#include <stdbool.h>

#include "lib/event/event.h"
#include "lib/attrib/culprit.h"
#include "lib/attrib/losses.h"
#include "lib/attrib/occupancy.h"
#include "lib/attrib/parts.h"
#include "lib/attrib/thread.h"

#define BLAME_CHAIN 8 /* holders followed */
/* Stands for the lock of the process's interpreter: its condition has two addresses in turn. Not an
 * address of a futex, which are multiples of four. */
#define BLAME_GIL 1

struct blame {
	const struct world *w;
	struct culprits *culprits;
	const struct occupancy *occupancy;
	const struct threads *threads;
	const struct losses *losses;
};

struct blame_result {
	struct parts parts;	  /* of the whole interval */
	struct waker_interval iv; /* what later waits on this thread will want to know */
	/* A wait for a mutex ended without a release: its time, which is not in parts. */
	uint64_t lock_ns, lock_object;
	uint32_t lock_holder; /* culprit, when this wait ended with a release */
};

/* What a thread that left its CPU waits for. */
enum part blame_blocked(const struct event *ev, const struct op_def *def);

/* ev: an off-CPU interval of th, def its definition. Forgets th's moves between run queues. */
void blame_offcpu(const struct blame *b, struct line_thread *th, const struct event *ev,
		  const struct op_def *def, struct blame_result *r);

/* A wait of th for a lock, from..to, of which this thread is known now to have had it: into out,
 * whose it was. */
void blame_lock_held(const struct blame *b, const struct line_thread *th, uint32_t holder,
		     enum lock_type lock, int64_t from, int64_t to, struct parts *out);

#endif
