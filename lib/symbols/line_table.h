/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source file and line of an address, from the .debug_line section of a file that was built with
 * -g. Of an inlined function it is the innermost one's. All line programs are run once, when the
 * table is made; it then holds 32 bytes for every 4 KiB of them, or every function, and later runs
 * that much of one program for an address. One thread at a time per table.
 */
#ifndef INGERO_SYMBOLS_LINE_TABLE_H
#define INGERO_SYMBOLS_LINE_TABLE_H

#include "lib/base/buf.h"
#include "lib/symbols/elf.h"

struct line_table;

/* A file without lines, or with damaged ones, gives an empty table, or one of what could be read.
 * ERR_NOMEM. f: borrowed until the table is freed. */
int line_table_new(struct line_table **out, const struct sym_elf *f, struct err *e);
void line_table_free(struct line_table *t);

/* Appends the path, as the compiler knew it, of the source of the instruction around address (as
 * linked). False: no line is known, and nothing is appended. */
bool line_table_find(struct line_table *t, uint64_t address, struct buf *file, uint32_t *line);

#endif
