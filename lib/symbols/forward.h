/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exported functions that do nothing but enter another function: a prologue, some moves between
 * registers, then one jump or call (`__cudaLaunchKernel` of CUDA 13 jumps to `cudaLaunchKernel`,
 * `ncclBcast` calls `ncclBroadcast` through the PLT). Probing both counts one call twice and traps
 * twice. A pure function of the file.
 */
#ifndef INGERO_SYMBOLS_FORWARD_H
#define INGERO_SYMBOLS_FORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/symbols/elf.h"

#define SYM_FORWARD_BYTES \
	48 /* a longer function does more than that; the longest seen has 30 bytes */

struct sym_forward {
	uint64_t offset; /* where the other function stands in the file; UINT64_MAX: name says which
			  */
	char name[64];	 /* of a function that is entered through the PLT; "" otherwise */
};

/* How far into these bytes, which stand at the start of a function, the one jump or call is by
 * which it enters another, and how far from there the other lies, in bytes. False: it may do
 * something else. */
bool sym_forward_step(const uint8_t *code, size_t n, uint16_t machine, size_t *at,
		      int64_t *distance);

/* The function that the one of size bytes at offset of the file enters. False: it does more than
 * that, or the target is unknown. */
bool sym_forward_of(const struct sym_elf *f, uint64_t offset, uint64_t size,
		    struct sym_forward *out);

#endif
