/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of one block, encoded by several threads at a time: for the smallest form, whose columns take long. What comes out
 * is the same as with one.
 */
#ifndef INGERO_IGE_TEAM_H
#define INGERO_IGE_TEAM_H

#include "lib/ige/block.h"

struct ige_integers {
	uint16_t id;
	const uint64_t *v;
	size_t n;
};

#define IGE_TEAM_COLUMNS 8 /* at a time, at most */

/* As many threads as this process has processors, up to a few; they start with the first block that is worth it. NULL: out
 * of memory. */
struct ige_team *ige_team_new(void);
void ige_team_free(struct ige_team *t);

/* As ige_builder_integers with each of them in turn; t NULL: by this thread alone. */
void ige_team_integers(struct ige_team *t, struct ige_builder *b,
		       const struct ige_integers *columns, unsigned n);

#endif
