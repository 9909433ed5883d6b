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
#include "lib/store/report_answer_json.h"

struct source_growing;

struct growing_answer {
	const struct query_chains *answer; /* NULL: it cannot be read this way */
	const struct failures *failures;
	const struct oncpu *oncpu;
	struct query_chains parsed_chains; /* what the answer of a recording that grows points to */
	struct report_answer_json parsed;
	struct source_growing *ended; /* if the recording has ended: owns the answer; else NULL */
	struct ops_input input;
};

/* begin: where it is not read yet, too. notes: what is wrong with it is appended. One at a time
 * waits for others. */
int source_growing_answer(struct store_source *s, bool begin, const struct request_ctx *rctx,
			  struct growing_answer *out, struct buf *notes, struct err *e);
void growing_answer_free(struct growing_answer *g);
void source_growing_free(struct source_growing *g);

#endif
