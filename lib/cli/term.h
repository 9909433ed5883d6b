/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: units, colour, aligned tables, bars. Nothing here prints: everything goes into a
 * buffer. Text from outside (process names, paths) must pass cli_safe or a table cell, which make
 * control characters visible, before it reaches a terminal.
 */
#ifndef INGERO_CLI_TERM_H
#define INGERO_CLI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

/* By value, so that cli_ns(x).s can stand in an argument list. */
struct cli_text {
	char s[48];
};

struct cli_text cli_ns(uint64_t ns);	      /* "5.20 ms" */
struct cli_text cli_bytes(uint64_t bytes);    /* "1.5 GiB" */
struct cli_text cli_count(uint64_t n);	      /* "1,234,567" */
struct cli_text cli_percent(double fraction); /* "12.3%" */

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_BLUE, CLI_CYAN };

/* Whether text for descriptor fd is coloured: --color, then NO_COLOR, TERM=dumb and whether it is a terminal. */
bool cli_color(int fd);

/* Columns of the terminal on fd; 80 when it is none. */
unsigned cli_width(int fd);

/* text in a style, or plain when color is false. */
void cli_styled(struct buf *out, bool color, enum cli_style style, const char *text);

/* text with control characters and bytes that are no UTF-8 replaced by '?'. */
void cli_safe(struct buf *out, struct bytes text);

/* Columns text takes on a terminal (UTF-8, one per character). */
size_t cli_text_width(const char *text);

/* A bar of fraction (0..1) of width characters: "######    ". */
void cli_bar(struct buf *out, double fraction, unsigned width);

struct cli_table; /* rows of cells; columns are as wide as their widest cell */

/* headers: one per column, ended by NULL; a header starting with '>' is a column of numbers (right-aligned). */
struct cli_table *cli_table_new(const char *const *headers); /* NULL on OOM */
void cli_table_cell(struct cli_table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The cell in a style (applied only when printed with color). */
void cli_table_cell_styled(struct cli_table *t, enum cli_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Appends the table, each line behind indent spaces; out->failed when memory ran out anywhere. */
void cli_table_text(struct buf *out, const struct cli_table *t, unsigned indent, bool color);
void cli_table_free(struct cli_table *t);

#endif
