/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exported symbol by its name, through the file's own hash table: a few reads, however many
 * symbols it has.
 */
#ifndef INGERO_SYMBOLS_LOOKUP_H
#define INGERO_SYMBOLS_LOOKUP_H

#include "lib/symbols/elf.h"

/* A defined dynamic symbol. False: the file exports none of that name, or has no GNU hash table.
 * out->name is not filled. */
bool sym_lookup(const struct sym_elf *f, const char *name, struct sym_elf_symbol *out);

/* The section of that name; false: none, or its headers are gone. */
bool sym_lookup_section(const struct sym_elf *f, const char *name, struct sym_elf_part *out);

#endif
