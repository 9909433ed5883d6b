/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With what priority the scheduler runs the processes of a recording, from PRIORITY records, and
 * what follows for one that keeps another from the CPU: niceness counts only between threads of one
 * autogroup or cgroup.
 */
#ifndef INGERO_ATTRIB_PRIORITIES_H
#define INGERO_ATTRIB_PRIORITIES_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

#define PRIORITIES_MAX 65536 /* processes; of further ones nothing is kept */

/* Of a process: of its thread that is favoured most. */
struct priority {
	int8_t nice, autogroup_nice;
	uint8_t policy;	    /* as in sched.h */
	uint64_t autogroup; /* 0: in none, but in: */
	uint64_t cgroup;
};

/* Zero-initialised is empty. */
struct priorities {
	struct map by; /* node << 32 | tgid -> v */
	VEC(struct priority) v;
};

void priorities_free(struct priorities *p);

/* A PRIORITY record. False: out of memory. */
bool priorities_record(struct priorities *p, const struct world *w, const struct record *r);

/* NULL: not known. */
const struct priority *priorities_of(const struct priorities *p, uint32_t node, uint32_t tgid);

/* What would take the CPU from a process less often. */
enum priority_remedy {
	PRIORITY_UNKNOWN,
	PRIORITY_RENICE,    /* a higher nice value */
	PRIORITY_AUTOGROUP, /* a higher one of its autogroup: the other is not in it */
	PRIORITY_CGROUP,    /* a lower weight of its cgroup: the other is not in it */
	PRIORITY_NORMAL,    /* to take its real-time priority away */
	PRIORITY_IDLE,	    /* the idle class: it has the highest nice value already */
	PRIORITY_LOWEST,    /* nothing: it, or its autogroup, has the lowest priority there is */
};
/* Either may be NULL. */
enum priority_remedy priorities_remedy(const struct priority *culprit,
				       const struct priority *victim);

/* How the victim itself runs at a lower priority than usual, and than the culprit (NULL: not
 * known). */
enum priority_lowered {
	PRIORITY_USUAL,
	PRIORITY_NICE_ITSELF, /* it has a nice value above 0 */
	PRIORITY_NICE_GROUP,  /* its autogroup has */
	PRIORITY_IDLE_ITSELF, /* it is of the idle class */
};
enum priority_lowered priorities_lowered(const struct priority *culprit,
					 const struct priority *victim);

/* In one that is not the root; false also where that is not known. */
bool priorities_in_cgroup(const struct priority *p);

/* Of a thread or autogroup in the kernel's scheduler. */
unsigned priorities_weight(int nice);
/* The one that counts for the victim against the culprit; 0: not known. */
unsigned priorities_victim_weight(const struct priority *culprit, const struct priority *victim);

#endif
