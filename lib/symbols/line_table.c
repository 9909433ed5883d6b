/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index of .debug_line: spans of addresses, each with the registers of the line program at its
 * first row, from where the program is run again when somebody asks. Sections are read a unit at a
 * time; compressed ones are kept in memory. A section or unit over a limit has no lines.
 */
#include "lib/symbols/line_table.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bisect.h"
#include "lib/base/deflate.h"
#include "lib/base/vec.h"
#include "lib/symbols/line_program.h"
#include "lib/symbols/lookup.h"

#define SECTION_MAX    (512u << 20)
#define COMPRESSED_MAX (128u << 20) /* once inflated */
#define UNIT_MAX       (64u << 20)
#define UNITS_MAX      (1u << 20)
#define CODE_MAX       16 /* segments */
#define HEADER_MAX     (1u << 20)
#define SPANS_MAX      (1u << 20)
#define SPAN_BYTES     4096u /* of program, until the next one begins */
#define SPAN_READ_MAX  (2 * SPAN_BYTES)
#define PADDING_MAX    16u /* between functions of a span */
#define BACK_MAX       8u  /* spans looked back over for one that encloses */

struct section {
	uint64_t place, size;
	struct buf inflated; /* of a compressed one */
};

struct span {
	uint64_t start; /* address of the first row */
	uint32_t size;	/* bytes of code */
	uint32_t file, line;
	uint32_t unit; /* place of it in the section */
	uint32_t at;   /* of the program behind the first row */
	uint32_t bytes;
};

struct line_table {
	const struct sym_elf *file;
	struct section lines, strings, texts;
	VEC(struct span) spans;
	struct buf unit;	   /* bytes of the header below */
	struct line_header header; /* read last */
	uint32_t header_of;	   /* unit + 1; 0: none */
};

static size_t section_read(const struct line_table *t, const struct section *s, uint64_t at,
			   void *out, size_t n)
{
	if (at >= s->size)
		return 0;
	if (n > s->size - at)
		n = s->size - at;
	if (!s->inflated.p)
		return sym_elf_bytes(t->file, s->place + at, out, n);
	memcpy(out, s->inflated.p + at, n);
	return n;
}

static int inflate_section(const struct sym_elf *f, struct section *s, struct err *e)
{
	Elf64_Chdr head;
	struct buf raw = { 0 };
	size_t n = s->size;
	char *room = NULL;
	int rc = 0;

	s->size = 0;
	if (n <= sizeof(head) || n > COMPRESSED_MAX ||
	    sym_elf_bytes(f, s->place, &head, sizeof(head)) != sizeof(head) ||
	    head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size > COMPRESSED_MAX)
		return 0;
	n -= sizeof(head);
	room = buf_reserve(&raw, n);
	if (!room)
		return err_nomem(e);
	if (sym_elf_bytes(f, s->place + sizeof(head), room, n) == n)
		rc = inflate_bytes(&s->inflated, room, n, head.ch_size, e);
	if (rc == 0)
		s->size = s->inflated.n;
	buf_free(&raw);
	return rc == ERR_NOMEM ? rc : 0;
}

static int open_section(const struct sym_elf *f, const char *name, struct section *s, struct err *e)
{
	struct sym_elf_part part;

	if (!sym_lookup_section(f, name, &part) || part.type == SHT_NOBITS ||
	    part.offset >= sym_elf_size(f))
		return 0;
	s->place = part.offset;
	s->size = part.size;
	if (s->size > sym_elf_size(f) - s->place)
		s->size = sym_elf_size(f) - s->place;
	if (part.flags & SHF_COMPRESSED)
		return inflate_section(f, s, e);
	if (s->size > SECTION_MAX)
		s->size = 0;
	return 0;
}

/* ---- the index ---- */

/* Of the unit whose program is run. */
struct indexing {
	struct line_table *table;
	struct {
		uint64_t address, size;
	} code[CODE_MAX];
	unsigned ncode;
	uint32_t unit;
	struct span span; /* where open */
	uint64_t end;	  /* address behind its last row */
	uint32_t end_at;  /* of the program behind what said so, where that ended its sequence */
	bool open, ended; /* ended: with its sequence, but the next one may go on there */
	bool dead;	  /* the sequence is of a function that the linker dropped */
	bool nomem;
};

static void find_code(struct indexing *x)
{
	struct sym_elf_part p;

	for (unsigned i = 0; x->ncode < CODE_MAX && sym_elf_segment(x->table->file, i, &p); i++)
		if (p.type == PT_LOAD && (p.flags & PF_X)) {
			x->code[x->ncode].address = p.address;
			x->code[x->ncode++].size = p.size;
		}
}

/* What the linker drops stays in the table, moved to address 0 or to no code. */
static bool is_code(const struct indexing *x, uint64_t address)
{
	for (unsigned i = 0; address && i < x->ncode; i++)
		if (address - x->code[i].address < x->code[i].size)
			return true;
	return false;
}

/* at: the program's place behind the row that ends it. */
static void end_span(struct indexing *x, uint32_t at)
{
	struct span s = x->span;

	if (x->ended)
		at = x->end_at;
	if (x->open && x->end > s.start && x->end - s.start <= UINT32_MAX &&
	    at - s.at <= SPAN_READ_MAX && x->table->spans.n < SPANS_MAX) {
		s.size = (uint32_t)(x->end - s.start);
		s.bytes = at - s.at;
		x->nomem |= !vec_push(&x->table->spans, s);
	}
	x->open = x->ended = false;
}

/* at: the program's place behind the row. */
static void index_row(struct indexing *x, const struct line_row *r, uint32_t at)
{
	bool on = x->open && r->address >= x->end;

	if (on && x->ended)
		on = r->address - x->end < PADDING_MAX && at - x->span.at < SPAN_BYTES;
	else if (on)
		x->end = r->address;
	if (on && at - x->span.at >= SPAN_BYTES && x->end > x->span.start)
		on = false;
	if (!on) {
		end_span(x, at);
		x->span = (struct span){ .start = r->address,
					 .file = r->file,
					 .line = r->line,
					 .unit = x->unit,
					 .at = at };
	}
	x->open = true;
	x->ended = false;
	x->end = r->address;
}

/* p: the unit, of n bytes. */
static void index_unit(struct indexing *x, const uint8_t *p, size_t n)
{
	struct line_row r = LINE_ROW_FIRST;
	struct line_header h;
	struct dwarf_bytes b;
	enum line_step step = LINE_STEP_NONE;
	bool first = true;

	if (!line_header_read(&h, (struct dwarf_bytes){ .p = p, .n = n }) ||
	    h.program_at > HEADER_MAX)
		return;
	b = (struct dwarf_bytes){ .p = p + h.program_at, .n = n - h.program_at };
	x->open = x->ended = false;
	while (b.n && step != LINE_STEP_FAILED && !x->nomem) {
		uint32_t at;

		step = line_program_step(&h, &b, &r);
		at = x->unit + (uint32_t)(b.p - p);
		if (step == LINE_STEP_ROW) {
			if (first)
				x->dead = !is_code(x, r.address);
			first = false;
			if (!x->dead)
				index_row(x, &r, at);
		} else if (step == LINE_STEP_END) {
			if (!x->dead && !first && x->open) {
				x->end = r.address;
				x->end_at = at;
				x->ended = true;
			}
			r = LINE_ROW_FIRST;
			first = true;
		}
	}
	/* The end of a program without its last opcode ends no span. */
	if (x->ended)
		end_span(x, x->end_at);
}

static int compare_by_start(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static int index_units(struct line_table *t, struct err *e)
{
	struct indexing x = { .table = t };
	struct buf bytes = { 0 };
	uint64_t size, at = 0;

	find_code(&x);
	for (unsigned n = 0; at < t->lines.size && n < UNITS_MAX && !x.nomem; at += size, n++) {
		uint8_t head[LINE_UNIT_LENGTH_MAX];

		size = line_unit_size(head, section_read(t, &t->lines, at, head, sizeof(head)));
		if (size == 0 || size > t->lines.size - at)
			break;
		if (size > UNIT_MAX)
			continue;
		buf_reset(&bytes);
		x.nomem = !buf_reserve(&bytes, size);
		if (x.nomem || section_read(t, &t->lines, at, bytes.p, size) != size)
			break;
		x.unit = (uint32_t)at;
		index_unit(&x, (const uint8_t *)bytes.p, size);
	}
	buf_free(&bytes);
	if (t->spans.n)
		qsort(t->spans.v, t->spans.n, sizeof(*t->spans.v), compare_by_start);
	vec_fit(&t->spans);
	return x.nomem ? err_nomem(e) : 0;
}

int line_table_new(struct line_table **out, const struct sym_elf *f, struct err *e)
{
	struct line_table *t = calloc(1, sizeof(*t));
	int rc = t ? 0 : err_nomem(e);

	*out = t;
	if (rc)
		return rc;
	t->file = f;
	rc = open_section(f, ".debug_line", &t->lines, e);
	if (rc == 0 && t->lines.size)
		rc = index_units(t, e);
	if (rc == 0 && t->spans.n)
		rc = open_section(f, ".debug_line_str", &t->strings, e);
	if (rc == 0 && t->spans.n)
		rc = open_section(f, ".debug_str", &t->texts, e);
	if (rc) {
		line_table_free(t);
		*out = NULL;
	}
	return rc;
}

void line_table_free(struct line_table *t)
{
	if (!t)
		return;
	buf_free(&t->lines.inflated);
	buf_free(&t->strings.inflated);
	buf_free(&t->texts.inflated);
	buf_free(&t->unit);
	vec_free(&t->spans);
	free(t);
}

/* ---- what is asked ---- */

static const struct span *find_span(const struct line_table *t, uint64_t address)
{
	size_t lo = 0, hi = t->spans.n;

	bisect(i, lo, hi, t->spans.v[i].start <= address);
	for (unsigned k = 0; k < BACK_MAX && lo > 0; k++) {
		const struct span *s = &t->spans.v[--lo];

		if (address - s->start < s->size)
			return s;
	}
	return NULL;
}

/* The header of the unit at this place, kept until that of another one is asked for. */
static bool read_header(struct line_table *t, uint32_t unit)
{
	uint8_t head[LINE_UNIT_LENGTH_MAX];
	struct dwarf_bytes b;
	uint64_t size;

	if (t->header_of == unit + 1)
		return true;
	t->header_of = 0;
	size = line_unit_size(head, section_read(t, &t->lines, unit, head, sizeof(head)));
	if (size > HEADER_MAX)
		size = HEADER_MAX;
	buf_reset(&t->unit);
	if (!buf_reserve(&t->unit, size))
		return false;
	b.p = (const uint8_t *)t->unit.p;
	b.n = section_read(t, &t->lines, unit, t->unit.p, size);
	b.failed = false;
	if (!line_header_read(&t->header, b))
		return false;
	t->header_of = unit + 1;
	return true;
}

/* The row that holds for address, by the program from the span's first row on. */
static bool find_row(struct line_table *t, const struct span *s, uint64_t address,
		     struct line_row *out)
{
	struct line_row r = { s->start, s->file, s->line };
	uint8_t program[SPAN_READ_MAX];
	struct dwarf_bytes b = { .p = program };
	enum line_step step = LINE_STEP_NONE;
	bool on = true; /* *out is a row of the sequence that is run */

	b.n = section_read(t, &t->lines, s->at, program, s->bytes);
	*out = r;
	while (step != LINE_STEP_FAILED && b.n) {
		step = line_program_step(&t->header, &b, &r);
		if ((step == LINE_STEP_ROW || step == LINE_STEP_END) && on && r.address > address)
			return true;
		if (step == LINE_STEP_ROW) {
			*out = r;
			on = r.address <= address;
		} else if (step == LINE_STEP_END) {
			r = LINE_ROW_FIRST;
			on = false;
		}
	}
	return false;
}

static void get_text(const void *ctx, enum line_strings which, uint64_t at, char *out, size_t size)
{
	const struct line_table *t = ctx;

	out[section_read(t, which == LINE_STRINGS_LINE ? &t->strings : &t->texts, at, out,
			 size - 1)] = 0;
}

bool line_table_find(struct line_table *t, uint64_t address, struct buf *file, uint32_t *line)
{
	const struct span *s = find_span(t, address);
	struct line_texts texts = { get_text, t };
	struct line_row row;

	/* Line 0 is of code that no line of the source made. */
	if (!s || !read_header(t, s->unit) || !find_row(t, s, address, &row) || row.line == 0 ||
	    !line_header_file(&t->header, row.file, &texts, file) || file->failed)
		return false;
	*line = row.line;
	return true;
}
