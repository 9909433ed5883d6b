/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels that processes launch are called. A handle that is used again has its newest
 * name.
 */
#ifndef INGERO_GPUSTATE_LAUNCHED_NAMES_H
#define INGERO_GPUSTATE_LAUNCHED_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

/* What processes call their kernels, by handle. Zero-initialised knows of none. */
struct launched_names {
	struct arena memory;
	VEC(struct bytes) texts;
	struct map by_handle; /* process and handle -> index */
};

/* A KERNEL record. False: out of memory. */
bool launched_name(struct launched_names *n, const struct record *r);
/* As the compiler mangles it, borrowed; empty: not known. */
struct bytes launched_name_of(const struct launched_names *n, uint32_t process, uint64_t func);
void launched_names_free(struct launched_names *n);

#endif
