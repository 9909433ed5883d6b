/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that do not return: what call-hung (call_hung.c) and collective-hang (hung_ranks.c) know of
 * them.
 */
#ifndef INGERO_DETECT_HUNG_INTERNAL_H
#define INGERO_DETECT_HUNG_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/account/fact.h"
#include "lib/account/where.h"
#include "lib/event/part.h"
#include "lib/gpustate/collectives.h"

struct hung_call {
	struct rec_OPEN open; /* the newest statement about it */
	uint32_t process;
	int64_t ended_ns; /* its thread ended in it; INT64_MAX: not yet */
	bool named;	  /* by the recorder while it was open: for longer than somebody chose */
	bool returned;
	bool before; /* entered before the recording began, known by its stack */
};

struct hung_process {
	bool collective; /* entered one since it last waited for the device with success */
	int64_t first_ns, last_ns; /* from when to when it hung, as reported last */
	bool ended;		   /* the process did */
	int64_t ended_ns;
	uint64_t status;
	struct fact_told told;
	const char *kind, *counted; /* as reported; NULL: never was */
	/* The thread that entered a collective last, and what its time had gone to by then. */
	uint32_t thread;
	uint64_t before_ns[PART_COUNT];
};

struct hung {
	/* from when a call counts as hung, an option of the recorder; 0: it did not say */
	uint64_t limit_ns;
	struct map at;	    /* hash of thread, op, start -> position */
	struct map threads; /* that have open calls -> 1 */
	VEC(struct hung_call) calls;
	bool some_returned;		    /* of these: there is room to be made */
	uint64_t unlooked_at;		    /* open at the end, and found no room; */
	struct map unlooked;		    /* process, op -> how many of these */
	VEC(struct hung_process) processes; /* by world id */
};

/* A process's hung calls, put together. */
struct hung_sum {
	bool any; /* it had open calls, which may have returned */
	const struct collective_rank *own,
		*late; /* it waits in a collective that `late` has not entered */
	bool unseen;   /* of a rank nothing is known since: its machine's recording ended */
	bool differs;  /* its ranks entered different collectives, from this one on: */
	uint64_t differs_at;
	uint64_t ranks; /* that wait for the same */
	uint64_t threads, longest_ns, lost_ns;
	const struct hung_call *longest;
	int64_t first_ns;
	struct where where;
};

/* The thread of the piece enters a collective. */
void hung_rank_entered(struct hung_process *of, const struct cause *c, const struct line_piece *p);

/* The rank that has not entered what this process waits in; NULL: none of those that were recorded
 * until then. s->own, which waits, and s->unseen are set. */
const struct collective_rank *hung_rank_behind(const struct hung *h, const struct cause *c,
					       uint32_t process, struct hung_sum *s);

bool hung_rank_ended(const struct hung *h, const struct collective_rank *late);

/* Several ranks that wait for the same one are one chain: of the first of n, which counts the
 * others and has their places. False: out of memory. */
bool hung_ranks_join(struct hung_sum *sums, uint32_t n);

/* What the rank that is behind (s->late) did instead: into the summary, the evidence and the
 * culprit. */
void hung_rank_text(const struct cause *c, const struct hung *h, const struct hung_sum *s,
		    struct fact *f);

#endif
