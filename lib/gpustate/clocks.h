/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the clocks of nodes stand apart, by the collectives that their ranks are in together. A
 * collective in which every rank needs something of every other ends on none before all have
 * entered: that bounds the difference of two clocks from both sides, whatever else is true. Within
 * the bounds it is what the ends, which are nearly simultaneous, differ by. A collective's end is
 * seen when the first wait that covers it returns: on its stream, for an event recorded there, on
 * streams that waited for such an event, or for the whole device. Bounded by CLOCKS_COVERS handles
 * per process and CLOCKS_PAIRS pairs of nodes.
 */
#ifndef INGERO_GPUSTATE_CLOCKS_H
#define INGERO_GPUSTATE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/gpustate/collectives.h"

#define CLOCKS_PAIRS  256
#define CLOCKS_COVERS 16
#define CLOCKS_NODES  64 /* of one collective */
#define CLOCKS_WINDOW 64 /* collectives: clocks drift, so old bounds are dropped */
#define CLOCKS_ENDS   32
#define CLOCKS_ENOUGH 5

struct clocks_bounds {
	int64_t low_ns, high_ns;
	uint64_t n;
};

/* By how much the clock of node stands ahead of the reference's. */
struct clocks_pair {
	uint32_t reference, node;
	struct clocks_bounds now, before; /* of this window and the last one */
	uint64_t n;			  /* collectives */
	uint64_t breaks;		  /* that contradicted those before: the clock was set */
	int64_t end_ns[CLOCKS_ENDS];	  /* newest differences of ends for which both waited */
	uint64_t nends;
};

struct clocks_cover {
	uint64_t handle; /* of a stream or an event */
	bool event;
	struct collective_comm *comm; /* NULL: unused */
	uint32_t member;
	uint64_t sequence; /* whatever was entered up to this is done when the handle is */
	int64_t since_ns;
};

struct clocks_process {
	struct clocks_cover v[CLOCKS_COVERS];
	unsigned next;
};

/* Zero-initialised is empty. */
struct clocks {
	VEC(struct clocks_process *) processes; /* by world id; NULL: in no collective */
	VEC(struct clocks_pair) pairs;
};

/* A rank of the process entered a collective with this event; after collectives_event. False: out
 * of memory. */
bool clocks_entered(struct clocks *c, const struct collectives *all, const struct line_piece *p);

/* Any call of the libraries, as it ended. */
void clocks_call(struct clocks *c, const struct world *w, const struct line_piece *p);

struct clocks_fit {
	int64_t ahead_ns, low_ns, high_ns; /* the best guess lies within the bounds */
};

/* False: too few collectives, or they contradict each other too often. */
bool clocks_fit(const struct clocks_pair *p, struct clocks_fit *fit);

/* To be taken from a time of node to have it on the reference's clock; 0 where nothing is known. */
int64_t clocks_ahead(const struct clocks *c, uint32_t reference, uint32_t node);

void clocks_free(struct clocks *c);

#endif
