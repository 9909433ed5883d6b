/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains a recording carries, without its events: blocks of events are passed by, so that an
 * analyzed recording answers in the time it takes to go over its bytes.
 */
#ifndef INGERO_QUERY_STORED_FINDINGS_H
#define INGERO_QUERY_STORED_FINDINGS_H

#include "lib/query/chains.h"
#include "lib/input/input.h"

/* between: called per block; a result other than 0 ends the reading. */
struct query_stored_findings_options {
	int (*between)(void *ctx, struct input *in, struct err *e); /* may be NULL */
	void *ctx;
};

/* in: just opened, in w, read to its end here. *is false: there is no one whole analysis of all of
 * it (several inputs, damage, none was made), so that query/chains.h has to find it; *out is then
 * empty. out is the caller's: query_chains_clear. */
int query_chains_read_stored(struct input *in, const struct world *w,
			     const struct query_stored_findings_options *want,
			     struct query_chains *out, bool *is, struct err *e);

#endif
