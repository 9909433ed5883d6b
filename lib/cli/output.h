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

/* First thing in main: opens descriptors 0, 1, 2 on /dev/null where the parent closed them (a recording
 * must not become standard output), and turns SIGPIPE into EPIPE. */
void cli_start(void);

/* Flush and close standard output; returns status, or CLI_EXIT_CANNOT with a message when that fails. */
int cli_finish_stdout(int status);

/* All of b to standard output now (through stdio); ERR_CLOSED when its reader went away. */
int cli_print(const struct buf *b, struct err *e);

/* The same, text for people: folded to the terminal's width where standard output is one. */
int cli_print_text(const struct buf *b, struct err *e);

/* The descriptor of `-o path` ("-" is standard output): created with mode 0600, truncated, close-on-exec. */
int cli_output_open(const char *path, struct err *e);

/* A file that is there whole or not at all: written beside its place and moved there in the end. What is no regular file
 * (a pipe, /dev/full) and "-" are written where they are. */
struct cli_aside {
	int fd;
	const char *path; /* borrowed */
	char *temporary;  /* NULL: written in place */
};
int cli_aside_open(struct cli_aside *a, const char *path, struct err *e);
/* Closes it, and moves it into its place. Everything is on the disk by then, or it fails and nothing has changed. */
int cli_aside_keep(struct cli_aside *a, struct err *e);
/* Closes it and takes it away; nothing after cli_aside_keep, or when it was never opened (fd < 0). */
void cli_aside_drop(struct cli_aside *a);

/* ERR_USAGE when the file at path is one of the inputs (none: standard input): opening it would empty it. */
int cli_output_apart(const char *path, char *const *inputs, size_t n, struct err *e);

/* ERR_USAGE with a hint when fd is a terminal: a recording is binary. */
int cli_refuse_terminal(int fd, struct err *e);

#endif
