/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of an ELF file: its build-id and names, its defined symbols with their places in
 * the file, bytes at a place. The file may be anybody's (a container's library, a cut download,
 * hostile): libelf reads it with pread, nothing is mapped, so that one that shrinks while we look
 * gives an error and no SIGBUS; every offset and count is checked against the file's size and a
 * limit before memory is taken. A file that lies about itself yields fewer symbols, or is refused.
 * 64-bit little-endian files only: no CUDA library is anything else.
 */
#ifndef INGERO_SYMBOLS_ELF_H
#define INGERO_SYMBOLS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct sym_elf;

/* A file that holds another one's symbols without its code (lib/symbols/slim.h) tells that one's
 * size in a note of this owner and type, 8 bytes little-endian: places of its symbols lie in that
 * other file. */
#define SYM_NOTE_OWNER "ingero"
#define SYM_NOTE_SIZE  1

/* Hexadecimal build-id with its zero byte; longer ones are cut. */
#define SYM_BUILD_ID 65

/* No name longer than this is handed out: mangled names have no limit of their own. */
#define SYM_NAME_MAX 4096

/* ERR_CANNOT: cannot be opened or read; ERR_DAMAGED: not a 64-bit little-endian ELF file. name: for
 * messages. */
int sym_elf_open(struct sym_elf **out, const char *path, struct err *e);
/* The descriptor is duplicated: the caller's stays the caller's. */
int sym_elf_open_fd(struct sym_elf **out, int fd, const char *name, struct err *e);
void sym_elf_free(struct sym_elf *f);

/* Only as much as the build-id takes; out: room for SYM_BUILD_ID, "" when the file has none. */
int sym_elf_build_id_of(const char *path, char out[SYM_BUILD_ID], struct err *e);

/* Borrowed; "" when there is none. */
const char *sym_elf_build_id(const struct sym_elf *f);
const char *sym_elf_soname(const struct sym_elf *f);
const char *sym_elf_interpreter(const struct sym_elf *f); /* path of the loader: PT_INTERP */
uint16_t sym_elf_machine(const struct sym_elf *f);	  /* EM_X86_64, EM_AARCH64 … */
uint64_t sym_elf_size(const struct sym_elf *f);

/* Where a linked address stands in the file; false: nowhere (bss, or no address of this file). */
bool sym_elf_place(const struct sym_elf *f, uint64_t address, uint64_t *offset);
/* The linked address of what stands at offset in the file; false: it is loaded nowhere. */
bool sym_elf_address(const struct sym_elf *f, uint64_t offset, uint64_t *address);

/* The i-th program header, and the i-th section; false: there are no more. name: where in the file
 * its name stands, 0 for a segment. */
struct sym_elf_part {
	uint32_t type, flags; /* PF_X … of a segment, SHF_COMPRESSED … of a section */
	uint64_t offset, address, size, name;
};
bool sym_elf_segment(const struct sym_elf *f, unsigned i, struct sym_elf_part *out);
bool sym_elf_section(const struct sym_elf *f, unsigned i, struct sym_elf_part *out);

/* Up to n bytes of the file at offset; how many there were. */
size_t sym_elf_bytes(const struct sym_elf *f, uint64_t offset, void *out, size_t n);

struct sym_elf_symbol {
	const char *name;     /* borrowed during the call; NULL unless SYM_NAMES was asked */
	uint64_t names_place; /* where in the file the table of names stands */
	uint32_t name_at;     /* where in that table: for sym_elf_text */
	uint64_t value;	      /* address as linked */
	uint64_t offset;      /* in the file; UINT64_MAX when the symbol has no bytes there */
	uint64_t size;	      /* 0 unknown */
	bool is_function;     /* STT_FUNC or STT_GNU_IFUNC */
	bool is_local;
};

enum sym_walk {
	SYM_FULL = 1,  /* .symtab instead of .dynsym */
	SYM_NAMES = 2, /* name is filled; the table of names is read as a whole (up to 512 MB) */
	SYM_FUNCTIONS = 4, /* functions with a place in the file only */
};

/* Every defined symbol to fn until it returns false. 0: done (also when there is no such table). */
typedef bool sym_elf_fn(void *ctx, const struct sym_elf_symbol *s);
int sym_elf_symbols(const struct sym_elf *f, unsigned walk, sym_elf_fn *fn, void *ctx,
		    struct err *e);

/* The symbol whose address the loader puts into this slot (an address as linked), as the
 * relocations say; false: none. A longer name is not given. */
bool sym_elf_imported(const struct sym_elf *f, uint64_t slot, char *name, size_t size);

/* The text at a place in the file, up to its zero byte, cut at size; "" when the place is not in
 * the file. */
char *sym_elf_text(const struct sym_elf *f, uint64_t place, char *out, size_t size);

#endif
