/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of GPU kernels in a library without symbols, by the host functions they are launched by:
 * read from the code that nvcc makes to register them (x86-64), whatever became of the fat binary.
 * The file may be anybody's: see elf.h.
 */
#ifndef INGERO_SYMBOLS_REGISTERED_H
#define INGERO_SYMBOLS_REGISTERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/symbols/elf.h"

struct sym_registered;

/* f must outlive it. A file that registers nothing gives an empty table. */
int sym_registered_new(struct sym_registered **out, const struct sym_elf *f, struct err *e);
void sym_registered_free(struct sym_registered *t);
size_t sym_registered_count(const struct sym_registered *t);

/* Appends the name, demangled, of the kernel whose host function begins at the file offset. False:
 * it registers none there, or several names. */
bool sym_registered_find(const struct sym_registered *t, uint64_t offset, struct buf *name);

#endif
