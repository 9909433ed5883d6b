/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a stretch of a thread's time went: nanoseconds per category, and for the categories
 * that somebody takes, the few largest takers. The categories sum to the length of the stretch
 * exactly; what the listed takers do not hold of a category was taken by others, unnamed here.
 */
#ifndef INGERO_ATTRIB_PARTS_H
#define INGERO_ATTRIB_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/part.h"

/* Taken by the host from a thread that could have run or gone on: lost in full. */
#define PARTS_HOST                                                                                \
	(1u << PART_PREEMPTED | 1u << PART_RUNQ | 1u << PART_CPU_IDLE | 1u << PART_WAIT_UNKNOWN | \
	 1u << PART_THROTTLED | 1u << PART_STOLEN | 1u << PART_DISK | 1u << PART_LOCK |           \
	 1u << PART_FAULT)

/* Taken by the recording: a cost that has a line of its own. Nobody's fault, and no call's or
 * step's own time. */
#define PARTS_RECORDING (1u << PART_ATTACH | 1u << PART_RECORDER)
#define PARTS_NOT_OWN	(PARTS_HOST | PARTS_RECORDING)

/* What waiting for the device looks like from outside, when it happens inside a call that waits for
 * it. */
#define PARTS_DEVICE_LIKE                                                           \
	(1u << PART_SLEEP | 1u << PART_IDLE | 1u << PART_SOCKET | 1u << PART_POLL | \
	 1u << PART_FD | 1u << PART_BLOCKED)

struct part_culprit {
	uint32_t culprit; /* id in a struct culprits, never 0 */
	uint32_t part;
	uint64_t ns;
};

#define PARTS_CULPRITS 8

/* Zero-initialised is empty. Only ns[] of categories in mask are meaningful. */
struct parts {
	uint32_t mask;
	uint32_t nculprits;
	uint64_t ns[PART_COUNT];
	struct part_culprit c[PARTS_CULPRITS];
};

/* ns already in a category now have a name: only the list of takers grows. */
void parts_blame(struct parts *p, enum part part, uint32_t culprit, uint64_t ns);

/* culprit 0: nobody to name. ns 0 is ignored. */
static inline void parts_add(struct parts *p, enum part part, uint32_t culprit, uint64_t ns)
{
	if (ns == 0)
		return;
	p->ns[part] = (p->mask >> part & 1 ? p->ns[part] : 0) + ns;
	p->mask |= 1u << part;
	if (culprit)
		parts_blame(p, part, culprit, ns);
}

/* Nothing but this, ns > 0. */
static inline void parts_set(struct parts *p, enum part part, uint64_t ns)
{
	p->mask = 1u << part;
	p->nculprits = 0;
	p->ns[part] = ns;
}

static inline void parts_clear(struct parts *p)
{
	p->mask = 0;
	p->nculprits = 0;
}

void parts_merge_culprits(struct parts *into, const struct parts *from);

static inline void parts_merge(struct parts *into, const struct parts *from)
{
	for (uint32_t m = from->mask; m; m &= m - 1) {
		unsigned part = (unsigned)__builtin_ctz(m);

		parts_add(into, (enum part)part, 0, from->ns[part]);
	}
	if (from->nculprits)
		parts_merge_culprits(into, from);
}

static inline void parts_copy(struct parts *into, const struct parts *from)
{
	into->mask = from->mask;
	into->nculprits = from->nculprits;
	for (uint32_t m = from->mask; m; m &= m - 1)
		into->ns[__builtin_ctz(m)] = from->ns[__builtin_ctz(m)];
	for (uint32_t i = 0; i < from->nculprits; i++)
		into->c[i] = from->c[i];
}

/* Turn the device-like waits of p into PART_DEVICE. */
void parts_to_device(struct parts *p);

static inline uint64_t parts_get(const struct parts *p, enum part part)
{
	return p->mask >> part & 1 ? p->ns[part] : 0;
}

/* Sum of the categories in which (a mask of 1 << part). */
static inline uint64_t parts_sum(const struct parts *p, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t m = p->mask & which; m; m &= m - 1)
		sum += p->ns[__builtin_ctz(m)];
	return sum;
}
#define PARTS_ALL ((1u << PART_COUNT) - 1)

#endif
