/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the unwind table of a file: finds .eh_frame, reads it as a whole (up to UNWIND_FRAME_MAX),
 * sorts its functions by address, runs their programs, and merges neighbours that say the same.
 * Where functions overlap the first one holds. Only addresses in executable segments count, so that
 * no address that the file makes up takes pages.
 */
#include "lib/symbols/unwind_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/symbols/cfi_program.h"
#include "lib/symbols/dwarf_bytes.h"
#include "lib/symbols/lookup.h"
#include "bpf/unwind_rule.h"

/*
 * Translates a row of call frame information into an unwind rule. Expressions are compared with the
 * few that compilers and linkers write, not evaluated: anything else is UNWIND_BAD.
 */

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

static uint64_t unwind_of_row(const struct cfi_row *row, const struct cfi_section *s,
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

/* Padding between functions, where nothing is called: not worth two rows. */
#define GAP_BRIDGED 32

#define SEGMENTS_MAX 64u /* executable ones; linkers make one or two */

#define PAGE_BYTES ((uint64_t)1 << UNWIND_PAGE_BITS)
#define PAGE_MASK  (PAGE_BYTES - 1)
#define REACH_MAX  ((uint64_t)UNWIND_PAGES_MAX << UNWIND_PAGE_BITS)

struct row_at {
	uint32_t distance; /* from the table's base */
	uint16_t rule;
};

struct build {
	const struct sym_elf *file;
	const struct cfi_machine *machine;
	struct unwind_rules *rules;
	struct cfi_section section;
	struct cfi_entries entries;
	struct cfi_row *inits; /* by CIE */
	bool *sound;
	uint64_t base;
	uint64_t last_rule; /* the rule translated last and its number, as rules often repeat */
	uint16_t last_number;
	bool is_signal;
	bool is_full; /* UNWIND_ROWS_MAX, or no memory */
	VEC(struct row_at) rows;
};

/* Place and length of .eh_frame; false: there is none. */
static bool find_section(struct build *b, struct sym_elf_part *out)
{
	return sym_lookup_section(b->file, ".eh_frame", out) && out->type != SHT_NOBITS;
}

/* From .eh_frame_hdr, which names its address; to the end of its segment at most. */
static bool find_by_header(struct build *b, struct sym_elf_part *out)
{
	struct sym_elf_part header, segment;
	uint8_t bytes[16] = { 0 };
	struct dwarf_bytes d = { bytes + 4, sizeof(bytes) - 4 };
	uint64_t address;
	unsigned i;

	for (i = 0; sym_elf_segment(b->file, i, &header); i++)
		if (header.type == PT_GNU_EH_FRAME)
			break;
	if (!sym_elf_segment(b->file, i, &header) ||
	    sym_elf_bytes(b->file, header.offset, bytes, sizeof(bytes)) < 8 || bytes[0] != 1)
		return false;
	address = dwarf_read_pointer(&d, bytes[1], header.address + 4);
	for (i = 0; !d.failed && sym_elf_segment(b->file, i, &segment); i++) {
		if (segment.type != PT_LOAD || address - segment.address >= segment.size)
			continue;
		*out = segment;
		out->offset += address - segment.address;
		out->size -= address - segment.address;
		out->address = address;
		return true;
	}
	return false;
}

/* 0 with nothing read: the file has none. */
static int read_section(struct build *b, struct err *e)
{
	struct sym_elf_part part;
	uint64_t size = sym_elf_size(b->file);
	uint8_t *p;

	if (!find_section(b, &part)) {
		if (!find_by_header(b, &part))
			return 0;
		b->section.ends = true;
	}
	if (part.offset >= size)
		return err_set(e, ERR_DAMAGED, ".eh_frame is not in the file");
	if (part.size > size - part.offset)
		part.size = size - part.offset;
	/* Of a segment's rest only a part is it. */
	if (b->section.ends && part.size > UNWIND_FRAME_MAX)
		part.size = UNWIND_FRAME_MAX;
	if (part.size > UNWIND_FRAME_MAX)
		return err_set(e, ERR_LIMIT, ".eh_frame has more than %u MB",
			       UNWIND_FRAME_MAX >> 20);
	p = malloc(part.size + 1);
	if (!p)
		return err_nomem(e);
	b->section.p = p;
	b->section.address = part.address;
	b->section.n = sym_elf_bytes(b->file, part.offset, p, part.size);
	return 0;
}

static unsigned find_code(const struct build *b, struct sym_elf_part code[SEGMENTS_MAX])
{
	struct sym_elf_part s;
	unsigned n = 0;

	for (unsigned i = 0; n < SEGMENTS_MAX && sym_elf_segment(b->file, i, &s); i++)
		if (s.type == PT_LOAD && (s.flags & PF_X))
			code[n++] = s;
	return n;
}

/* Drops entries outside of the file's code, and cuts those that reach out of it. */
static void filter_code(struct build *b)
{
	struct sym_elf_part code[SEGMENTS_MAX];
	unsigned ncode = find_code(b, code);
	size_t n = 0;

	for (size_t i = 0; i < b->entries.fdes.n; i++) {
		struct cfi_fde fde = b->entries.fdes.v[i];
		uint64_t left = 0; /* of the segment, from there on */

		for (unsigned k = 0; k < ncode && left == 0; k++)
			if (fde.address - code[k].address < code[k].size)
				left = code[k].size - (fde.address - code[k].address);
		if (left == 0)
			continue;
		if (fde.length > left)
			fde.length = (uint32_t)left;
		b->entries.fdes.v[n++] = fde;
	}
	b->entries.fdes.n = n;
}

/* Of two at one address the one that stands first in the file is the first. */
static int by_address(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->program < y->program ? -1 : x->program > y->program;
}

static void sort_functions(struct build *b)
{
	size_t n = b->entries.fdes.n;

	for (size_t i = 1; i < n; i++)
		if (by_address(&b->entries.fdes.v[i - 1], &b->entries.fdes.v[i]) > 0) {
			qsort(b->entries.fdes.v, n, sizeof(b->entries.fdes.v[0]), by_address);
			return;
		}
}

static bool init_rows(struct build *b)
{
	size_t n = b->entries.cies.n;

	b->inits = calloc(n + 1, sizeof(*b->inits));
	b->sound = calloc(n + 1, sizeof(*b->sound));
	if (!b->inits || !b->sound)
		return false;
	for (size_t i = 0; i < n; i++)
		b->sound[i] = cfi_program_init(&b->inits[i], &b->section, &b->entries.cies.v[i],
					       b->machine);
	return true;
}

/* Addresses come in ascending order; of two rows at one address the later one holds. */
static void put_row(struct build *b, uint64_t address, uint16_t rule)
{
	struct row_at row = { (uint32_t)(address - b->base), rule };
	struct row_at *last = b->rows.n ? &b->rows.v[b->rows.n - 1] : NULL;

	if (last && last->distance == row.distance) {
		b->rows.n--;
		last = b->rows.n ? last - 1 : NULL;
	}
	if (last && last->rule == rule)
		return;
	if (b->rows.n >= UNWIND_ROWS_MAX || !vec_push(&b->rows, row))
		b->is_full = true;
}

static void put_cfi_row(void *ctx, uint64_t address, const struct cfi_row *row)
{
	struct build *b = ctx;
	uint64_t rule = unwind_of_row(row, &b->section, b->machine, b->is_signal);

	if (rule != b->last_rule) {
		b->last_rule = rule;
		b->last_number = unwind_rules_number(b->rules, rule);
	}
	put_row(b, address, b->last_number);
}

static void put_function(struct build *b, const struct cfi_fde *fde)
{
	const struct cfi_cie *cie = &b->entries.cies.v[fde->cie];
	uint64_t bad = fde->address;

	b->is_signal = cie->is_signal;
	if (!b->sound[fde->cie] || !cfi_program_run(&b->section, cie, fde, &b->inits[fde->cie],
						    b->machine, put_cfi_row, b, &bad))
		put_row(b, bad, UNWIND_RULE_BAD);
}

static int put_functions(struct build *b, struct err *e)
{
	uint64_t end = 0; /* of the function before */

	b->last_rule = unwind_rule(UNWIND_NONE, UNWIND_FP_SAME, 0, 0);
	b->last_number = UNWIND_RULE_NONE;
	if (b->entries.fdes.n)
		b->base = b->entries.fdes.v[0].address & ~PAGE_MASK;
	for (size_t i = 0; i < b->entries.fdes.n && !b->is_full; i++) {
		const struct cfi_fde *fde = &b->entries.fdes.v[i];

		if (fde->address < end)
			continue;
		if (fde->address + fde->length - b->base >= REACH_MAX)
			return err_set(e, ERR_LIMIT, "its code takes more than 4 GB of addresses");
		if (end && fde->address - end >= GAP_BRIDGED)
			put_row(b, end, UNWIND_RULE_NONE);
		put_function(b, fde);
		end = fde->address + fde->length;
	}
	if (end)
		put_row(b, end, UNWIND_RULE_NONE);
	if (b->rows.n >= UNWIND_ROWS_MAX)
		return err_set(e, ERR_LIMIT, "more than %u rows", UNWIND_ROWS_MAX);
	return b->is_full ? err_nomem(e) : 0;
}

/* Rows to pages: a page in which no row begins at 0 gets the one that holds there. */
static void fill_pages(struct unwind_table *t, const struct build *b)
{
	uint16_t rule = UNWIND_RULE_NONE;
	size_t at = 0;

	for (uint32_t page = 0; page < t->npages; page++) {
		uint64_t start = (uint64_t)page << UNWIND_PAGE_BITS;

		t->pages[page] = t->nrows;
		if (at >= b->rows.n || b->rows.v[at].distance != start)
			t->rows[t->nrows++] = (uint32_t)rule << 16;
		for (; at < b->rows.n && b->rows.v[at].distance - start < PAGE_BYTES; at++) {
			rule = b->rows.v[at].rule;
			t->rows[t->nrows++] = (b->rows.v[at].distance & (uint32_t)PAGE_MASK) |
					      (uint32_t)rule << 16;
		}
	}
	t->pages[t->npages] = t->nrows;
}

static int make_table(struct unwind_table *t, const struct build *b, struct err *e)
{
	if (b->rows.n == 0)
		return 0;
	t->base = b->base;
	t->npages = (b->rows.v[b->rows.n - 1].distance >> UNWIND_PAGE_BITS) + 1;
	t->pages = malloc(((size_t)t->npages + 1) * sizeof(*t->pages));
	t->rows = malloc((b->rows.n + t->npages) * sizeof(*t->rows));
	if (!t->pages || !t->rows)
		return err_nomem(e);
	fill_pages(t, b);
	return 0;
}

static int build_table(struct unwind_table *t, struct build *b, struct err *e)
{
	int rc = read_section(b, e);

	if (rc || b->section.n == 0)
		return rc;
	t->frame_bytes = b->section.n;
	rc = cfi_entries_read(&b->entries, &b->section, e);
	if (rc)
		return rc;
	filter_code(b);
	sort_functions(b);
	if (!init_rows(b))
		return err_nomem(e);
	t->nfunctions = (uint32_t)b->entries.fdes.n;
	rc = put_functions(b, e);
	return rc ? rc : make_table(t, b, e);
}

int unwind_table_build(struct unwind_table **out, const struct sym_elf *f,
		       struct unwind_rules *rules, struct err *e)
{
	struct build b = { .file = f,
			   .machine = cfi_machine_of(sym_elf_machine(f)),
			   .rules = rules };
	struct unwind_table *t;
	int rc;

	*out = NULL;
	if (!b.machine)
		return err_set(e, ERR_CANNOT, "no stacks of this machine are unwound");
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(e);
	rc = build_table(t, &b, e);
	cfi_entries_free(&b.entries);
	vec_free(&b.rows);
	free((void *)b.section.p);
	free(b.inits);
	free(b.sound);
	if (rc)
		unwind_table_free(t);
	else
		*out = t;
	return rc;
}

void unwind_table_free(struct unwind_table *t)
{
	if (!t)
		return;
	free(t->pages);
	free(t->rows);
	free(t);
}

size_t unwind_table_bytes(const struct unwind_table *t)
{
	return (t->nrows + (t->npages ? (size_t)t->npages + 1 : 0)) * sizeof(uint32_t);
}

uint16_t unwind_table_find(const struct unwind_table *t, uint64_t address)
{
	uint64_t page = (address - t->base) >> UNWIND_PAGE_BITS;
	uint32_t low = (uint32_t)(address & PAGE_MASK), lo, hi;

	if (address < t->base || page >= t->npages)
		return UNWIND_RULE_NONE;
	lo = t->pages[page];
	hi = t->pages[page + 1];
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if ((t->rows[mid] & PAGE_MASK) <= low)
			lo = mid;
		else
			hi = mid;
	}
	return (uint16_t)(t->rows[lo] >> 16);
}
