/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches the recordings of the machines that a program's options name, as its inputs, and shows
 * the progress.
 */
#ifndef INGERO_FLEET_REMOTE_RECORDINGS_H
#define INGERO_FLEET_REMOTE_RECORDINGS_H

#include "lib/cli/asking.h"
#include "lib/cli/progress.h"
#include "lib/fleet/fleet_files.h"

/* Zero-initialised is empty. */
struct remote_recordings {
	struct fleet *fleet;
	struct fleet_files files;
	struct cli_progress progress; /* while they come */
};

/* how: what no option of asked says. ERR_INTERRUPTED at a signal. In any case to be freed, behind
 * whoever reads the files. */
int remote_recordings_fetch(struct remote_recordings *x, const struct cli_asking *asked,
			    struct fleet_options how, const struct filter_words *words,
			    struct err *e);
void remote_recordings_free(struct remote_recordings *x);

#endif
