/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of one recording that is still written: the counts are kept, and only the part written
 * since is read for the next answer. Graphs, communicators and memory may be as of a second before
 * its end.
 */
#ifndef INGERO_STORE_SOURCE_COUNTING_H
#define INGERO_STORE_SOURCE_COUNTING_H

#include "lib/store/source_state.h"

struct source_counting;

/* All sections of everything, up to the end as it is now. *out is the caller's,
 * source_counting_release; NULL: it cannot be read this way. */
int source_counting_acquire(struct source_counting **out, struct store_source *s,
			    const struct request_ctx *rctx, bool *growing, struct err *e);
/* use gets the figures of source_counting_acquire, or newer ones; into: of store_stat_request. One
 * at a time waits for others. */
int source_counting_answer(struct source_counting *c, struct store_quality quality,
			   const struct request_ctx *rctx, struct jsonw *into, store_stat_fn *use,
			   void *ctx, struct err *e);
void source_counting_release(struct source_counting *c);

#endif
