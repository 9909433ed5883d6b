/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to find the caller of each instruction of a file, as its .eh_frame says: a sorted table of
 * 4-byte rows for a walk in the kernel. A row is the low 16 bits of the address from which on it
 * holds, and the number of its rule (unwind_rules.h) above them. Rows lie in pages of 64 KB of
 * addresses; each page begins with a row at 0. The file may be anybody's: see elf.h.
 */
#ifndef INGERO_SYMBOLS_UNWIND_TABLE_H
#define INGERO_SYMBOLS_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/symbols/elf.h"
#include "lib/symbols/unwind_rules.h"

#define UNWIND_PAGE_BITS 16

/* A file that says more is refused, ERR_LIMIT. The largest seen: libtorch_cpu, 9.7 MB and 1.2
 * million rows; cublasLt, 600 MB of addresses. */
#define UNWIND_FRAME_MAX (64u << 20) /* bytes of .eh_frame */
#define UNWIND_ROWS_MAX	 (16u << 20)
#define UNWIND_PAGES_MAX (1u << 16) /* 4 GB of addresses */

struct unwind_table {
	uint64_t base;	 /* address, as linked, where page 0 begins */
	uint32_t npages; /* 0: the file has no .eh_frame */
	uint32_t nrows;
	uint32_t *pages; /* number of each one's first row, and nrows behind the last */
	uint32_t *rows;
	uint32_t nfunctions;
	uint64_t frame_bytes; /* of .eh_frame */
};

/* rules: grows by what is new. ERR_LIMIT, ERR_DAMAGED, ERR_NOMEM, ERR_CANNOT: of a machine that we
 * do not know. */
int unwind_table_build(struct unwind_table **out, const struct sym_elf *f,
		       struct unwind_rules *rules, struct err *e);
void unwind_table_free(struct unwind_table *t);

/* Bytes that its rows and pages take. */
size_t unwind_table_bytes(const struct unwind_table *t);

/* The number of the rule at this address as linked; UNWIND_RULE_NONE outside of the table. */
uint16_t unwind_table_find(const struct unwind_table *t, uint64_t address);

#endif
