/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What functions of the GPU are called, by process and handle: from KERNEL records. A handle that
 * is used again, for the kernel of another library at the same address, has several names, each
 * from a time on.
 */
#ifndef INGERO_WORLD_KERNEL_NAMES_H
#define INGERO_WORLD_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

struct kernel_name {
	int64_t since_ns;
	uint32_t text;	 /* world string, demangled; 0: from here on it is not known */
	uint32_t before; /* index + 1 of the handle's name before; 0 none */
};

/* Zero-initialised is empty. */
struct kernel_names {
	VEC(struct kernel_name) v;
	struct map newest; /* hash of process and handle -> index + 1 */
};

#define KERNEL_NAMES_MAX 262144 /* beyond it new ones are passed over */

/* False: out of memory. */
bool kernel_names_add(struct kernel_names *n, struct world *w, const struct rec_KERNEL *r);
void kernel_names_free(struct kernel_names *n);

/* Index + 1 of the name that the handle had at that time, 0: it has none. The first one holds for
 * the time before it, too: a name may be found after the launch. */
uint32_t kernel_names_find(const struct kernel_names *n, uint32_t process, uint64_t func,
			   int64_t at_ns);
/* World string of what was found; 0 of 0, and where the name is not known any more. */
uint32_t kernel_names_text(const struct kernel_names *n, uint32_t found);

#endif
