/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function names of one file by file offset. The table holds 16 bytes per function and no names:
 * those are read from the file, which is kept open, when somebody asks. .symtab where there is one,
 * else what is exported. Source lines are those of lib/symbols/line_table.h. One thread at a time
 * per table.
 */
#ifndef INGERO_SYMBOLS_SYMBOLS_H
#define INGERO_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/symbols/elf.h"

struct sym_symbols;

/* A file without symbols gives an empty table, not an error. Takes f over, in any case. */
int sym_symbols_new(struct sym_symbols **out, struct sym_elf *f, struct err *e);
int sym_symbols_open(struct sym_symbols **out, const char *path, struct err *e);
void sym_symbols_free(struct sym_symbols *t);

const struct sym_elf *sym_symbols_file(const struct sym_symbols *t);
size_t sym_symbols_count(const struct sym_symbols *t);

/* How a place relates to the name found for it. */
enum sym_match {
	SYM_NONE,
	SYM_INSIDE,  /* within the function */
	SYM_NEAREST, /* after it, in code without a name: only a hint where to look */
};

/* Appends the name, demangled, of the function at the file offset. *delta: bytes from its start. A
 * return address belongs to the instruction before it: callers pass it less 1. */
enum sym_match sym_symbols_find(const struct sym_symbols *t, uint64_t offset, struct buf *name,
				uint64_t *delta);

/* Appends the path of the source file of what stands at the file offset. False: the file was built
 * without -g, or no line is known of it. The first question reads the table of lines. */
bool sym_symbols_line(struct sym_symbols *t, uint64_t offset, struct buf *file, uint32_t *line);

#endif
