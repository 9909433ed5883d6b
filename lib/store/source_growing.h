/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of one recording that is still written: the analysis is kept, and only the part
 * written since is read for the next answer. The answer is the one that a single reading of the
 * whole finds.
 */
#ifndef INGERO_STORE_SOURCE_GROWING_H
#define INGERO_STORE_SOURCE_GROWING_H

#include "lib/query/report_query.h"
#include "lib/store/source_state.h"
#include "lib/store/story_json.h"

struct source_growing;

struct source_grown {
	const struct query_chains *answer; /* NULL: not to be had this way; lives as long as: */
	const struct failures *failures;
	const struct oncpu *oncpu;
	struct query_chains held; /* where they are, the caller's: source_grown_free */
	struct story_said said;
	struct source_growing *ended; /* the recording has ended: what they are part of; NULL */
	struct ops_input input;
};

/* begin: where it is not read yet, too. notes: what is wrong with it is appended. One at a time
 * waits for others. */
int source_growing_chains(struct store_source *s, bool begin, const struct request_ctx *rctx,
			  struct source_grown *out, struct buf *notes, struct err *e);
void source_grown_free(struct source_grown *g);
void source_growing_free(struct source_growing *g);

#endif
