/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line number programs of .debug_line, DWARF 2 to 5: a unit's header, its table of files, and
 * the program that makes rows of (address, file, line), run opcode by opcode.
 */
#ifndef INGERO_SYMBOLS_LINE_PROGRAM_H
#define INGERO_SYMBOLS_LINE_PROGRAM_H

#include "lib/base/buf.h"
#include "lib/symbols/dwarf_bytes.h"

struct line_header {
	uint16_t version;
	uint8_t offset_size; /* 4, or 8 in 64-bit DWARF */
	uint8_t address_size;
	uint8_t least_instruction;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	uint8_t operands[255];	   /* how many each standard opcode has */
	struct dwarf_bytes tables; /* of directories and files; where the header's bytes are */
	uint64_t program_at;	   /* behind the unit's first byte */
};

/* Of the unit that begins at b, of which b has all bytes up to its program at least. False: not of
 * a version that is known, or damaged. */
bool line_header_read(struct line_header *h, struct dwarf_bytes b);

/* The length of the unit that begins there, with that of the length itself; 0: none does. */
uint64_t line_unit_size(const uint8_t *p, size_t n);
#define LINE_UNIT_LENGTH_MAX 12 /* bytes of the length itself */

/* Text of a section of strings, cut at size; "" when there is none. */
enum line_strings { LINE_STRINGS_LINE, LINE_STRINGS_INFO };
struct line_texts {
	void (*get)(const void *ctx, enum line_strings which, uint64_t at, char *out, size_t size);
	const void *ctx;
};

/* Appends the path of a file, its directory joined, as far as the header says it. False: the header
 * has no such file. */
bool line_header_file(const struct line_header *h, uint64_t file, const struct line_texts *texts,
		      struct buf *out);

struct line_row {
	uint64_t address;
	uint32_t file, line;
};

#define LINE_ROW_FIRST ((struct line_row){ .file = 1, .line = 1 })

enum line_step {
	LINE_STEP_NONE,
	LINE_STEP_ROW, /* r is a row of the table */
	LINE_STEP_END, /* r->address is the first one behind the sequence: begin anew */
	LINE_STEP_FAILED,
};

/* Runs one opcode of the program. */
enum line_step line_program_step(const struct line_header *h, struct dwarf_bytes *b,
				 struct line_row *r);

#endif
