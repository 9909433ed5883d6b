/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains a recording carries, without its events: blocks of events are passed by, so that an
 * analyzed recording answers in the time it takes to go over its bytes.
 */
#ifndef INGERO_QUERY_STORED_FINDINGS_H
#define INGERO_QUERY_STORED_FINDINGS_H

#include "lib/query/chains.h"
#include "lib/input/input.h"

/* between: asked per block; what is not 0 ends it. */
struct query_stored_findings_want {
	int (*between)(void *ctx, struct input *in, struct err *e); /* NULL: nobody */
	void *ctx;
};

/* in: just opened, in w, read to its end here. *is false: there is no one whole analysis of all of
 * it (several inputs, damage, none was made), so that query/chains.h has to find it; *out is then
 * empty. out is the caller's: query_chains_drop. */
int query_chains_stored(struct input *in, const struct world *w,
			const struct query_stored_findings_want *want, struct query_chains *out,
			bool *is, struct err *e);

#endif
