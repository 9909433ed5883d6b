/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings fetched from other machines, as inputs: unlinked files, which vanish when they are
 * closed. An answer that does not begin as a recording is refused and its node left out; the rest
 * is checked by the reader, as of any file.
 */
#ifndef INGERO_FLEET_FLEET_FILES_H
#define INGERO_FLEET_FLEET_FILES_H

#include "lib/filter/filter.h"
#include "lib/fleet/fleet.h"

struct fleet_files {
	char **names; /* for input_open */
	size_t n;     /* of the recordings that were fetched */
	int *fds;     /* of all nodes, in their order; -1: not fetched */
	const struct fleet *fleet;
	const struct fleet_node *nodes;
	size_t nodes_n;
	int64_t *ahead_ns; /* for input_open_within_ahead; NULL: no clock is known to be wrong */
};

/* words: what of them is wanted at all; nodes leave out what is certainly older. folder: where the
 * files are. ERR_CANNOT: no node has a recording. Also after an error out is to be freed, before f.
 */
int fleet_fetch_recordings(struct fleet_files *out, struct fleet *f,
			   const struct filter_words *words, const char *folder, struct err *e);
/* After fleet_compare_clocks: sets ahead_ns, for recordings that a node itself has made since it
 * booted and for no other. Appends a line to notes for each recording whose times are shifted. */
int fleet_files_set_clocks(struct fleet_files *x, struct buf *notes, struct err *e);
/* While it fetches: how much has come. For cli_measure; of: the struct fleet_files. */
void fleet_files_position(void *of, uint64_t *done, uint64_t *total, uint64_t *events);
/* Replaces the names of the files in a text, which mean nothing to the user, by the nodes. */
void fleet_files_replace_names(const struct fleet_files *x, struct buf *text);
struct err *fleet_files_replace_names_err(const struct fleet_files *x, struct err *e); /* e */
void fleet_files_free(struct fleet_files *x);

#endif
