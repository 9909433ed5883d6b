/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which CPUs threads may run, from ALLOWED records, and how much the CPUs of a machine idled,
 * from samples.
 */
#ifndef INGERO_TRACKS_ALLOWED_CPUS_H
#define INGERO_TRACKS_ALLOWED_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

#define ALLOWED_ROWS_MAX 65536 /* changes of all threads; later ones are passed over */

/* From a time on. */
struct allowed_row {
	int64_t time_ns;
	struct bytes cpus; /* "0-3,8" */
	uint32_t before;   /* the same subject's row before: index + 1, 0 none */
};

struct idle_cpu {
	uint32_t node, cpu;
	int64_t first_ns, last_ns;
	double first, last; /* nanoseconds that it has idled */
};

/* Zero-initialised but for w is empty. */
struct allowed_cpus {
	const struct world *w;
	struct arena memory;
	VEC(struct bytes) sets; /* different ones: few */
	VEC(struct allowed_row) rows;
	struct map newest; /* thread << 32 | process, of which one is 0 -> index + 1 of its row */
	VEC(struct idle_cpu) idle;
	VEC(uint32_t) counts; /* by node: CPUs of the machine, 0 not known */
	uint32_t node;	      /* the first one seen: for samples that name none */
};

/* A record of the stream. False: out of memory. */
bool allowed_cpus_record(struct allowed_cpus *a, const struct record *r);
void allowed_cpus_free(struct allowed_cpus *a);

/* What the thread was allowed then; empty: not known. *since_ns: when that was narrowed or moved,
 * INT64_MIN: it was no other before. */
struct bytes allowed_cpus_of(const struct allowed_cpus *a, uint32_t thread, int64_t at_ns,
			     int64_t *since_ns);

/* How many CPUs a list names, and whether it names this one. */
uint32_t allowed_cpus_count(struct bytes cpus);
bool allowed_cpus_has(struct bytes cpus, uint32_t cpu);

/* CPUs of the machine; 0 not known. */
uint32_t allowed_cpus_machine(const struct allowed_cpus *a, uint32_t node);

/* Which share of the recording the CPUs that are not in the list idled, on average; < 0: not known.
 * *only: the number of the CPU if it is one alone. */
double allowed_cpus_idle(const struct allowed_cpus *a, uint32_t node, struct bytes cpus,
			 uint32_t *n, uint32_t *only);

#endif
