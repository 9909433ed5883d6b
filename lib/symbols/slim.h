/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a file's functions without the file: a small ELF file with its build-id, its
 * loadable segments' headers and one symbol table, so that sym_symbols_find has the same results as
 * with the whole file. It contains no code, data or source lines: a recording has the lines of what
 * was named where it was made.
 */
#ifndef INGERO_SYMBOLS_SLIM_H
#define INGERO_SYMBOLS_SLIM_H

#include "lib/base/buf.h"
#include "lib/symbols/elf.h"

/* Larger tables are refused: ERR_LIMIT. The largest libraries (4 million functions with long C++
 * names) have half. */
#define SYM_SLIM_MAX (1u << 30)

/* Appended to out. *functions: how many names. A file without symbols gives one without. */
int sym_slim(const struct sym_elf *f, struct buf *out, size_t *functions, struct err *e);

#endif
