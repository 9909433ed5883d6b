/* SPDX-License-Identifier: Apache-2.0 */
/* The moves of one thread between run queues since it last ran, and whether they tell on which CPUs
 * it waited. */
#ifndef INGERO_ATTRIB_MOVES_H
#define INGERO_ATTRIB_MOVES_H

#include <stdbool.h>
#include <stdint.h>

#define MOVES_MAX 16

/* Zero-initialised is empty. */
struct moves {
	uint32_t n; /* more than MOVES_MAX: the rest was not kept */
	struct move {
		int64_t time_ns;
		uint32_t from, to;
	} v[MOVES_MAX];
};

static inline void moves_add(struct moves *m, int64_t time_ns, uint32_t from, uint32_t to)
{
	if (m->n < MOVES_MAX)
		m->v[m->n] = (struct move){ time_ns, from, to };
	if (m->n <= MOVES_MAX)
		m->n++;
}

/* Those from start_ns on lead from where the thread stopped to where it went on without a gap.
 * Otherwise one was lost, and its CPUs are not known. */
bool moves_sound(const struct moves *m, int64_t start_ns, uint64_t cpu_out, uint64_t cpu_in);

#endif
