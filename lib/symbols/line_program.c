/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads DWARF line number programs and the tables of files in front of them. Each entry of a table
 * takes a byte at least, and the registers are unsigned: damaged input ends or gives wrong rows.
 */
#include "lib/symbols/line_program.h"

#include <string.h>

#include "lib/symbols/elf.h"

enum {
	LNS_EXTENDED,
	LNS_COPY,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_SET_COLUMN,
	LNS_NEGATE_STMT,
	LNS_BASIC_BLOCK,
	LNS_CONST_ADD_PC,
	LNS_FIXED_ADVANCE_PC,
};

enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2 };
enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2 };

uint64_t line_unit_size(const uint8_t *p, size_t n)
{
	struct dwarf_bytes b = { .p = p, .n = n };
	uint64_t size = dwarf_read_uint(&b, 4);

	if (size == UINT32_MAX) {
		size = dwarf_read_uint(&b, 8);
		return b.failed || size > UINT64_MAX - 12 ? 0 : size + 12;
	}
	return b.failed || size >= 0xfffffff0 ? 0 : size + 4;
}

bool line_header_read(struct line_header *h, struct dwarf_bytes b)
{
	const uint8_t *begin = b.p;
	uint64_t size;

	*h = (struct line_header){ .offset_size = 4, .address_size = 8 };
	if (dwarf_read_uint(&b, 4) == UINT32_MAX) {
		h->offset_size = 8;
		dwarf_skip_bytes(&b, 8);
	}
	h->version = (uint16_t)dwarf_read_uint(&b, 2);
	if (h->version < 2 || h->version > 5)
		return false;
	if (h->version == 5) {
		h->address_size = dwarf_read_byte(&b);
		dwarf_skip_bytes(&b, 1); /* size of segment selectors */
	}
	size = dwarf_read_uint(&b, h->offset_size);
	if (b.failed || size > b.n)
		return false;
	b.n = size;
	h->program_at = (uint64_t)(b.p - begin) + size;
	h->least_instruction = dwarf_read_byte(&b);
	if (h->version >= 4)
		dwarf_skip_bytes(&b, 1); /* operations of an instruction: 1 here */
	dwarf_skip_bytes(&b, 1);	 /* whether rows are statements */
	h->line_base = (int8_t)dwarf_read_byte(&b);
	h->line_range = dwarf_read_byte(&b);
	h->opcode_base = dwarf_read_byte(&b);
	for (unsigned i = 1; i < h->opcode_base; i++)
		h->operands[i - 1] = dwarf_read_byte(&b);
	h->tables = b;
	return !b.failed && h->line_range && h->opcode_base && h->address_size == 8;
}

/* ---- files ---- */

static const char *read_text(struct dwarf_bytes *b)
{
	const char *text = (const char *)b->p;
	const uint8_t *end = b->n ? memchr(b->p, 0, b->n) : NULL;

	dwarf_skip_bytes(b, end ? (uint64_t)(end - b->p) + 1 : UINT64_MAX);
	return b->failed ? "" : text;
}

static void put_path(struct buf *out, const char *directory, const char *name)
{
	if (directory[0] && name[0] != '/') {
		buf_puts(out, directory);
		if (directory[strlen(directory) - 1] != '/')
			buf_putc(out, '/');
	}
	buf_puts(out, name);
}

/* Versions 2 to 4: texts, an empty one behind the last; the directory 0, where the compiler ran, is
 * not told. Files count from 1. */
static bool find_file(struct dwarf_bytes b, uint64_t file, struct buf *out)
{
	struct dwarf_bytes directories = b;
	const char *name, *directory = "";
	uint64_t number;

	while (*read_text(&b))
		;
	for (uint64_t i = 1; *(name = read_text(&b)); i++) {
		number = dwarf_read_uleb(&b);
		dwarf_read_uleb(&b); /* time */
		dwarf_read_uleb(&b); /* size */
		if (b.failed || i != file)
			continue;
		for (uint64_t k = 0; k < number && (k == 0 || *directory); k++)
			directory = read_text(&directories);
		put_path(out, directory, name);
		return true;
	}
	return false;
}

#define FORMATS_MAX 255

struct entry_format {
	unsigned n;
	struct {
		uint64_t content, form;
	} v[FORMATS_MAX];
};

static void read_format(struct dwarf_bytes *b, struct entry_format *f)
{
	f->n = dwarf_read_byte(b);
	for (unsigned i = 0; i < f->n; i++) {
		f->v[i].content = dwarf_read_uleb(b);
		f->v[i].form = dwarf_read_uleb(b);
	}
}

static void copy_text(char *out, const char *text)
{
	size_t n = strnlen(text, SYM_NAME_MAX - 1);

	memcpy(out, text, n);
	out[n] = 0;
}

/* One value; text: filled when it is one, else "". */
static uint64_t read_form(const struct line_header *h, struct dwarf_bytes *b, uint64_t form,
			  const struct line_texts *texts, char *text)
{
	uint64_t n;

	text[0] = 0;
	switch (form) {
	case 0x08: /* DW_FORM_string */
		copy_text(text, read_text(b));
		return 0;
	case 0x1f: /* line_strp */
	case 0x0e: /* strp */
		n = dwarf_read_uint(b, h->offset_size);
		if (!b->failed && texts)
			texts->get(texts->ctx, form == 0x1f ? LINE_STRINGS_LINE : LINE_STRINGS_INFO,
				   n, text, SYM_NAME_MAX);
		return 0;
	case 0x0b: /* data1 */
		return dwarf_read_uint(b, 1);
	case 0x05:
		return dwarf_read_uint(b, 2);
	case 0x06:
		return dwarf_read_uint(b, 4);
	case 0x07:
		return dwarf_read_uint(b, 8);
	case 0x0f: /* udata */
		return dwarf_read_uleb(b);
	case 0x1e: /* data16: a checksum */
		dwarf_skip_bytes(b, 16);
		return 0;
	case 0x09: /* block */
		n = dwarf_read_uleb(b);
		dwarf_skip_bytes(b, n);
		return 0;
	default:
		dwarf_skip_bytes(b, UINT64_MAX);
		return 0;
	}
}

/* Reads an entry: its path into text, unless texts is NULL. */
static uint64_t read_entry(const struct line_header *h, struct dwarf_bytes *b,
			   const struct entry_format *f, const struct line_texts *texts, char *text)
{
	uint64_t directory = 0, value;
	char other[SYM_NAME_MAX];

	text[0] = 0;
	for (unsigned i = 0; i < f->n; i++) {
		bool is_path = f->v[i].content == LNCT_PATH;

		value = read_form(h, b, f->v[i].form, is_path ? texts : NULL,
				  is_path ? text : other);
		if (f->v[i].content == LNCT_DIRECTORY)
			directory = value;
	}
	return directory;
}

/* The entry of this number; b stands behind the table's format. */
static bool find_entry(const struct line_header *h, struct dwarf_bytes *b,
		       const struct entry_format *f, uint64_t number,
		       const struct line_texts *texts, char *text, uint64_t *directory)
{
	uint64_t n = dwarf_read_uleb(b);

	if (number >= n || f->n == 0)
		return false;
	for (uint64_t i = 0; i <= number && !b->failed; i++)
		*directory = read_entry(h, b, f, i == number ? texts : NULL, text);
	return !b->failed;
}

/* Version 5: both tables say what their entries hold, and count from 0. */
static bool find_file_5(const struct line_header *h, uint64_t file, const struct line_texts *texts,
			struct buf *out)
{
	char name[SYM_NAME_MAX], directory[SYM_NAME_MAX], base[SYM_NAME_MAX];
	struct dwarf_bytes b = h->tables, directories;
	struct entry_format of_directories, of_files;
	uint64_t number = 0, n, ignored;

	read_format(&b, &of_directories);
	directories = b;
	n = dwarf_read_uleb(&b);
	for (uint64_t i = 0; i < n && of_directories.n && !b.failed; i++)
		read_entry(h, &b, &of_directories, NULL, name);
	read_format(&b, &of_files);
	if (b.failed || !find_entry(h, &b, &of_files, file, texts, name, &number) || !name[0])
		return false;
	b = directories;
	if (name[0] == '/' ||
	    !find_entry(h, &b, &of_directories, number, texts, directory, &ignored))
		directory[0] = 0;
	b = directories;
	/* The first is where the compiler ran: others may stand below it. */
	if (directory[0] && directory[0] != '/' && number &&
	    find_entry(h, &b, &of_directories, 0, texts, base, &ignored) && base[0])
		put_path(out, base, "");
	put_path(out, directory, name);
	return true;
}

bool line_header_file(const struct line_header *h, uint64_t file, const struct line_texts *texts,
		      struct buf *out)
{
	return h->version == 5 ? find_file_5(h, file, texts, out) : find_file(h->tables, file, out);
}

/* ---- program ---- */

static enum line_step step_extended(struct dwarf_bytes *b, struct line_row *r)
{
	uint64_t n = dwarf_read_uleb(b);
	uint8_t op;

	if (n == 0 || n > b->n)
		return LINE_STEP_FAILED;
	op = dwarf_read_byte(b);
	n--;
	if (op == LNE_SET_ADDRESS && n == 8) {
		r->address = dwarf_read_uint(b, 8);
		return LINE_STEP_NONE;
	}
	dwarf_skip_bytes(b, n);
	return op == LNE_END_SEQUENCE ? LINE_STEP_END : LINE_STEP_NONE;
}

static enum line_step step_standard(const struct line_header *h, struct dwarf_bytes *b,
				    struct line_row *r, uint8_t op)
{
	switch (op) {
	case LNS_EXTENDED:
		return step_extended(b, r);
	case LNS_COPY:
		return LINE_STEP_ROW;
	case LNS_ADVANCE_PC:
		r->address += dwarf_read_uleb(b) * h->least_instruction;
		break;
	case LNS_ADVANCE_LINE:
		r->line += (uint32_t)dwarf_read_sleb(b);
		break;
	case LNS_SET_FILE:
		r->file = (uint32_t)dwarf_read_uleb(b);
		break;
	case LNS_CONST_ADD_PC:
		r->address +=
			(uint64_t)((255 - h->opcode_base) / h->line_range) * h->least_instruction;
		break;
	case LNS_FIXED_ADVANCE_PC:
		r->address += dwarf_read_uint(b, 2);
		break;
	default:
		for (unsigned i = 0; i < h->operands[op - 1]; i++)
			dwarf_read_uleb(b);
	}
	return LINE_STEP_NONE;
}

enum line_step line_program_step(const struct line_header *h, struct dwarf_bytes *b,
				 struct line_row *r)
{
	uint8_t op = dwarf_read_byte(b);
	enum line_step step = LINE_STEP_ROW;

	if (op >= h->opcode_base && !b->failed) {
		op = (uint8_t)(op - h->opcode_base);
		r->address += (uint64_t)(op / h->line_range) * h->least_instruction;
		r->line += (uint32_t)(h->line_base + op % h->line_range);
	} else if (!b->failed) {
		step = step_standard(h, b, r, op);
	}
	return b->failed ? LINE_STEP_FAILED : step;
}
