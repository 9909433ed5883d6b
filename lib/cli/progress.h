/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of progress on standard error for work that takes longer than a second: on a terminal
 * by itself, elsewhere with --progress. Silent with -q.
 */
#ifndef INGERO_CLI_PROGRESS_H
#define INGERO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
	const char *what; /* "reading run.ige" */
	int64_t began_ns, shown_ns;
	bool on, terminal, shown;
};

void cli_progress_begin(struct cli_progress *p, const char *what);
/* done of total (0: unknown) bytes; cheap enough to be called per block. */
void cli_progress_update(struct cli_progress *p, uint64_t done, uint64_t total);
void cli_progress_end(struct cli_progress *p);

#endif
