/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes of one recording that is still written: what was read of it stays read, and only what was added is read when they are asked for
 * again. What they are is what one reading of all that is there finds.
 */
#ifndef INGERO_SERVE_SOURCE_GROWING_H
#define INGERO_SERVE_SOURCE_GROWING_H

#include "lib/ask/chains.h"
#include "lib/serve/source_state.h"

struct source_growing;

struct source_grown {
	const struct ask_chains *answer; /* NULL: not to be had this way; lives as long as: */
	struct ask_chains held;		 /* list is the caller's: chain_list_free */
	struct source_growing
		*ended; /* the recording has ended: the caller's, source_growing_free; NULL */
	struct ops_input input;
};

/* begin: where it is not read yet, too. notes: what is wrong with it is appended. One at a time waits for others. */
int source_growing_chains(struct serve_source *s, const struct source_state *now, bool begin,
			  const struct serve_asker *asker, struct source_grown *out,
			  struct buf *notes, struct err *e);
void source_growing_free(struct source_growing *g);

#endif
