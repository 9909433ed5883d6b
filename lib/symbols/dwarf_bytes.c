/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reader of DWARF data: every byte is checked to be there before it is read.
 */
#include "lib/symbols/dwarf_bytes.h"

#include <string.h>

static void fail_read(struct dwarf_bytes *b)
{
	b->failed = true;
	b->n = 0;
}

uint64_t dwarf_read_uint(struct dwarf_bytes *b, unsigned n)
{
	uint64_t value = 0;

	if (b->n < n) {
		fail_read(b);
		return 0;
	}
	memcpy(&value, b->p, n);
	b->p += n;
	b->n -= n;
	return value;
}

/* The bits of a LEB128 number; *shift: how many were given, *last: its last byte. Bits above the
 * 64th are dropped. */
static uint64_t read_leb(struct dwarf_bytes *b, unsigned *shift, uint8_t *last)
{
	uint64_t value = 0;

	*shift = 0;
	*last = 0;
	while (b->n > 0) {
		*last = *b->p++;
		b->n--;
		if (*shift < 64)
			value |= (uint64_t)(*last & 0x7f) << *shift;
		*shift += 7;
		if (!(*last & 0x80))
			return value;
	}
	fail_read(b);
	return 0;
}

uint64_t dwarf_read_uleb(struct dwarf_bytes *b)
{
	unsigned shift;
	uint8_t last;

	return read_leb(b, &shift, &last);
}

int64_t dwarf_read_sleb(struct dwarf_bytes *b)
{
	unsigned shift;
	uint8_t last;
	uint64_t value = read_leb(b, &shift, &last);

	if (!b->failed && shift < 64 && (last & 0x40))
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

void dwarf_skip_bytes(struct dwarf_bytes *b, uint64_t n)
{
	if (b->n < n) {
		fail_read(b);
		return;
	}
	b->p += n;
	b->n -= n;
}

static uint64_t read_encoded(struct dwarf_bytes *b, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x00: /* DW_EH_PE_absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return dwarf_read_uint(b, 8);
	case 0x01:
		return dwarf_read_uleb(b);
	case 0x02:
		return dwarf_read_uint(b, 2);
	case 0x03:
		return dwarf_read_uint(b, 4);
	case 0x09:
		return (uint64_t)dwarf_read_sleb(b);
	case 0x0a:
		return (uint64_t)(int16_t)dwarf_read_uint(b, 2);
	case 0x0b:
		return (uint64_t)(int32_t)dwarf_read_uint(b, 4);
	default:
		fail_read(b);
		return 0;
	}
}

uint64_t dwarf_read_pointer(struct dwarf_bytes *b, uint8_t encoding, uint64_t address)
{
	uint64_t value;

	if (encoding == DWARF_POINTER_OMIT)
		return 0;
	value = read_encoded(b, encoding);
	return (encoding & 0x70) == DWARF_POINTER_PCREL ? value + address : value;
}
