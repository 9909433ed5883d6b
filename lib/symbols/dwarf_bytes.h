/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reader of DWARF data: integers, LEB128 numbers and encoded pointers from untrusted bytes.
 * Reading over the end gives 0, sets failed, and leaves nothing to read.
 */
#ifndef INGERO_SYMBOLS_DWARF_BYTES_H
#define INGERO_SYMBOLS_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dwarf_bytes {
	const uint8_t *p;
	size_t n; /* left to be read */
	bool failed;
};

/* n: 1, 2, 4 or 8 bytes, little-endian. */
uint64_t dwarf_read_uint(struct dwarf_bytes *b, unsigned n);
static inline uint8_t dwarf_read_byte(struct dwarf_bytes *b)
{
	if (b->n == 0) {
		b->failed = true;
		return 0;
	}
	b->n--;
	return *b->p++;
}
uint64_t dwarf_read_uleb(struct dwarf_bytes *b);
int64_t dwarf_read_sleb(struct dwarf_bytes *b);
void dwarf_skip_bytes(struct dwarf_bytes *b, uint64_t n);

#define DWARF_POINTER_PCREL 0x10
#define DWARF_POINTER_OMIT  0xff

/* A pointer of this encoding (DW_EH_PE_*); address: where the next byte is linked to, of pointers
 * relative to it. Of other relative encodings, and of indirect ones, the number as it stands. */
uint64_t dwarf_read_pointer(struct dwarf_bytes *b, uint8_t encoding, uint64_t address);

#endif
