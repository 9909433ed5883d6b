/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates a row of call frame information into an unwind rule. Expressions are compared with the
 * few that compilers and linkers write, not evaluated: anything else is UNWIND_BAD.
 */
#include "lib/symbols/unwind_of_row.h"

#include <elf.h>
#include <string.h>

#include "lib/symbols/dwarf_bytes.h"

#define OP_DEREF 0x06
#define OP_LIT0	 0x30
#define OP_LIT15 0x3f
#define OP_BREG0 0x70

static uint64_t bad_rule(void)
{
	return unwind_rule(UNWIND_BAD, UNWIND_FP_SAME, 0, 0);
}

/* Register + offset and nothing else, or a word read there. */
static bool read_based(const struct cfi_section *s, struct cfi_expression x, bool deref,
		       uint8_t *number, int64_t *offset)
{
	struct dwarf_bytes b = { s->p + x.at, x.n };
	uint64_t op = dwarf_read_byte(&b);

	*offset = dwarf_read_sleb(&b);
	*number = (uint8_t)(op - OP_BREG0);
	if (deref && dwarf_read_byte(&b) != OP_DEREF)
		return false;
	return !b.failed && b.n == 0 && op >= OP_BREG0 && op < OP_BREG0 + 32;
}

/* What the linker writes for its stubs, which push the number of the symbol after some bytes:
 * sp + 8 + ((ip & 15) >= bytes) << 3 */
static bool read_stub(const struct cfi_section *s, struct cfi_expression x, int64_t *bytes)
{
	static const uint8_t head[] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a },
			     tail[] = { 0x2a, 0x33, 0x24, 0x22 };
	const uint8_t *p = s->p + x.at;

	if (x.n != sizeof(head) + 1 + sizeof(tail) || memcmp(p, head, sizeof(head)) != 0 ||
	    memcmp(p + sizeof(head) + 1, tail, sizeof(tail)) != 0 || p[sizeof(head)] < OP_LIT0 ||
	    p[sizeof(head)] > OP_LIT15)
		return false;
	*bytes = p[sizeof(head)] - OP_LIT0;
	return true;
}

static enum unwind_kind kind_of_cfa(const struct cfi_row *row, const struct cfi_section *s,
				    const struct cfi_machine *machine, bool is_signal,
				    int64_t *offset)
{
	uint8_t number;

	if (!row->cfa_known)
		return UNWIND_BAD;
	if (!row->cfa_is_expression) {
		*offset = row->cfa_offset;
		if (row->cfa_register == machine->sp)
			return UNWIND_SP;
		return row->cfa_register == machine->fp ? UNWIND_BP : UNWIND_BAD;
	}
	if (machine->elf == EM_X86_64 && read_stub(s, row->cfa, offset))
		return UNWIND_PLT;
	if (!read_based(s, row->cfa, true, &number, offset))
		return UNWIND_BAD;
	if (number == machine->fp)
		return UNWIND_DBP;
	return number == machine->sp && is_signal ? UNWIND_SIGNAL : UNWIND_BAD;
}

static enum unwind_fp fp_of_row(const struct cfi_row *row, const struct cfi_section *s,
				const struct cfi_machine *machine, int64_t *offset)
{
	uint8_t number;

	*offset = 0;
	switch (row->fp.how) {
	case CFI_SAME:
		return UNWIND_FP_SAME;
	case CFI_OFFSET:
		*offset = row->fp.offset;
		return UNWIND_FP_CFA;
	case CFI_EXPRESSION:
		if (read_based(s, row->fp.expression, false, &number, offset) &&
		    number == machine->fp)
			return UNWIND_FP_BP;
		*offset = 0;
		return UNWIND_FP_LOST;
	default:
		return UNWIND_FP_LOST;
	}
}

static bool fits_bits(int64_t value, unsigned bits)
{
	int64_t half = (int64_t)1 << (bits - 1);

	return value >= -half && value < half;
}

static uint64_t rule_of_x86(enum unwind_kind kind, enum unwind_fp fp, int64_t cfa, int64_t offset,
			    const struct cfi_row *row)
{
	if (row->ra.how != CFI_OFFSET || row->ra.offset != -8 || !fits_bits(offset, 32))
		return bad_rule();
	return unwind_rule(kind, fp, (int32_t)cfa, (int32_t)offset);
}

static uint64_t rule_of_arm64(enum unwind_kind kind, enum unwind_fp fp, int64_t cfa, int64_t offset,
			      const struct cfi_row *row)
{
	int64_t ra = row->ra.how == CFI_OFFSET ? row->ra.offset : 0;
	uint64_t rule;

	if ((row->ra.how != CFI_OFFSET && row->ra.how != CFI_SAME) || (offset | ra) & 7 ||
	    !fits_bits(offset, 19) || !fits_bits(ra, 19))
		return bad_rule();
	rule = unwind_rule(kind, fp, (int32_t)cfa,
			   (int32_t)((uint32_t)(uint16_t)(offset / 8) | (uint32_t)(ra / 8) << 16));
	return rule | (row->ra.how == CFI_SAME ? UNWIND_IN_LINK : 0) |
	       (row->is_signed ? UNWIND_SIGNED : 0);
}

uint64_t unwind_of_row(const struct cfi_row *row, const struct cfi_section *s,
		       const struct cfi_machine *machine, bool is_signal)
{
	int64_t cfa = 0, offset;
	enum unwind_kind kind;
	enum unwind_fp fp;

	if (row->ra.how == CFI_UNDEFINED)
		return unwind_rule(UNWIND_END, UNWIND_FP_SAME, 0, 0);
	kind = kind_of_cfa(row, s, machine, is_signal, &cfa);
	if (kind == UNWIND_BAD || !fits_bits(cfa, 24))
		return bad_rule();
	/* Everything else is in the ucontext. */
	if (kind == UNWIND_SIGNAL)
		return unwind_rule(kind, UNWIND_FP_SAME, (int32_t)cfa, 0);
	fp = fp_of_row(row, s, machine, &offset);
	if (machine->elf == EM_AARCH64)
		return rule_of_arm64(kind, fp, cfa, offset, row);
	return rule_of_x86(kind, fp, cfa, offset, row);
}
