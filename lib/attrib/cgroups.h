/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples say of cgroups: how much of its limit each used, how often the kernel held it back
 * for memory, and whose CPU quota it counts. Bounded by CAUSE_CGROUPS.
 */
#ifndef INGERO_ATTRIB_CGROUPS_H
#define INGERO_ATTRIB_CGROUPS_H

#include "lib/base/vec.h"
#include "lib/event/record.h"

#define CAUSE_CGROUPS 65536

/* A counter that only grows, as far as it was sampled. */
struct cause_counter {
	uint64_t n;
	double first, last;
};

struct cause_cgroup {
	uint64_t samples; /* 0: nothing is known of it */
	double used_max;  /* bytes */
	double limit;	  /* bytes; 0: it has none, or none was said */
	struct cause_counter limit_hits, high_hits, kills;
	struct cause_counter throttled_ns; /* its CPU quota's work, since it was made */
};

/* A process that is in a cgroup whose CPU quota or memory is counted. */
struct cause_member {
	uint32_t process, cgroup;
};

/* Zero-initialised is empty. By world id. */
struct cause_cgroups {
	VEC(struct cause_cgroup) v;
	VEC(struct cause_member) members;
};

void cause_cgroups_free(struct cause_cgroups *g);

/* A SAMPLE record; others are ignored. False: out of memory. */
bool cause_cgroups_record(struct cause_cgroups *g, const struct record *r);

/* NULL: nothing is known of its memory. */
const struct cause_cgroup *cause_cgroup(const struct cause_cgroups *g, uint32_t cgroup);

/* Of the cgroups whose CPU time the process counts in, the one whose quota held it back most while
 * it was recorded or, where that was not sampled twice, ever; otherwise where none is known to. */
uint32_t cause_cgroups_quota(const struct cause_cgroups *g, uint32_t process, uint32_t otherwise);

/* Of the cgroups whose memory the process counts in, the one whose limit was hit most; otherwise
 * where none is known to. */
uint32_t cause_cgroups_limit(const struct cause_cgroups *g, uint32_t process, uint32_t otherwise);

/* Of these the one that stands at its limit, whose pages of files are dropped for others and read
 * again: hit at least once for every four of so many times that pages were got. 0: none does. */
uint32_t cause_cgroups_full(const struct cause_cgroups *g, uint32_t process, uint32_t otherwise,
			    uint64_t times);

/* How much a counter grew. */
static inline double cause_counted(const struct cause_counter *k)
{
	return k->n > 1 && k->last > k->first ? k->last - k->first : 0;
}

#endif
