/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open ELF file's inside, shared by elf.c, which opens it, and elf_symbols.c, which walks its
 * symbols. Nobody else includes this.
 */
#ifndef INGERO_SYMBOLS_ELF_INTERNAL_H
#define INGERO_SYMBOLS_ELF_INTERNAL_H

#include <gelf.h>
#include <libelf.h>

#include "lib/symbols/elf.h"

struct sym_elf {
	int fd;
	uint64_t size;
	uint64_t reach; /* where addresses may lie: size, or that of the file whose symbols these
			   are */
	Elf64_Ehdr head;
	Elf64_Phdr *segments;
	unsigned nsegments;
	Elf64_Shdr *sections;
	unsigned nsections;
	char build_id[SYM_BUILD_ID];
	char soname[256];
	char interpreter[256];
};

/* These bytes are in the file. */
static inline bool sym_elf_inside(const struct sym_elf *f, uint64_t offset, uint64_t n)
{
	return offset <= f->size && n <= f->size - offset;
}

/* libelf's view of it, yours to end. NULL: libelf refuses it, or there is no memory. */
Elf *sym_elf_begin(const struct sym_elf *f);

#endif
