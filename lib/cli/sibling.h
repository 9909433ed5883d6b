/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running other programs of the house: from the folder of this one, else from libexec beside it,
 * else from $PATH. Descriptors that a caller makes for them are close-on-exec, so that nobody holds
 * a pipe open by accident.
 */
#ifndef INGERO_CLI_SIBLING_H
#define INGERO_CLI_SIBLING_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* Appended: where the program is, as it would be executed. False: there is none of that name. */
bool cli_sibling_find(const char *name, struct buf *path);

/* Becomes argv[0]. Returns only when that fails: errno says why. */
void cli_sibling_exec(char *const *argv);

/* Standard descriptors of a started program; -1 leaves one as it is here. */
struct cli_sibling_fds {
	int in, out, err;
	bool keep_running; /* SIGTERM and SIGHUP do not end it, nor SIGINT before it asks for that:
			      what it reads does */
	bool only_reads;   /* it analyzes recordings: of capabilities it gets what reads files of
			      others */
};

/* Negative: said in e. A program that is not there ends with status 127 and a message. */
pid_t cli_sibling_start(char *const *argv, const struct cli_sibling_fds *fds, struct err *e);

/* Waits for it: its exit status, or 128 + signal. */
int cli_sibling_wait(pid_t pid);

/* Both ends close-on-exec. */
int cli_sibling_pipe(int fds[2], struct err *e);

/* The same for a program that shall find a terminal, of the size that standard output has: what is
 * written to fds[1] comes out at fds[0] as it was written. */
int cli_sibling_terminal(int fds[2], struct err *e);

#endif
