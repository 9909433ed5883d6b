/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive form of a recording: as small as it gets, for files that are kept. Blocks hold many
 * events, the rows of each stand grouped by context, and columns are deflated where that pays.
 */
#ifndef INGERO_IGE_ARCHIVE_H
#define INGERO_IGE_ARCHIVE_H

#include "lib/ige/events.h"

/* Events of a block to come, in the order in which they shall be read. */
struct ige_archive {
	VEC(struct event) held;
	VEC(uint64_t) key;
	VEC(uint32_t) at, spare; /* at[row]: its event */
	size_t bytes;		 /* upper bound of what they take in a block */
};
void ige_archive_free(struct ige_archive *a);
bool ige_archive_add(struct ige_archive *a, const struct event *ev, const struct op_def *def);
/* Moves all into rows, grouped, and mints their definitions. Ends must not fall. */
bool ige_archive_rows(struct ige_archive *a, struct ige_rows *rows);

#endif
