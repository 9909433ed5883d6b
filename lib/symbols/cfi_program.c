/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interprets the call frame instructions of .eh_frame into unwind rows. Each instruction takes at
 * least one byte of a program of bounded length and none jumps, so that it ends; remembered rows
 * lie on a stack of fixed depth.
 */
#include "lib/symbols/cfi_program.h"

#include <elf.h>
#include <string.h>

#include "lib/symbols/dwarf_bytes.h"

/* Compilers remember one row at a time; hand-written code two. */
#define REMEMBERED_MAX 16

/* Primary instructions have their operand in the low six bits. */
enum {
	CFA_ADVANCE_LOC = 1,
	CFA_OFFSET = 2,
	CFA_RESTORE = 3,
};

enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct program {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	const struct cfi_machine *machine;
	const struct cfi_row *init; /* NULL: this is the CIE's own program */
	struct dwarf_bytes code;
	uint64_t address, end; /* of the function */
	cfi_row_fn *fn;
	void *ctx;
	struct cfi_row row;
	unsigned nremembered;
	struct cfi_row *remembered; /* REMEMBERED_MAX of them */
};

const struct cfi_machine *cfi_machine_of(uint16_t elf)
{
	static const struct cfi_machine machines[] = {
		{ EM_X86_64, 7, 6, 16 },
		{ EM_AARCH64, 31, 29, 30 },
	};

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].elf == elf)
			return &machines[i];
	return NULL;
}

static bool save_register(struct program *p, uint64_t number, struct cfi_saved how)
{
	if (number == p->machine->fp)
		p->row.fp = how;
	if (number == p->machine->ra)
		p->row.ra = how;
	return true;
}

static bool save_at_offset(struct program *p, uint64_t number, int64_t factored)
{
	struct cfi_saved how = { .how = CFI_OFFSET };

	if (__builtin_mul_overflow(factored, p->cie->data_align, &how.offset))
		return false;
	return save_register(p, number, how);
}

static bool restore_register(struct program *p, uint64_t number)
{
	if (!p->init)
		return false;
	if (number == p->machine->fp)
		p->row.fp = p->init->fp;
	if (number == p->machine->ra)
		p->row.ra = p->init->ra;
	return true;
}

/* The expression that stands next, behind its length. */
static struct cfi_expression read_expression(struct program *p)
{
	uint64_t n = dwarf_read_uleb(&p->code);
	struct cfi_expression x = { (uint32_t)(p->code.p - p->section->p), (uint32_t)n };

	dwarf_skip_bytes(&p->code, n);
	return x;
}

/* False: the function is over. */
static bool move_to(struct program *p, uint64_t address)
{
	if (!p->fn || address < p->address || p->code.failed)
		return false;
	if (address > p->address)
		p->fn(p->ctx, p->address, &p->row);
	p->address = address;
	return true;
}

static bool advance_by(struct program *p, uint64_t factored)
{
	uint64_t distance, address;

	return !__builtin_mul_overflow(factored, p->cie->code_align, &distance) &&
	       !__builtin_add_overflow(p->address, distance, &address) && move_to(p, address);
}

static bool set_location(struct program *p)
{
	uint64_t here = p->section->address + (uint64_t)(p->code.p - p->section->p);
	uint64_t address = dwarf_read_pointer(&p->code, p->cie->encoding, here);

	return address <= p->end && move_to(p, address);
}

static bool remember_row(struct program *p)
{
	if (p->nremembered == REMEMBERED_MAX)
		return false;
	p->remembered[p->nremembered++] = p->row;
	return true;
}

static bool restore_row(struct program *p)
{
	if (p->nremembered == 0)
		return false;
	p->row = p->remembered[--p->nremembered];
	return true;
}

static bool define_cfa(struct program *p, uint64_t number, int64_t offset)
{
	p->row.cfa_known = number <= UINT32_MAX;
	p->row.cfa_is_expression = false;
	p->row.cfa_register = (uint32_t)number;
	p->row.cfa_offset = offset;
	return true;
}

/* Only what an earlier instruction has defined by a register can get another offset or register. */
static bool change_cfa_offset(struct program *p, int64_t offset)
{
	return p->row.cfa_known && !p->row.cfa_is_expression &&
	       define_cfa(p, p->row.cfa_register, offset);
}

static bool define_cfa_scaled(struct program *p, bool with_register)
{
	uint64_t number = with_register ? dwarf_read_uleb(&p->code) : 0;
	int64_t offset;

	if (__builtin_mul_overflow(dwarf_read_sleb(&p->code), p->cie->data_align, &offset))
		return false;
	return with_register ? define_cfa(p, number, offset) : change_cfa_offset(p, offset);
}

static bool run_cfa(struct program *p, uint8_t op)
{
	uint64_t number;

	switch (op) {
	case CFA_DEF_CFA:
		number = dwarf_read_uleb(&p->code);
		return define_cfa(p, number, (int64_t)dwarf_read_uleb(&p->code));
	case CFA_DEF_CFA_REGISTER:
		number = dwarf_read_uleb(&p->code);
		return p->row.cfa_known && !p->row.cfa_is_expression &&
		       define_cfa(p, number, p->row.cfa_offset);
	case CFA_DEF_CFA_OFFSET:
		return change_cfa_offset(p, (int64_t)dwarf_read_uleb(&p->code));
	case CFA_DEF_CFA_EXPRESSION:
		p->row.cfa_known = p->row.cfa_is_expression = true;
		p->row.cfa = read_expression(p);
		return true;
	case CFA_DEF_CFA_SF:
		return define_cfa_scaled(p, true);
	default:
		return define_cfa_scaled(p, false);
	}
}

static bool run_register(struct program *p, uint8_t op)
{
	uint64_t number = dwarf_read_uleb(&p->code);
	struct cfi_saved how = { .how = CFI_OTHER };

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		return save_at_offset(p, number, (int64_t)dwarf_read_uleb(&p->code));
	case CFA_OFFSET_EXTENDED_SF:
		return save_at_offset(p, number, dwarf_read_sleb(&p->code));
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		return save_at_offset(p, number, (int64_t)(0 - dwarf_read_uleb(&p->code)));
	case CFA_RESTORE_EXTENDED:
		return restore_register(p, number);
	case CFA_UNDEFINED:
		how.how = CFI_UNDEFINED;
		break;
	case CFA_SAME_VALUE:
		how.how = CFI_SAME;
		break;
	case CFA_EXPRESSION:
		how.how = CFI_EXPRESSION;
		how.expression = read_expression(p);
		break;
	case CFA_VAL_EXPRESSION:
		read_expression(p);
		break;
	default: /* in another register, or a value rather than a place */
		if (dwarf_read_uleb(&p->code) == number && op == CFA_REGISTER)
			how.how = CFI_SAME;
	}
	return save_register(p, number, how);
}

static bool run_extended(struct program *p, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return true;
	case CFA_SET_LOC:
		return set_location(p);
	case CFA_ADVANCE_LOC1:
		return advance_by(p, dwarf_read_byte(&p->code));
	case CFA_ADVANCE_LOC2:
		return advance_by(p, dwarf_read_uint(&p->code, 2));
	case CFA_ADVANCE_LOC4:
		return advance_by(p, dwarf_read_uint(&p->code, 4));
	case CFA_REMEMBER_STATE:
		return remember_row(p);
	case CFA_RESTORE_STATE:
		return restore_row(p);
	case CFA_NEGATE_RA_STATE:
		p->row.is_signed = !p->row.is_signed;
		return p->machine->elf == EM_AARCH64;
	case CFA_GNU_ARGS_SIZE:
		dwarf_read_uleb(&p->code);
		return true;
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_EXPRESSION:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_OFFSET_SF:
		return run_cfa(p, op);
	case CFA_OFFSET_EXTENDED:
	case CFA_RESTORE_EXTENDED:
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
	case CFA_REGISTER:
	case CFA_EXPRESSION:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_VAL_EXPRESSION:
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		return run_register(p, op);
	default:
		return false;
	}
}

static bool run_instruction(struct program *p)
{
	uint8_t op = dwarf_read_byte(&p->code);

	switch (op >> 6) {
	case CFA_ADVANCE_LOC:
		return advance_by(p, op & 0x3f);
	case CFA_OFFSET:
		return save_at_offset(p, op & 0x3f, (int64_t)dwarf_read_uleb(&p->code));
	case CFA_RESTORE:
		return restore_register(p, op & 0x3f);
	default:
		return run_extended(p, op);
	}
}

static bool run_program(struct program *p)
{
	while (p->code.n > 0 && p->address < p->end) {
		if (!run_instruction(p) || p->code.failed)
			return false;
	}
	return true;
}

bool cfi_program_init(struct cfi_row *out, const struct cfi_section *s, const struct cfi_cie *cie,
		      const struct cfi_machine *machine)
{
	struct cfi_row remembered[REMEMBERED_MAX];
	struct program p = { .section = s,
			     .cie = cie,
			     .machine = machine,
			     .remembered = remembered,
			     .code = { s->p + cie->program, cie->end - cie->program },
			     .end = 1 };
	bool sound = !cie->is_broken && cie->return_column == machine->ra && run_program(&p);

	*out = p.row;
	return sound;
}

bool cfi_program_run(const struct cfi_section *s, const struct cfi_cie *cie,
		     const struct cfi_fde *fde, const struct cfi_row *init,
		     const struct cfi_machine *machine, cfi_row_fn *fn, void *ctx, uint64_t *bad)
{
	struct cfi_row remembered[REMEMBERED_MAX];
	struct program p = { .section = s,
			     .cie = cie,
			     .machine = machine,
			     .init = init,
			     .remembered = remembered,
			     .code = { s->p + fde->program, fde->end - fde->program },
			     .address = fde->address,
			     .end = fde->address + fde->length,
			     .fn = fn,
			     .ctx = ctx,
			     .row = *init };
	bool sound = run_program(&p);

	*bad = p.address;
	if (sound && p.address < p.end)
		fn(ctx, p.address, &p.row);
	return sound;
}
