/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of one communicator on all its recorded ranks, joined by communicator and sequence
 * number: who entered when, and how long each rank's thread had waited for the device since it
 * entered the one before. Only ranks whose communicator was made during the recording can be
 * joined: of older ones the sequence numbers do not agree. Bounded by COLLECTIVES_COMMS
 * communicators, COLLECTIVES_RANKS members, and COLLECTIVES_PENDING sequences not all have entered.
 */
#ifndef INGERO_GPUSTATE_COLLECTIVES_H
#define INGERO_GPUSTATE_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/attrib/line.h"

#define COLLECTIVES_COMMS   1024
#define COLLECTIVES_RANKS   4096
#define COLLECTIVES_PENDING 64

/* One rank's entry into one collective. */
struct collective_entry {
	uint32_t thread; /* that entered it, with this call */
	uint16_t op;
	uint64_t bytes; /* 0 not known */
	uint32_t stack;
	bool entered,
		waited; /* waited: for its end, and not just afterwards (lib/gpustate/clocks.h) */
	int64_t enter_ns, return_ns; /* of the call that enters it */
	int64_t done_ns;	     /* by then it was done; 0: not known */
	uint64_t device_ns; /* that its thread waited for the device since its entry before */
};

struct collective_rank {
	uint32_t process, thread, rank;
	uint64_t handle;   /* of the communicator in that process */
	int64_t joined_ns; /* when the call that made it returned */
	bool entered;
	uint64_t sequence; /* of its newest entry */
	int64_t enter_ns;
	uint16_t op;
	uint32_t stack;
};

struct collective_pending {
	bool used;
	uint64_t sequence;
	uint32_t entered, done;
	uint32_t first;			  /* member that entered it first; valid if entered */
	struct collective_entry *entries; /* by member, `room` of them */
	uint32_t room;
};

struct collective_comm {
	uint64_t id;	/* first bytes of the ncclUniqueId */
	uint32_t ranks; /* as it was made; more may exist than were recorded */
	VEC(struct collective_rank) members;
	struct collective_pending pending[COLLECTIVES_PENDING]; /* by sequence modulo */
	uint64_t given_up; /* sequences left behind that not all had entered */
	bool pairs;	   /* ranks sent to each other: their calls are not the same, nor as many */
	/* The first collective that is not the same on all ranks, by op or bytes. NCCL pairs calls
	 * by their order: from there on nobody who enters one later is late. By member, differs_n
	 * of them; NULL: none differs. */
	struct collective_entry *differs;
	uint32_t differs_n;
	uint64_t differs_at; /* its sequence */
	/* What the collective before was, if all entered the same; op 0: not known. */
	uint16_t before_op;
	uint64_t before_bytes;
};

/* Zero-initialised is empty. */
struct collectives {
	VEC(struct collective_comm *) comms;
	struct map by_id;	 /* id -> comm */
	struct map by_handle;	 /* process, handle -> comm << 32 | member */
	VEC(uint64_t) device_ns; /* by world thread id: since its last entry */
};

/* An event of an NCCL op (others are ignored). When with it all members have entered a sequence,
 * *done is that sequence's slot in *comm until the next event, else NULL. False: out of memory. */
bool collectives_event(struct collectives *c, const struct event *ev, const struct op_def *op,
		       uint32_t process, uint32_t thread, struct collective_comm **comm,
		       struct collective_pending **done);

/* The communicator of this handle, and the process's member number in it; NULL: not known. */
struct collective_comm *collectives_rank(const struct collectives *c, uint32_t process,
					 uint64_t handle, uint32_t *member);

/* A thread waited for the device, before the collective it enters next. False: out of memory. */
bool collectives_waited(struct collectives *c, uint32_t thread, uint64_t ns);

/* Entries of the sequence before `done`, which all members entered too; NULL when that is not known
 * any more. */
const struct collective_pending *collectives_before(const struct collective_comm *comm,
						    const struct collective_pending *done);

void collectives_free(struct collectives *c);

#endif
