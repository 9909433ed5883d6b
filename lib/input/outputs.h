/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a merge writes: the one named, or FILE with the machine's name in front of its ending
 * for each. They are made aside and appear under their names when they are kept; what is not kept
 * is taken away.
 */
#ifndef INGERO_INPUT_OUTPUTS_H
#define INGERO_INPUT_OUTPUTS_H

#include "lib/base/atomic_file.h"
#include "lib/base/vec.h"
#include "lib/input/merge.h"

struct merge_output {
	struct ige_sink sink; /* first: the writer gives it back to us */
	uint64_t bytes;
	struct atomic_file aside;
	char *path; /* of one of several; NULL: of the only one */
};

struct merge_outputs {
	struct merge_target target; /* first: it is given back to us */
	const struct world *w;	    /* of what is written */
	const char *path;	    /* NULL or "-": standard output */
	VEC(struct merge_output *) all;
};

/* w and path stay the caller's. by_machine: path is a name. */
void merge_outputs_init(struct merge_outputs *o, const struct world *w, const char *path,
			bool by_machine);
/* The i-th appears under its name, whole. */
int merge_output_keep(struct merge_outputs *o, size_t i, struct err *e);
void merge_outputs_free(struct merge_outputs *o);

#endif
