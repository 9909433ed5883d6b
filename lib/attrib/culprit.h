/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The culprits that took the time, as findings name them. Tasks of one command under one parent are
 * one culprit, and so are all of one command that were started during the recording (a compiler's
 * hundred children are one fact, each of them started by its own driver); the process of the victim
 * itself is always its own, and those of its threads that gave themselves a name are separate.
 * Processes of its program (that it started, that started it, or that are workers of one command
 * beside it) are not put together with strangers of their name: what is done about them is another
 * thing; and they are one culprit only while they bear one name but for its number, as what a
 * tokenizer takes is not a reader's fault. What runs in another cgroup that lies beside the
 * victim's, as another container does, is its neighbour: its tasks are separate culprits, and the
 * neighbour is the base of all of them. A culprit reached through a lock holder that was kept from
 * releasing (via) is another culprit than the same one met directly. Ids are dense, in order of
 * first appearance in the events.
 */
#ifndef INGERO_ATTRIB_CULPRIT_H
#define INGERO_ATTRIB_CULPRIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/part.h"
#include "lib/world/world.h"

enum culprit_kind {
	CULPRIT_TASK,	   /* another command's tasks */
	CULPRIT_OWN,	   /* other threads of the victim's own process */
	CULPRIT_HOLDER,	   /* threads that held a lock */
	CULPRIT_DEVICE,	   /* a block device */
	CULPRIT_CGROUP,	   /* the quota of a cgroup */
	CULPRIT_NEIGHBOUR, /* whatever runs in another cgroup */
};

#define CULPRIT_PIDS   8
#define CULPRIT_TIDS   3
#define CULPRIT_PLACES 4

struct line_culprit {
	enum culprit_kind kind;
	uint32_t base; /* the same without via, of a neighbour's task the neighbour; else itself */
	uint32_t via;  /* culprit id of the lock holder it was reached through, 0 none */
	uint32_t name; /* string: command */
	uint32_t node, process, thread; /* the first one met */
	uint32_t parent;		/* tgid; 0: unknown, or several */
	bool young;	 /* started during the recording: one of its command, whoever started it */
	bool related;	 /* TASK: of the victim's own program, see below */
	uint64_t object; /* DEVICE: device number; CGROUP, NEIGHBOUR: world cgroup id */
	uint32_t npids;	 /* distinct processes (HOLDER: threads) folded into it */
	uint32_t pids[CULPRIT_PIDS]; /* the first of them: tgids (HOLDER: tids) */
	bool named;		     /* OWN: threads that gave themselves that name */
	uint32_t ntids;		     /* OWN: distinct threads */
	uint32_t tids[CULPRIT_TIDS]; /* OWN: the first of them */
	enum lock_type lock : 8;     /* HOLDER */
	bool first; /* HOLDER: the first thread of its process, which is none of its workers,
		       whatever their names */
	/* HOLDER: where it was while it held the lock, and in which state, of what was seen most;
	 * ns 0: none. What each says is how much of the waiting it has more than those that were
	 * forgotten. */
	struct culprit_place {
		uint32_t stack; /* 0 not known */
		enum part part; /* PART_SELF: on its CPU */
		uint64_t ns;
	} at[CULPRIT_PLACES];
};

/* A recorder of what is looked at: what it takes is the cost of recording, and no culprit's. */
struct culprit_recorder {
	uint32_t node; /* 0: the only one */
	uint32_t tgid;
	uint64_t start_ns; /* as in the dictionary of processes; 0 not known */
};

/* Zero-initialised is empty, once w is set. */
struct culprits {
	const struct world *w;
	/* Processes of this node (0: of every other one) that started after this, by CLOCK_BOOTTIME
	 * of it, are young; 0: not known. */
	VEC(uint64_t) young_after_ns;
	VEC(struct culprit_recorder) recorders;
	struct map keys;	    /* hash of the identity -> id; identities compared by it */
	struct map seen_pids;	    /* hash of (culprit, process or thread) -> 1 */
	struct map first_names;	    /* process of a family -> string */
	VEC(struct line_culprit) v; /* id 1 is v[0] */
	/* Cache, by world thread: the culprit of a foreign task, under the name it then had. */
	VEC(struct culprit_named {
		uint32_t id; /* 0: not asked for yet */
		uint32_t name;
	})
	by_thread;
	VEC(uint32_t) cgroup_of; /* world cgroup a task was last seen to run in, by world thread */
};

void culprits_free(struct culprits *c);

/* The recording of this node (0: whichever) began then: the first to say so holds. False: out of
 * memory. */
bool culprits_begin(struct culprits *c, uint32_t node, uint64_t boot_ns);

/* Whether the process started after that; false where it is not known. */
bool culprits_young(const struct culprits *c, const struct world_process *p);

/* That process made the recording. False: out of memory. */
bool culprits_recorded_by(struct culprits *c, uint32_t node, uint32_t tgid, uint64_t start_ns);
bool culprits_is_recorder(const struct culprits *c, const struct world_process *p);
/* Whether a recorder started it, which it did before the recording began. */
bool culprits_is_command(const struct culprits *c, const struct world_process *p);

/* All return 0 when memory is exhausted or the subject is unknown. */
uint32_t culprit_task(struct culprits *c, uint32_t thread, uint32_t victim_process,
		      uint32_t victim_cgroup);
/* Threads of the victim's process, whatever their names. */
uint32_t culprit_own(struct culprits *c, uint32_t thread);
uint32_t culprit_holder(struct culprits *c, uint32_t thread, enum lock_type lock);
uint32_t culprit_device(struct culprits *c, uint32_t node, uint64_t device);
uint32_t culprit_cgroup(struct culprits *c, uint32_t cgroup);
uint32_t culprit_via(struct culprits *c, uint32_t culprit, uint32_t via);

/* The holder was there, in this state, while others waited for so long. */
void culprit_held_at(struct culprits *c, uint32_t holder, enum part part, uint32_t stack,
		     uint64_t ns);

/* A task ran in this cgroup. False: out of memory. */
bool culprits_in_cgroup(struct culprits *c, uint32_t thread, uint32_t cgroup);

const struct line_culprit *culprit_get(const struct culprits *c, uint32_t id); /* NULL for 0 */

#endif
