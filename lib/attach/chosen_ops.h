/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls are traced, when not all: by names, patterns and sources. Calls left out are not
 * probed at all.
 */
#ifndef INGERO_ATTACH_CHOSEN_OPS_H
#define INGERO_ATTACH_CHOSEN_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

struct probe_names {
	const char *const *v;
	size_t n;
};

/* What remains beside calls. */
struct chosen_ops_host {
	bool sched;   /* off-CPU intervals */
	bool samples; /* of CPUs */
};

/* Leaves out what only (unless empty) does not name and what except names; before the first file is
 * planned. ERR_USAGE for a name that nothing has. */
int chosen_ops(struct probe_names only, struct probe_names except, struct chosen_ops_host *host,
	       struct err *e);

/* Leaves out all but the functions that stalls happen in: where each probe costs a descriptor and a
 * grace period of the kernel (perf-event links), the whole table would take a minute to detach. How
 * many ops remain. */
size_t chosen_ops_core(void);

#endif
