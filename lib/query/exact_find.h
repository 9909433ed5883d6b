/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact quantiles of a run that has counted everything: from the durations it kept, or by reading
 * the inputs once or twice more.
 */
#ifndef INGERO_QUERY_EXACT_FIND_H
#define INGERO_QUERY_EXACT_FIND_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/query/brief.h"
#include "lib/query/exact.h"
#include "lib/base/err.h"

/* The inputs, and what was done with them; all borrowed. */
struct exact_source {
	const char *const *names; /* as given to input_open */
	unsigned n;
	struct world *world;
	struct filter *sel;
	struct query_ops_run *run; /* with an exact.h */
	struct brief *brief;	   /* NULL: events were counted */
	bool standard, pipe; /* standard input is among them; one of them can be read only once */
	off_t offset;	     /* where standard input began */
};

/* Fills in what there is to know of names[0..n) before any of them is read. */
void exact_source_init(struct exact_source *from);

enum exact_outcome {
	EXACT_FOUND,
	EXACT_PIPE,    /* not kept, and cannot be read again */
	EXACT_CHANGED, /* an input holds other durations now */
};
/* An outcome, or < 0: an error. Other defects of an input were reported when it was first read. */
int exact_find(const struct exact_source *from, struct err *e);

#endif
