/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the call frame instructions of one function: from which address on its caller's frame is
 * found how. Of the registers only the frame pointer and the return address are followed.
 */
#ifndef INGERO_SYMBOLS_CFI_PROGRAM_H
#define INGERO_SYMBOLS_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/symbols/cfi_entries.h"

/* DWARF's numbers of the registers that matter. */
struct cfi_machine {
	uint16_t elf; /* EM_* */
	uint8_t sp, fp, ra;
};

/* NULL: not one that we know. */
const struct cfi_machine *cfi_machine_of(uint16_t elf);

enum cfi_how {
	CFI_SAME,	/* the caller's value is in the register */
	CFI_OFFSET,	/* at CFA + offset */
	CFI_EXPRESSION, /* at the address that an expression gives */
	CFI_UNDEFINED,
	CFI_OTHER,
};

/* The bytes of a DWARF expression in the section. */
struct cfi_expression {
	uint32_t at, n;
};

struct cfi_saved {
	enum cfi_how how;
	int64_t offset;
	struct cfi_expression expression;
};

struct cfi_row {
	bool cfa_known;
	bool cfa_is_expression;
	bool is_signed; /* arm64: the return address is, here */
	uint32_t cfa_register;
	int64_t cfa_offset;
	struct cfi_expression cfa;
	struct cfi_saved fp, ra;
};

/* From this address on row holds. */
typedef void cfi_row_fn(void *ctx, uint64_t address, const struct cfi_row *row);

/* What a function of this CIE begins with. False: its program makes no sense. */
bool cfi_program_init(struct cfi_row *out, const struct cfi_section *s, const struct cfi_cie *cie,
		      const struct cfi_machine *machine);

/* Every row of the function to fn, in ascending order, none beyond its end; init: of its CIE.
 * False: from *bad on, an address of the function, nothing is known, because its program makes no
 * sense. */
bool cfi_program_run(const struct cfi_section *s, const struct cfi_cie *cie,
		     const struct cfi_fde *fde, const struct cfi_row *init,
		     const struct cfi_machine *machine, cfi_row_fn *fn, void *ctx, uint64_t *bad);

#endif
