/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of files made byte by byte: each kind of rule, programs and entries that make no
 * sense, functions that overlap, files that claim to be larger than anything. unwind_readelf.c
 * compares tables of real libraries.
 */
#include "tests/unit/cfi.h"

#include <sys/mman.h>
#include <unistd.h>

#include "lib/symbols/unwind_table.h"
#include "tests/tap.h"

/* Text of bytes with their number. */
#define BYTES(text)                      \
	{                                \
		(text), sizeof(text) - 1 \
	}

#define RULE(kind, fp, cfa, offset)                                                       \
	((uint32_t)UNWIND_##kind | (uint32_t)UNWIND_FP_##fp << 4 | (uint32_t)(cfa) << 8 | \
	 (uint64_t)(uint32_t)(offset) << 32)

struct opened {
	struct unwind_rules *rules;
	struct unwind_table *table; /* NULL: refused */
	struct err e;
	int rc;
};

static struct opened open_bytes(const struct buf *file, uint64_t size)
{
	struct opened o = { .rules = unwind_rules_new() };
	int fd = memfd_create("unwind", MFD_CLOEXEC);
	struct sym_elf *f;

	if (fd < 0 || !o.rules || write(fd, file->p, file->n) != (ssize_t)file->n ||
	    (size && ftruncate(fd, (off_t)size)) || sym_elf_open_fd(&f, fd, "unwind", &o.e))
		abort();
	o.rc = unwind_table_build(&o.table, f, o.rules, &o.e);
	sym_elf_free(f);
	close(fd);
	return o;
}

static struct opened open_frames(struct buf *frames)
{
	struct buf file = { 0 };
	struct opened o;

	cfi_put_file(&file, frames);
	o = open_bytes(&file, 0);
	buf_free(&file);
	buf_free(frames);
	return o;
}

static void close_table(struct opened *o)
{
	unwind_table_free(o->table);
	unwind_rules_free(o->rules);
}

static uint64_t rule_at(const struct opened *o, uint64_t address)
{
	unsigned n;

	return o->table ? unwind_rules_all(o->rules, &n)[unwind_table_find(o->table, address)]
			: UINT64_MAX;
}

static void check_programs(void)
{
	static const struct {
		const char *what;
		struct bytes program;
		bool is_signal;
		uint64_t at; /* from the start of the function */
		uint64_t rule;
	} rows[] = {
		{ "a function begins as its CIE says", BYTES("\x00"), false, 0,
		  RULE(SP, SAME, 8, 0) },
		{ "push rbp", BYTES("\x41\x0e\x10\x86\x02"), false, 1, RULE(SP, CFA, 16, -16) },
		{ "and before", BYTES("\x41\x0e\x10\x86\x02"), false, 0, RULE(SP, SAME, 8, 0) },
		{ "mov rsp, rbp", BYTES("\x41\x0e\x10\x86\x02\x43\x0d\x06"), false, 4,
		  RULE(BP, CFA, 16, -16) },
		{ "advance of a byte, of two, of four",
		  BYTES("\x02\x80\x03\x00\x01\x04\x00\x02\x00\x00\x0e\x20"), false, 0x380,
		  RULE(SP, SAME, 32, 0) },
		{ "and the byte before", BYTES("\x02\x80\x03\x00\x01\x04\x00\x02\x00\x00\x0e\x20"),
		  false, 0x37f, RULE(SP, SAME, 8, 0) },
		{ "remembered and restored", BYTES("\x0a\x41\x0e\x10\x86\x02\x41\x0b"), false, 2,
		  RULE(SP, SAME, 8, 0) },
		{ "rbp restored to what the CIE says", BYTES("\x86\x02\x41\x0e\x10\xc6"), false, 1,
		  RULE(SP, SAME, 16, 0) },
		{ "a realigned stack", BYTES("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"), false, 0,
		  RULE(DBP, BP, -8, 0) },
		{ "the linker's stubs",
		  BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), false, 0,
		  RULE(PLT, SAME, 11, 0) },
		{ "those for indirect branch tracking",
		  BYTES("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22"), false, 0,
		  RULE(PLT, SAME, 9, 0) },
		{ "a signal frame", BYTES("\x0f\x04\x77\xa0\x01\x06\x16\x10\x01\x77"), true, 0,
		  RULE(SIGNAL, SAME, 160, 0) },
		{ "the same where no signal frame is said", BYTES("\x0f\x04\x77\xa0\x01\x06"),
		  false, 0, RULE(BAD, SAME, 0, 0) },
		{ "nobody called it", BYTES("\x07\x10"), false, 0, RULE(END, SAME, 0, 0) },
		{ "rbp lost", BYTES("\x07\x06"), false, 0, RULE(SP, LOST, 8, 0) },
		{ "rbp in another register", BYTES("\x09\x06\x03"), false, 0,
		  RULE(SP, LOST, 8, 0) },
		{ "rbp in rbp", BYTES("\x09\x06\x06"), false, 0, RULE(SP, SAME, 8, 0) },
		{ "rbp as a value", BYTES("\x14\x06\x02"), false, 0, RULE(SP, LOST, 8, 0) },
		{ "rbp at an odd expression", BYTES("\x10\x06\x02\x77\x00"), false, 0,
		  RULE(SP, LOST, 8, 0) },
		{ "a signed offset", BYTES("\x11\x06\x7e"), false, 0, RULE(SP, CFA, 8, 16) },
		{ "GNU's negative offset", BYTES("\x2f\x06\x01"), false, 0, RULE(SP, CFA, 8, 8) },
		{ "size of arguments, which is nothing", BYTES("\x2e\x10\x0e\x20"), false, 0,
		  RULE(SP, SAME, 32, 0) },
		{ "CFA by r10", BYTES("\x0c\x0a\x00"), false, 0, RULE(BAD, SAME, 0, 0) },
		{ "a return address elsewhere", BYTES("\x90\x02"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "a return address in a register", BYTES("\x09\x10\x00"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "an expression of another kind", BYTES("\x0f\x03\x73\x08\x06"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "an expression that is cut", BYTES("\x0f\x02\x76\x78"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "an offset of more than 24 bits", BYTES("\x0e\x80\x80\x80\x08"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "an offset that does not fit 64 bits",
		  BYTES("\x13\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "an instruction that there is not", BYTES("\x41\x3f"), false, 1,
		  RULE(BAD, SAME, 0, 0) },
		{ "and before it", BYTES("\x41\x3f"), false, 0, RULE(SP, SAME, 8, 0) },
		{ "arm64's instruction", BYTES("\x2d"), false, 0, RULE(BAD, SAME, 0, 0) },
		{ "a cut operand", BYTES("\x04\x00"), false, 0, RULE(BAD, SAME, 0, 0) },
		{ "an expression longer than its function", BYTES("\x0f\x7f\x77"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "a LEB128 number without an end", BYTES("\x0e\xff\xff\xff"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "restored without being remembered", BYTES("\x0b"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "remembered too often", BYTES("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"), false, 0,
		  RULE(BAD, SAME, 0, 0) },
		{ "an address before the function", BYTES("\x41\x01\x00\x00\x00\x80"), false, 1,
		  RULE(BAD, SAME, 0, 0) },
		{ "an advance over its end", BYTES("\x04\xff\xff\xff\xff\x0e\x20"), false, 0xfff,
		  RULE(SP, SAME, 8, 0) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf frames = { 0 };
		struct opened o;

		cfi_put_usual_cie(&frames, rows[i].is_signal);
		cfi_put_fde(&frames, 0, CFI_CODE + 0x100, 0x1000, rows[i].program);
		o = open_frames(&frames);
		is_u64(rule_at(&o, CFI_CODE + 0x100 + rows[i].at), rows[i].rule, "%s",
		       rows[i].what);
		close_table(&o);
	}
}

/* Functions side by side, over one another, far apart, outside of the code. */
static void check_neighbours(void)
{
	struct buf frames = { 0 };
	struct opened o;

	cfi_put_usual_cie(&frames, false);
	cfi_put_fde(&frames, 0, CFI_CODE + 0x2000, 0x100, (struct bytes)BYTES("\x0e\x18"));
	cfi_put_fde(&frames, 0, CFI_CODE + 0x1000, 0xff0, (struct bytes)BYTES("\x0e\x10"));
	cfi_put_fde(&frames, 0, CFI_CODE + 0x1800, 0x1000, (struct bytes)BYTES("\x0e\x20"));
	cfi_put_fde(&frames, 0, CFI_CODE + 0x2100, 0x20000, (struct bytes)BYTES("\x41\x0e\x18"));
	cfi_put_fde(&frames, 0, CFI_CODE + 0x22200, 0, (struct bytes)BYTES("\x0e\x28"));
	cfi_put_fde(&frames, 0, CFI_CODE + 0x30000, 0x10000000, (struct bytes)BYTES("\x0e\x30"));
	cfi_put_fde(&frames, 0, CFI_CODE - 0x1000, 0x100, (struct bytes)BYTES("\x0e\x38"));
	cfi_put_fde(&frames, 0, CFI_FRAMES, 0x10, (struct bytes)BYTES("\x0e\x40"));
	o = open_frames(&frames);
	is_u64(rule_at(&o, CFI_CODE + 0xfff), 0, "nothing before the first function");
	is_u64(rule_at(&o, CFI_CODE + 0x1000), RULE(SP, SAME, 16, 0), "sorted by address");
	is_u64(rule_at(&o, CFI_CODE + 0x1900), RULE(SP, SAME, 16, 0), "of two the first holds");
	is_u64(rule_at(&o, CFI_CODE + 0x1ff8), RULE(SP, SAME, 16, 0), "padding is bridged");
	is_u64(rule_at(&o, CFI_CODE + 0x2000), RULE(SP, SAME, 24, 0),
	       "and its neighbour is another");
	is_u64(rule_at(&o, CFI_CODE + 0x2100), RULE(SP, SAME, 8, 0), "side by side");
	is_u64(rule_at(&o, CFI_CODE + 0x2101), RULE(SP, SAME, 24, 0), "its second row");
	is_u64(rule_at(&o, CFI_CODE + 0x10000), RULE(SP, SAME, 24, 0), "the next page");
	is_u64(rule_at(&o, CFI_CODE + 0x1ffff), RULE(SP, SAME, 24, 0), "to its end");
	is_u64(rule_at(&o, CFI_CODE + 0x22100), 0, "nothing in a gap");
	is_u64(rule_at(&o, CFI_CODE + 0x22200), 0, "a function without a byte is none");
	is_u64(rule_at(&o, CFI_CODE + 0xfffff), RULE(SP, SAME, 48, 0),
	       "a function that reaches out of the code ends with it");
	is_u64(rule_at(&o, CFI_CODE + 0x100000), 0, "nothing behind the code");
	is_u64(rule_at(&o, CFI_CODE - 0x1000), 0, "no function before the code");
	is_u64(rule_at(&o, CFI_FRAMES), 0, "none in a segment that is not executed");
	is_u64(o.table->npages, 17, "a page for 64 KB, and one in which the last row stands");
	is_u64(o.table->nfunctions, 5, "functions");
	is_u64(unwind_table_bytes(o.table), (o.table->nrows + 18) * 4, "bytes");
	close_table(&o);
}

/* Entries that make no sense cost themselves only, unless their length is wrong. */
static void check_entries(void)
{
	static const struct {
		const char *what;
		const char *letters;
		struct bytes data, program;
		uint64_t rule;
	} cies[] = {
		{ "an unknown augmentation", "zQ", BYTES("\x1b"), BYTES("\x0c\x07\x08\x90\x01"),
		  RULE(NONE, SAME, 0, 0) },
		{ "an old augmentation", "eh", BYTES(""), BYTES("\x0c\x07\x08\x90\x01"),
		  RULE(NONE, SAME, 0, 0) },
		{ "a personality routine and data of its own", "zPLR",
		  BYTES("\x9b\x00\x00\x00\x00\x1b\x1b"), BYTES("\x0c\x07\x08\x90\x01"),
		  RULE(SP, SAME, 8, 0) },
		{ "augmentation data that is cut", "zPLR", BYTES("\x9b\x00"),
		  BYTES("\x0c\x07\x08\x90\x01"), RULE(NONE, SAME, 0, 0) },
		{ "an encoding that there is not", "zR", BYTES("\x16"),
		  BYTES("\x0c\x07\x08\x90\x01"), RULE(NONE, SAME, 0, 0) },
		{ "a program that advances", "zR", BYTES("\x1b"), BYTES("\x0c\x07\x08\x90\x01\x41"),
		  RULE(BAD, SAME, 0, 0) },
		{ "a program that is cut", "zR", BYTES("\x1b"), BYTES("\x0c\x07"),
		  RULE(BAD, SAME, 0, 0) },
		{ "no CFA", "zR", BYTES("\x1b"), BYTES("\x90\x01"), RULE(BAD, SAME, 0, 0) },
		{ "no return address", "zR", BYTES("\x1b"), BYTES("\x0c\x07\x08"),
		  RULE(BAD, SAME, 0, 0) },
		{ "restores what there is not yet", "zR", BYTES("\x1b"),
		  BYTES("\x0c\x07\x08\x90\x01\xc6"), RULE(BAD, SAME, 0, 0) },
	};

	for (size_t i = 0; i < sizeof(cies) / sizeof(cies[0]); i++) {
		struct buf frames = { 0 };
		struct opened o;
		size_t usual;

		cfi_put_cie(&frames, cies[i].letters, cies[i].data, cies[i].program);
		cfi_put_fde(&frames, 0, CFI_CODE, 0x100, (struct bytes)BYTES("\x00"));
		usual = frames.n;
		cfi_put_usual_cie(&frames, false);
		cfi_put_fde(&frames, usual, CFI_CODE + 0x1000, 0x100,
			    (struct bytes)BYTES("\x0e\x10"));
		o = open_frames(&frames);
		is_u64(rule_at(&o, CFI_CODE), cies[i].rule, "CIE: %s", cies[i].what);
		is_u64(rule_at(&o, CFI_CODE + 0x1000), RULE(SP, SAME, 16, 0),
		       "and the next one is read");
		close_table(&o);
	}
}

static void check_lengths(void)
{
	static const struct {
		const char *what;
		struct bytes bytes; /* put between two functions */
		bool goes_on;
	} rows[] = {
		{ "a length of nothing ends it", BYTES("\0\0\0\0"), false },
		{ "a length over the end", BYTES("\xff\xff\xff\x7f\0\0\0\0"), false },
		{ "a length too short for what it is", BYTES("\x03\0\0\0\0\0\0"), false },
		{ "a long length over the end",
		  BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), false },
		{ "an FDE of no CIE", BYTES("\x08\0\0\0\x01\0\0\0\0\0\0\0"), true },
		{ "an FDE that is its own CIE", BYTES("\x08\0\0\0\x04\0\0\0\0\0\0\0"), true },
		{ "a CIE of nothing", BYTES("\x04\0\0\0\0\0\0\0"), true },
		{ "a CIE of another version", BYTES("\x08\0\0\0\0\0\0\0\x09\0\0\0"), true },
		{ "a CIE whose letters do not end", BYTES("\x08\0\0\0\0\0\0\0\x01zzz"), true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf frames = { 0 };
		struct opened o;

		cfi_put_usual_cie(&frames, false);
		cfi_put_fde(&frames, 0, CFI_CODE, 0x100, (struct bytes)BYTES("\x0e\x10"));
		buf_add(&frames, rows[i].bytes.p, rows[i].bytes.n);
		cfi_put_fde(&frames, 0, CFI_CODE + 0x1000, 0x100, (struct bytes)BYTES("\x0e\x18"));
		o = open_frames(&frames);
		is_u64(rule_at(&o, CFI_CODE), RULE(SP, SAME, 16, 0), "before: %s", rows[i].what);
		is_u64(rule_at(&o, CFI_CODE + 0x1000), rows[i].goes_on ? RULE(SP, SAME, 24, 0) : 0,
		       "behind: %s", rows[i].what);
		close_table(&o);
	}
}

/* Every prefix of a file is some file. */
static void check_cut(void)
{
	struct buf frames = { 0 }, file = { 0 };
	unsigned refused = 0, read = 0;

	cfi_put_usual_cie(&frames, true);
	for (unsigned i = 0; i < 4; i++)
		cfi_put_fde(&frames, 0, CFI_CODE + i * 0x1000, 0x100,
			    (struct bytes)BYTES("\x0f\x04\x77\xa0\x01\x06\x41\x0e\x10"));
	cfi_put_file(&file, &frames);
	for (size_t n = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr); n <= file.n; n++) {
		struct buf cut = { .p = file.p, .n = n };
		struct opened o = open_bytes(&cut, 0);

		refused += o.table == NULL;
		read += o.table != NULL;
		close_table(&o);
	}
	ok(read > 100 && read + refused > 4000, "cut files: %u read, %u refused", read, refused);
	buf_free(&frames);
	buf_free(&file);
}

static Elf64_Phdr *segment_of(struct buf *file, unsigned i)
{
	return (Elf64_Phdr *)(void *)(file->p + sizeof(Elf64_Ehdr)) + i;
}

/* A terabyte of zeros, all of it code, or all of it .eh_frame. */
static void check_huge(void)
{
	const uint64_t terabyte = 1ull << 40;
	struct buf frames = { 0 }, file = { 0 };
	struct opened o;

	cfi_put_usual_cie(&frames, false);
	cfi_put_fde(&frames, 0, CFI_CODE, 0x100, (struct bytes)BYTES("\x0e\x10"));
	cfi_put_file(&file, &frames);
	segment_of(&file, 0)->p_filesz = segment_of(&file, 1)->p_filesz = terabyte;
	o = open_bytes(&file, terabyte);
	is_u64(rule_at(&o, CFI_CODE), RULE(SP, SAME, 16, 0), "a sparse file is read as any other");
	close_table(&o);
	buf_free(&file);
	buf_free(&frames);

	/* Absolute addresses of 8 bytes, 4 GB apart. */
	cfi_put_cie(&frames, "zR", (struct bytes)BYTES("\x04"), CFI_PROGRAM);
	for (unsigned i = 0; i < 2; i++) {
		cfi_put(&frames, 4 + 8 + 8 + 1, 4);
		cfi_put(&frames, frames.n, 4);
		cfi_put(&frames, CFI_CODE + i * (1ull << 32), 8);
		cfi_put(&frames, 0x100, 8);
		cfi_put(&frames, 0, 1);
	}
	cfi_put_file(&file, &frames);
	segment_of(&file, 0)->p_filesz = terabyte;
	o = open_bytes(&file, terabyte);
	is_int(o.rc, ERR_LIMIT, "code over more than 4 GB is refused: %s", o.e.text);
	close_table(&o);
	buf_free(&file);
	buf_free(&frames);
}

static void check_sections(void)
{
	struct buf frames = { 0 }, file = { 0 };
	struct opened o;

	cfi_put_usual_cie(&frames, false);
	cfi_put_fde(&frames, 0, CFI_CODE, 0x100, (struct bytes)BYTES("\x0e\x10"));
	cfi_put_file(&file, &frames);
	segment_of(&file, 2)->p_type = PT_NULL;
	o = open_bytes(&file, 0);
	ok(o.rc == 0 && o.table && o.table->npages == 0 && o.table->nrows == 0,
	   "a file without .eh_frame has an empty table");
	is_u64(rule_at(&o, CFI_CODE), 0, "which says nothing");
	close_table(&o);
	((Elf64_Ehdr *)(void *)file.p)->e_machine = EM_RISCV;
	o = open_bytes(&file, 0);
	is_int(o.rc, ERR_CANNOT, "another machine: %s", o.e.text);
	close_table(&o);
	buf_free(&file);
	buf_free(&frames);
}

/* When all numbers are given the rest is not followed. */
static void check_dictionary(void)
{
	struct unwind_rules *r = unwind_rules_new();
	unsigned n, wrong = 0;

	is_u64(unwind_rules_number(r, RULE(NONE, SAME, 0, 0)), UNWIND_RULE_NONE, "number of NONE");
	is_u64(unwind_rules_number(r, RULE(BAD, SAME, 0, 0)), UNWIND_RULE_BAD, "number of BAD");
	for (int32_t i = 0; i < 65534; i++)
		wrong += unwind_rules_number(r, RULE(SP, CFA, 8, i)) != 2 + i;
	for (int32_t i = 0; i < 65534; i++)
		wrong += unwind_rules_number(r, RULE(SP, CFA, 8, i)) != 2 + i;
	is_u64(wrong, 0, "65,534 rules have their numbers, the second time too");
	is_u64(unwind_rules_number(r, RULE(SP, CFA, 16, 0)), UNWIND_RULE_BAD, "one more is bad");
	unwind_rules_all(r, &n);
	is_u64(n, 65536, "all are there");
	unwind_rules_free(r);
}

int main(void)
{
	check_programs();
	check_neighbours();
	check_entries();
	check_lengths();
	check_cut();
	check_huge();
	check_sections();
	check_dictionary();
	return tap_done();
}
