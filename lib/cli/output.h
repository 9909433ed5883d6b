/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own descriptors: sound at the start, checked at the end. A write that failed late
 * (full disk, closed pipe) is noticed when standard output is closed, and a reader that went away
 * is no error.
 */
#ifndef INGERO_CLI_OUTPUT_H
#define INGERO_CLI_OUTPUT_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* First thing in main: opens descriptors 0, 1, 2 on /dev/null where the parent closed them (a
 * recording must not become standard output), and turns SIGPIPE into EPIPE. */
void cli_start(void);

/* Flush and close standard output; returns status, or CLI_EXIT_CANNOT with a message when that
 * fails. */
int cli_finish_stdout(int status);

/* All of b to standard output now, behind what is in the stream; ERR_CLOSED when its reader went
 * away. */
int cli_print(const struct buf *b, struct err *e);

/* The same, text for people: folded to the terminal's width where standard output is one. */
int cli_print_text(const struct buf *b, struct err *e);

/* ERR_USAGE when the file at path is one of the inputs (none: standard input): opening it would
 * empty it. */
int cli_output_apart(const char *path, char *const *inputs, size_t n, struct err *e);

/* ERR_USAGE with a hint when fd is a terminal: a recording is binary. */
int cli_refuse_terminal(int fd, struct err *e);

#endif
