/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The once-a-second sampler: what the machine, the targets and their cgroups are doing, as SAMPLE
 * records of the metrics in formats/records.def. Files stay open and memory is taken when a target
 * is first seen, so that a tick is a few hundred small reads. One thread.
 */
#ifndef INGERO_HOST_SAMPLE_H
#define INGERO_HOST_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

struct host_sampler;

struct host_target {
	uint32_t tgid;
	uint32_t process; /* world id */
};

/* Takes one record, borrowed during the call; negative ends the tick and is its result. */
typedef int host_sample_fn(void *ctx, const struct record *r);

int host_sampler_new(struct host_sampler **out, struct world *w, uint32_t node, struct err *e);
void host_sampler_free(struct host_sampler *s);

/*
 * One round of samples at now_ns (CLOCK_MONOTONIC). Shares of time ("cpu.user") need two rounds.
 * Counters of a CPU or a cgroup are emitted when they changed, idle time where the readings before
 * and after do not determine it (host/idle.h). Targets that have ended, or whose pid was reused,
 * are skipped; state of processes that are no targets any more is dropped. Files that this machine
 * does not have, or that are not readable, give no records and no error.
 */
int host_sampler_tick(struct host_sampler *s, int64_t now_ns, const struct host_target *targets,
		      size_t n, host_sample_fn *fn, void *ctx);

/* What rounds so far left out and is not to be lost: the recording ends here. */
int host_sampler_rest(struct host_sampler *s, host_sample_fn *fn, void *ctx);

/* The next round says everything, counters that did not change too: another recording begins. */
void host_sampler_again(struct host_sampler *s);

#endif
