/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings fetched from other machines, as inputs: files without a name, which are gone with
 * whoever has them open. What is not begun as a recording is refused with its node; what follows is
 * for whoever reads it, as of any file.
 */
#ifndef INGERO_FLEET_FLEET_FILES_H
#define INGERO_FLEET_FLEET_FILES_H

#include "lib/filter/filter.h"
#include "lib/fleet/fleet.h"

struct fleet_files {
	char **names; /* for input_open */
	size_t n;     /* of those that were had */
	int *fds;     /* of all nodes, in their order; -1: not had */
	const struct fleet *fleet;
	const struct fleet_node *nodes;
	size_t nodes_n;
	int64_t *ahead_ns; /* for input_open_within_ahead; NULL: no clock is known to be wrong */
};

/* words: what of them is wanted at all; nodes leave out what is certainly older. folder: where the
 * files are. ERR_CANNOT: no node has a recording. Also after an error out is to be freed, before f.
 */
int fleet_fetch(struct fleet_files *out, struct fleet *f, const struct filter_words *words,
		const char *folder, struct err *e);
/* Behind fleet_clocks: what nodes' clocks are off by is so for the recordings that they themselves
 * have made since they booted, and for no other. Whose times are to be moved is appended to notes,
 * a line each. */
int fleet_files_clocks(struct fleet_files *x, struct buf *notes, struct err *e);
/* While it fetches: how much has come. For cli_measure; of: the struct fleet_files. */
void fleet_files_position(void *of, uint64_t *done, uint64_t *total, uint64_t *events);
/* What was said of the inputs' names is said of the nodes, for they mean nothing to anybody. */
void fleet_files_tell(const struct fleet_files *x, struct buf *text);
struct err *fleet_files_tell_err(const struct fleet_files *x, struct err *e); /* e */
void fleet_files_free(struct fleet_files *x);

#endif
