/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program says to a person: on standard error, one line per message, each written at once
 * so that the programs of a pipeline do not tear each other's lines. Control characters in the
 * text are made visible: names of processes and files come from outside.
 */
#ifndef INGERO_CLI_MESSAGE_H
#define INGERO_CLI_MESSAGE_H

#include <stdbool.h>

#include "lib/base/buf.h"

/* Set by cli_parse from the common options; tests may set them. */
struct cli_settings {
	const char *program; /* "ingero-stat" */
	bool quiet;	     /* -q */
	int verbose;	     /* -v, -vv */
	const char *color;   /* "auto", "always", "never" */
	bool progress;	     /* --progress */
	const char *db;	     /* --db, of programs that read recordings */
};

extern struct cli_settings cli_settings;

void cli_error(const char *fmt, ...)
	__attribute__((format(printf, 1, 2))); /* "ingero-stat: cannot …" */
void cli_warn(const char *fmt, ...)
	__attribute__((format(printf, 1, 2))); /* "ingero-stat: warning: …" */
void cli_warn_lines(const struct buf *text);   /* one warning per line */
void cli_note(const char *fmt, ...)
	__attribute__((format(printf, 1, 2))); /* plain line; silent with -q */
void cli_note_lines(const struct buf *text);   /* the same, one per line */
void cli_detail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2))); /* "ingero-stat: …", only with -v */

void cli_detail_lines(const struct buf *text); /* the same, one per line */

#endif
