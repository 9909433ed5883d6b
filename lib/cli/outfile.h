/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output file that is touched only once there is something to put into it: whoever names a file
 * behind -o keeps what it held when the input turns out to be no recording. One of a stream that
 * goes on is written where it is, so that others can follow it; any other is there whole or not at
 * all.
 */
#ifndef INGERO_CLI_OUTFILE_H
#define INGERO_CLI_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/atomic_file.h"
#include "lib/base/err.h"

struct cli_outfile {
	const char *path; /* borrowed; NULL: standard output */
	int fd;		  /* -1: not there yet */
	bool begun;	  /* the first bytes were written */
	bool whole;	  /* aside is what is written */
	struct atomic_file aside;
};

/* path NULL or "-" is standard output; whole: what is written does not go on. Changes no file, but
 * fails already when writing to it could not work. */
int cli_outfile_open(struct cli_outfile *o, const char *path, bool whole, struct err *e);

/* The first write creates the file with mode 0600, or empties the one that is there. */
int cli_outfile_write(struct cli_outfile *o, const void *p, size_t n, struct err *e);

/* Checked; standard output stays open. Without a write nothing has changed, nor when it is not
 * good: a whole file is then taken away. */
int cli_outfile_close(struct cli_outfile *o, bool good, struct err *e);

#endif
