/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of other machines as a program's inputs, as its options name them; who waits for them sees how much has come.
 */
#ifndef INGERO_SERVE_FETCHING_H
#define INGERO_SERVE_FETCHING_H

#include "lib/cli/asking.h"
#include "lib/cli/progress.h"
#include "lib/serve/fleet_files.h"

/* Zero-initialised is empty. */
struct serve_fetching {
	struct serve_fleet *fleet;
	struct fleet_files files;
	struct cli_progress progress; /* while they come */
};

/* how: what no option of asked says. ERR_INTERRUPTED at a signal. In any case to be freed, behind whoever reads the files. */
int serve_fetching(struct serve_fetching *x, const struct cli_asking *asked,
		   struct serve_fleet_options how, const struct select_words *words, struct err *e);
void serve_fetching_free(struct serve_fetching *x);

#endif
