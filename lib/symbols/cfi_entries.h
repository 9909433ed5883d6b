/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of an .eh_frame section: common information of functions (CIE) and the rows of each
 * function (FDE). Only their offsets and lengths are read here; cfi_program.h runs their programs.
 */
#ifndef INGERO_SYMBOLS_CFI_ENTRIES_H
#define INGERO_SYMBOLS_CFI_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"

/* A section's bytes, and the address they are linked to. */
struct cfi_section {
	const uint8_t *p;
	size_t n; /* below 4 GB */
	uint64_t address;
	bool ends; /* a length of 0 ends it: where its own length is not known */
};

/* Places are in bytes from the start of the section. */
struct cfi_cie {
	uint32_t at;
	uint32_t program, end;
	uint64_t code_align;
	int64_t data_align;
	uint32_t return_column;
	uint8_t encoding; /* of addresses, DW_EH_PE_* */
	bool augmented;	  /* FDEs have data of an augmentation */
	bool is_signal;	  /* its functions are entered by the kernel, not by a call */
	bool is_broken;
};

struct cfi_fde {
	uint64_t address; /* as linked */
	uint32_t length;  /* of its code */
	uint32_t program, end;
	uint32_t cie; /* index */
};

/* The largest libraries seen have 300,000 FDEs and 300 CIEs. */
#define CFI_FDES_MAX (4u << 20)
#define CFI_CIES_MAX (1u << 16)

struct cfi_entries {
	VEC(struct cfi_cie) cies;
	VEC(struct cfi_fde) fdes; /* as they stand in the section */
};

/* An entry that makes no sense is left out; one whose length does ends the section. ERR_LIMIT: more
 * than the limits, ERR_NOMEM. Zero-initialised is empty; to be freed in any case. */
int cfi_entries_read(struct cfi_entries *out, const struct cfi_section *s, struct err *e);
void cfi_entries_free(struct cfi_entries *c);

#endif
