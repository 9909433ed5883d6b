/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU samples with their times, to be counted in a window that is known only in the end. Memory is
 * bounded by CPU_SAMPLES_KEPT: beyond that every second one is dropped, by chance, and each that is
 * left stands for twice as many.
 */
#ifndef INGERO_QUERY_CPU_SAMPLES_H
#define INGERO_QUERY_CPU_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

#define CPU_SAMPLES_KEPT (1u << 19) /* 4 MB: one thread's for an hour and a half, at 99 a second */

struct cpu_sample {
	uint32_t spot;	       /* the caller's: thread and stack */
	uint32_t inside : 1;   /* a traced call */
	uint32_t time_ms : 31; /* since the first one */
};

/* Zero-initialised is empty. */
struct cpu_samples {
	VEC(struct cpu_sample) v;
	uint64_t n;	 /* all that came */
	uint32_t halved; /* each stands for 1 << halved */
	int64_t first_ns;
};

/* False: out of memory. */
bool cpu_samples_add(struct cpu_samples *s, uint32_t spot, bool inside, int64_t time_ns);

/* Calls fn for each stored sample of the window, both ends included; times: how many samples it
 * stands for. */
void cpu_samples_for_each(const struct cpu_samples *s, int64_t from_ns, int64_t until_ns,
			  void (*fn)(void *ctx, uint32_t spot, bool inside, uint64_t times),
			  void *ctx);
void cpu_samples_free(struct cpu_samples *s);

#endif
