/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exit statuses: the same five numbers from every program, and the one place where a library's
 * error code becomes one of them.
 */
#ifndef INGERO_CLI_EXIT_H
#define INGERO_CLI_EXIT_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

enum cli_exit {
	CLI_EXIT_DONE = 0,
	CLI_EXIT_NO = 1, /* the program was asked a question and the answer is no */
	CLI_EXIT_USAGE = 2,
	CLI_EXIT_CANNOT = 3, /* permission, missing file or feature */
	CLI_EXIT_DAMAGED =
		4, /* input damaged, truncated or unterminated; results cover what was readable */
};

/* The status of an error code; ERR_CLOSED and 0 are success. */
int cli_exit_of(int code);

/* Print the error as "ingero-NAME: text" (nothing for ERR_CLOSED) and return its status. */
int cli_fail(const struct err *e);

/* After an input's end: what was wrong with it as warnings, what was in it with -v; both are freed.
 * Returns the status that its verdict (0 or an error code) deserves. */
int cli_say_input(int verdict, struct buf *notes, struct buf *details);

#endif
