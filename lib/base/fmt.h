/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: units, styles, harmless text, bars. Nothing here prints: everything goes into a
 * buffer. Text from outside (process names, paths) must pass fmt_safe or a table cell, which make
 * control characters visible, before it reaches a terminal.
 */
#ifndef INGERO_BASE_FMT_H
#define INGERO_BASE_FMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

/* By value, so that fmt_ns(x).s can stand in an argument list. */
struct fmt_text {
	char s[48];
};

struct fmt_text fmt_ns(uint64_t ns);	      /* "5.20 ms" */
struct fmt_text fmt_bytes(uint64_t bytes);    /* "1.5 GiB" */
struct fmt_text fmt_count(uint64_t n);	      /* "1,234,567" */
struct fmt_text fmt_percent(double fraction); /* "12.3%" */

enum fmt_style { FMT_PLAIN, FMT_BOLD, FMT_DIM, FMT_RED, FMT_GREEN, FMT_YELLOW, FMT_BLUE, FMT_CYAN };

/* text for a terminal of so many columns (0: as it is): longer lines are broken at blanks, what
 * follows stands two columns deeper. What is to be copied stays whole: lines that begin with one of
 * these, for a shell and for a program. */
#define FMT_SHELL "$ "
#define FMT_CODE  "| "
void fmt_wrap(struct buf *out, struct bytes text, unsigned columns);

/* text in a style, or plain when color is false. */
void fmt_styled(struct buf *out, bool color, enum fmt_style style, const char *text);

/* text with control characters and bytes that are no UTF-8 replaced by '?'. */
void fmt_safe(struct buf *out, struct bytes text);

/* "312 gaps", "1 gap"; "1 copy", "1 allocation never freed": words are for many, and one of them
 * ends in s. Made safe. */
void fmt_counted(struct buf *out, uint64_t n, struct bytes words);

/* Columns text takes on a terminal (UTF-8, one per character). */
size_t fmt_width(const char *text);

/* A bar of fraction (0..1) of width characters: "######    ". */
void fmt_bar(struct buf *out, double fraction, unsigned width);

#endif
