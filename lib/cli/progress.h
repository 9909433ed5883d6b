/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far long work has come, on standard error. On a terminal one line that is drawn over, by
 * itself when the input is a file and the work takes longer than two seconds; in a pipeline only
 * the program at its head can have a file, so no two draw on one line. With --progress also for
 * pipes and without a terminal: there as plain lines every few seconds, and one at the end. Silent
 * with -q.
 */
#ifndef INGERO_CLI_PROGRESS_H
#define INGERO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* How far the work `of` has come; *total_bytes 0: the total is unknown, as of a pipe. */
typedef void cli_measure(void *of, uint64_t *done_bytes, uint64_t *total_bytes, uint64_t *events);

struct cli_progress {
	cli_measure *measure;
	void *of;
	const char *what;	    /* stands before it; NULL: nothing */
	int64_t began_ns, shown_ns; /* CLOCK_MONOTONIC */
	bool on, terminal, shown;
};

/* measure(of, …) is asked once now, and then whenever something is to be shown. screen: this
 * program draws on the terminal itself meanwhile, so that only --progress brings a line. */
void cli_progress_begin(struct cli_progress *p, cli_measure *measure, void *of, bool screen);
/* Cheap: to be called per block. */
void cli_progress_tick(struct cli_progress *p);
/* Clears the line on a terminal; with --progress says what it came to. */
void cli_progress_end(struct cli_progress *p);

/* While something is prepared that takes long where it is large, as database_input_look: shows what
 * and how far, and is true once a signal came. */
bool cli_preparing(const char *what, uint64_t events, bool over);

/* -v: "read and analyzed in 12.3 ms", the time since *since_ns, which becomes now. *since_ns 0:
 * only that. */
void cli_phase(int64_t *since_ns, const char *what);

#endif
