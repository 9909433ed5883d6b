/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which thread released which how often, and who is a partner of an anchor by that: a thread that
 * released it, or another partner of it, several times.
 */
#ifndef INGERO_PATH_RELEASES_H
#define INGERO_PATH_RELEASES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

/* Zero-initialised is empty. */
struct releases {
	struct map counts; /* waiter << 32 | releaser -> how often */
	/* Partners of one anchor, as they were found out last. */
	struct map partners;
	uint32_t anchor;
	uint64_t least; /* releases that made one of them */
	bool found, changed;
};

void releases_free(struct releases *r);

/* False: out of memory. */
bool releases_add(struct releases *r, uint32_t waiter, uint32_t releaser);

/* Whether thread is a partner of the anchor when `least` releases make one. False, too, when
 * memory is exhausted: *nomem. */
bool releases_is_partner(struct releases *r, uint32_t anchor, uint32_t thread, uint64_t least,
			 bool *nomem);

#endif
