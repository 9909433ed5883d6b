/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel a class of launches loses its time with. A few candidates are kept for each class:
 * one that has more than a fifth of the time is always among them, and what is kept of it is at
 * most what it has, so that a kernel said to have half of it has.
 */
#ifndef INGERO_ACCOUNT_LAUNCHED_H
#define INGERO_ACCOUNT_LAUNCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/gpustate/launched_names.h"

#define LAUNCHED_KEPT 4

/* Zero-initialised is none. */
struct launched {
	struct {
		uint64_t func, ns;
	} v[LAUNCHED_KEPT];
};

void launched_add(struct launched *l, uint64_t func, uint64_t ns);
/* The one that certainly has half of total_ns or more; false: none. */
bool launched_most(const struct launched *l, uint64_t total_ns, uint64_t *func);

#endif
