/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python without a Python: line tables of each form, stacks of two kinds made one, runtimes told
 * from files, records of code objects as the kernel side sends them, and what of a stack is the
 * user's own line.
 */
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/account/names.h"
#include "lib/decode/python_codes.h"
#include "lib/attach/interleave.h"
#include "lib/symbols/lines.h"
#include "lib/symbols/lookup.h"
#include "lib/symbols/python.h"
#include "tests/tap.h"

#define AT_END UINT64_MAX

static void lines(void)
{
	/* The tables are as CPython's documents describe them, for functions that begin on line 10.
	 */
	static const struct {
		unsigned minor;
		const char *table;
		size_t n;
		uint64_t at;
		uint32_t line;
		const char *why;
	} rows[] = {
		{ 8, "", 0, 4, 10, "no table: the first line" },
		{ 8, "\0\1\6\2\4\377", 6, 0, 11, "a change at byte 0 counts at once" },
		{ 8, "\0\1\6\2\4\377", 6, 5, 11, "before the next" },
		{ 8, "\0\1\6\2\4\377", 6, 6, 13, "at it" },
		{ 8, "\0\1\6\2\4\377", 6, 10, 12, "lines go back, too" },
		{ 9, "\377\0\1\1", 4, 256, 11, "far apart: 255 and 1" },
		{ 9, "\2\177\0\177", 4, 2, 10 + 254, "a long way: 127 twice" },
		{ 9, "\2", 1, 2, 10, "half a pair is none" },
		{ 10, "\4\1\4\0\4\2", 6, 3, 11, "the first range" },
		{ 10, "\4\1\4\0\4\2", 6, 4, 11, "a range that stays on the line" },
		{ 10, "\4\1\4\0\4\2", 6, 8, 13, "the third" },
		{ 10, "\4\1\4\0\4\2", 6, 12, 0, "behind all of them" },
		{ 10, "\4\1\4\200\4\1", 6, 5, 0, "a range without a line" },
		{ 10, "\4\1\4\200\4\1", 6, 9, 12, "which does not move the line" },
		{ 10, "\0\177\0\177\2\1", 6, 0, 10 + 255, "empty ranges only move" },
		{ 11, "\200\0\330\1\1", 5, 0, 10, "short form: the same line, one unit" },
		{ 11, "\200\0\330\1\1", 5, 2, 11, "one line on" },
		{ 11, "\350\2", 2, 0, 11, "no columns: a signed number, 1" },
		{ 11, "\350\3", 2, 0, 9, "and -1" },
		{ 11, "\350\101\1", 3, 0, 10 - 32, "of two parts" },
		{ 11, "\360\6\0\1\1", 5, 0, 13, "long form: 3" },
		{ 11, "\370\200\0", 3, 0, 0, "no line there" },
		{ 11, "\370\200\0", 3, 2, 10, "and the line is as before" },
		{ 13, "\207\0", 2, 15, 10, "eight units" },
		{ 13, "\207\0", 2, 16, 0, "and no more" },
		{ 13, "\350\177\177\177\177\177\177\177\177\177\177", 11, 0, 0,
		  "a number without end" },
		{ 13, "\350", 1, 0, 10, "a number that is not there" },
		{ 15, "\1\1\200", 3, AT_END, 0, "an entry that does not begin as one" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t line =
			sym_lines_find(rows[i].minor, 10, (const unsigned char *)rows[i].table,
				       rows[i].n, rows[i].at);

		is_u64(line, (int32_t)rows[i].line < 0 ? 0 : rows[i].line, "3.%u: %s",
		       rows[i].minor, rows[i].why);
	}
}

/* Frames as letters: native a…, L for the interpreter's loop; Python 1…, followed by ! where C
 * called it. */
static unsigned parts(struct probe_part *out, const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		if (*text == '!')
			out[n - 1].mark = true;
		else
			out[n++] = (struct probe_part){ (unsigned char)*text, *text == 'L' };
	return n;
}

static void interleaved(void)
{
	static const struct {
		const char *native, *python, *want, *why;
	} rows[] = {
		{ "abc", "", "abc", "no Python" },
		{ "", "12!", "12", "Python alone" },
		{ "abLc", "12!", "ab12Lc", "one loop that executes all" },
		{ "aLbLc", "1!2!", "a1Lb2Lc", "one frame a loop" },
		{ "aLbbLc", "12!34!", "a12Lbb34Lc", "C in between" },
		{ "aLb", "12!34!", "a12Lb-34", "native frames end early" },
		{ "ab", "12!", "ab-12", "before the first loop" },
		{ "aLLb", "1!", "a1LLb", "a loop without a frame of its own" },
		{ "aLb", "123", "a123Lb", "nothing says where C called: all to the innermost" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct probe_part native[16], python[16];
		unsigned nn = parts(native, rows[i].native), np = parts(python, rows[i].python), n;
		uint32_t out[32];
		char got[33] = "";

		n = probe_interleave(out, 32, native, nn, python, np, '-');
		for (unsigned k = 0; k < n; k++)
			got[k] = (char)out[k];
		is_str(got, rows[i].want, "%s", rows[i].why);
		for (unsigned max = 0; max < n; max++)
			if (probe_interleave(out, max, native, nn, python, np, '-') > max)
				ok(false, "%s: no more than there is room for", rows[i].why);
	}
}

/* A file with a section .PyRuntime that holds these bytes. */
static void runtime_file(struct sym_python *out, const void *bytes, size_t n, const char *text)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr load;
		char text[64];
		unsigned char runtime[1024];
		char names[32];
		Elf64_Shdr sections[3];
	} f = { 0 };
	int fd = memfd_create("python", MFD_CLOEXEC);
	struct err e = { 0 };
	struct sym_elf *elf;

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_ident[EI_VERSION] = EV_CURRENT;
	f.head.e_version = EV_CURRENT;
	f.head.e_machine = EM_X86_64;
	f.head.e_phoff = offsetof(__typeof__(f), load);
	f.head.e_phnum = 1;
	f.head.e_phentsize = sizeof(Elf64_Phdr);
	f.head.e_shoff = offsetof(__typeof__(f), sections);
	f.head.e_shnum = 3;
	f.head.e_shstrndx = 2;
	f.head.e_shentsize = sizeof(Elf64_Shdr);
	f.load = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_vaddr = 0x400000, .p_filesz = sizeof(f), .p_memsz = sizeof(f)
	};
	snprintf(f.text, sizeof(f.text), "%s", text);
	memcpy(f.runtime, bytes, n);
	memcpy(f.names, "\0.PyRuntime\0.names", 19);
	f.sections[1] = (Elf64_Shdr){ .sh_name = 1,
				      .sh_type = SHT_PROGBITS,
				      .sh_addr = 0x400000 + offsetof(__typeof__(f), runtime),
				      .sh_offset = offsetof(__typeof__(f), runtime),
				      .sh_size = sizeof(f.runtime) };
	f.sections[2] = (Elf64_Shdr){ .sh_name = 12,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(__typeof__(f), names),
				      .sh_size = sizeof(f.names) };
	if (write(fd, &f, sizeof(f)) != sizeof(f) || sym_elf_open_fd(&elf, fd, "made", &e)) {
		ok(false, "a file is made: %s", e.text);
		close(fd);
		return;
	}
	sym_python_read(out, elf, "/usr/lib/libmade.so");
	sym_elf_free(elf);
	close(fd);
}

/* The start of _PyRuntime of 3.14 as its headers say, as far as it is read. */
static void own_table(uint64_t *words, uint32_t version, uint64_t free_threaded)
{
	static const struct {
		unsigned at, value;
	} said[] = { { 40, 808 },  { 64, 7272 }, { 72, 7344 }, { 192, 8 },   { 208, 72 },
		     { 216, 152 }, { 224, 160 }, { 256, 8 },   { 264, 0 },   { 272, 56 },
		     { 288, 74 },  { 304, 72 },	 { 320, 112 }, { 336, 128 }, { 344, 136 },
		     { 352, 68 },  { 384, 208 }, { 392, 224 }, { 600, 16 },  { 608, 32 },
		     { 624, 32 },  { 632, 16 },	 { 640, 40 } };

	memcpy(words, "xdebugpy", 8);
	words[1] = version;
	words[2] = free_threaded;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		words[said[i].at / 8] = said[i].value;
}

static void runtimes(void)
{
	static const struct {
		const char *text;
		enum sym_python_kind kind;
		const char *version;
	} tags[] = {
		{ "x cpython-38 x", SYM_PYTHON_KNOWN, "CPython 3.8" },
		{ "cpython-310 and .cpython-310-x86_64-linux-gnu.so", SYM_PYTHON_KNOWN,
		  "CPython 3.10" },
		{ "cpython-37", SYM_PYTHON_UNKNOWN, "CPython 3.7" },
		{ "cpython-313", SYM_PYTHON_UNKNOWN, "CPython 3.13" },
		{ "cpython-399", SYM_PYTHON_UNKNOWN, "CPython 3.99" },
		{ "cpython-39 cpython-310", SYM_PYTHON_UNKNOWN, "CPython" },
		{ "nothing", SYM_PYTHON_UNKNOWN, "CPython" },
	};
	uint64_t words[112] = { 0 };
	struct sym_python p;

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		runtime_file(&p, words, sizeof(words), tags[i].text);
		ok(p.kind == tags[i].kind && strcmp(p.version, tags[i].version) == 0,
		   "\"%s\" is %s (%s %s)", tags[i].text, tags[i].version, p.version, p.why);
	}
	own_table(words, 0x030e0af0, 0);
	runtime_file(&p, words, sizeof(words), "");
	is_int(p.kind, SYM_PYTHON_KNOWN, "3.14 by its own table %s", p.why);
	is_u64(p.layout.thread_frame, 72, "its frames");
	is_u64(p.layout.frame_entry, 74, "their owner");
	is_u64(p.layout.code_name, 128, "qualified names");
	is_u64(p.layout.code_print, 64, "what tells code apart");
	is_u64(p.layout.string_wide, 56, "strings that are not ASCII");
	is_u64(p.layout.code_copies, 0, "one copy of the code");
	own_table(words, 0x030e0af0, 1);
	runtime_file(&p, words, sizeof(words), "");
	is_str(p.version, "CPython 3.14 free-threaded", "without the lock");
	is_u64(p.layout.code_copies, 224, "copies of the code");
	is_u64(p.layout.string_shift, 6, "a longer state of strings");
	words[208 / 8] = 4000;
	runtime_file(&p, words, sizeof(words), "");
	is_int(p.kind, SYM_PYTHON_UNKNOWN, "a field beyond its struct: %s", p.why);
	own_table(words, 0x03100000, 0);
	runtime_file(&p, words, sizeof(words), "");
	is_int(p.kind, SYM_PYTHON_UNKNOWN, "a later version: %s %s", p.version, p.why);
}

static void own_symbols(void)
{
	struct sym_elf_symbol s = { 0 };
	struct sym_elf_part part;
	struct err e = { 0 };
	struct sym_elf *libc = NULL;
	struct sym_python p;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], path[4096] = "";

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so") || strstr(line, "libc-"))
			sscanf(line, "%*s %*s %*s %*s %*s %4095s", path);
	if (maps)
		fclose(maps);
	if (sym_elf_open(&libc, path, &e)) {
		ok(true, "a library # SKIP optional: no C library here to look into");
		return;
	}
	ok(sym_lookup(libc, "malloc", &s) && s.is_function && s.offset < sym_elf_size(libc),
	   "an exported function is found by its hash");
	ok(!sym_lookup(libc, "ingero_no_such_name", &s), "one that is not there is not");
	ok(!sym_lookup(libc, "", &s), "nor one without a name");
	ok(sym_lookup_section(libc, ".text", &part) && part.size, "a section");
	sym_python_read(&p, libc, path);
	is_int(p.kind, SYM_PYTHON_NONE, "the C library is no Python");
	sym_python_read(&p, libc, "/opt/pypy3.10/lib/libpypy3.10-c.so");
	is_int(p.kind, SYM_PYTHON_UNKNOWN, "%s: %s", p.version, p.why);
	sym_elf_free(libc);
}

static void code_objects(void)
{
	static struct wire_code code;
	static struct wire_lines more;
	struct world *w = world_new();
	struct python_codes *c;
	struct err e = { 0 };
	struct wire_python_frame f = { .code = 7, .at = 2 << 1 | 1 };
	struct gone_processes gone = { 0 };
	const struct world_frame *frame;
	bool entry = false;

	if (python_codes_new(&c, w, &e))
		abort();
	is_u64(python_codes_frame(c, &f, &entry), 0, "a number nobody told");
	code = (struct wire_code){ .kind = WIRE_CODE, .minor = 11, .id = 7, .first_line = 10 };
	code.file_width = 1;
	code.file_bytes = 4;
	memcpy(code.file, "\xe9.py", 4);
	code.name_width = 2;
	code.name_bytes = 4;
	memcpy(code.name, "\x44\x04\x66\x00", 4);
	code.lines_bytes = WIRE_LINES_MAX + 4;
	memset(code.lines, 0x80, sizeof(code.lines));
	ok(!python_codes_take(c, &code, WIRE_CODE_HEAD),
	   "a record without its line table is refused");
	ok(python_codes_take(c, &code, sizeof(code)), "the first part of a long table");
	more = (struct wire_lines){ .kind = WIRE_LINES, .id = 7, .offset = WIRE_LINES_MAX, .n = 4 };
	memcpy(more.data, "\330\1\1\200", 4);
	more.offset++;
	ok(!python_codes_more(c, &more, sizeof(more)), "a part that does not follow is refused");
	more.offset--;
	more.n = 5;
	ok(!python_codes_more(c, &more, sizeof(more)), "so is one that is too long");
	more.n = 4;
	ok(python_codes_more(c, &more, sizeof(more)), "the rest");
	f.at = WIRE_LINES_MAX * 2 << 1 | 1;
	frame = world_get_frame(w, python_codes_frame(c, &f, &entry));
	ok(frame && entry, "a frame");
	is_u64(frame->offset, 11, "its line, out of the second part");
	is_str(world_text(w, frame->file).p, "\xc3\xa9.py", "its file, Latin-1");
	is_str(world_text(w, frame->name).p,
	       "\xd1\x84"
	       "f",
	       "its function, two bytes a character");
	f.at = 1u << 29;
	is_u64(world_get_frame(w, python_codes_frame(c, &f, &entry))->offset, 10,
	       "one that has not begun is on its first line");
	code.lines_bytes = 2;
	for (code.id = 8; code.id < 1008; code.id++)
		python_codes_take(c, &code, WIRE_CODE_HEAD + 2);
	is_u64(python_codes_count(c), 2, "equal ones are kept once");
	code.file_width = 0;
	code.name_width = 1 | WIRE_TEXT_CUT;
	code.name_bytes = 1;
	code.name[0] = 'g';
	f = (struct wire_python_frame){ .code = 2000, .at = 0 };
	code.id = 2000;
	code.tgid = 33;
	python_codes_take(c, &code, WIRE_CODE_HEAD + 2);
	frame = world_get_frame(w, python_codes_frame(c, &f, &entry));
	is_str(world_text(w, frame->file).p, "?", "a text that could not be read");
	is_str(world_text(w, frame->name).p, "g...", "one that was cut");
	ok(!entry, "called from Python");
	map_put(&gone.numbers, 33, 1);
	python_codes_gone(c, &gone);
	map_free(&gone.numbers);
	is_u64(python_codes_frame(c, &f, &entry), 0,
	       "numbers that a process was told by go with it");
	f.code = 1007;
	ok(python_codes_frame(c, &f, &entry) != 0, "those of others stay");
	code.file_bytes = WIRE_FILE_MAX + 1;
	ok(!python_codes_take(c, &code, sizeof(code)), "a length beyond the record is refused");
	python_codes_free(c);
	world_free(w);
}

static uint32_t python_frame(struct world *w, const char *name, const char *file, uint64_t line)
{
	return world_frame(w, &(struct world_frame){ .kind = FRAME_PYTHON,
						     .offset = line,
						     .name = world_string(w, bytes_of(name)),
						     .file = world_string(w, bytes_of(file)) });
}

/* What the analysis says of a stack out of Python: the user's own line, and who called it. */
static void sites(void)
{
	struct world *w = world_new();
	uint32_t ffi = world_frame(w, &(struct world_frame){ .kind = FRAME_NATIVE, .offset = 5 });
	uint32_t gap = world_frame(
		w, &(struct world_frame){ .kind = FRAME_GAP,
					  .name = world_string(w, bytes_of("native frames end")) });
	uint32_t torch = python_frame(w, "relu", "/v/lib/python3.11/site-packages/torch/nn.py", 9);
	uint32_t frozen = python_frame(w, "_call", "<frozen importlib._bootstrap>", 241);
	uint32_t step = python_frame(w, "train_step", "/home/u/train.py", 41);
	uint32_t loop = python_frame(w, "main", "/home/u/train.py", 60);
	uint32_t user[] = { ffi, gap, torch, frozen, step, loop },
		 packages[] = { ffi, torch, frozen }, native[] = { gap, ffi };
	struct buf text = { 0 };

	world_symbol(w, ffi,
		     &(struct world_symbol){ .name = world_string(w, bytes_of("ffi_call")) });
	name_frame(&text, w, name_site_frame(w, world_stack(w, user, 6)));
	name_site_caller(&text, w, world_stack(w, user, 6));
	is_str(buf_text(&text), "train_step (train.py:41) < main", "the user's own line");
	is_u64(name_site_frame(w, world_stack(w, packages, 3)), torch,
	       "else the innermost line of Python");
	is_u64(name_site_frame(w, world_stack(w, native, 2)), ffi, "a gap makes no call");
	buf_reset(&text);
	name_frame(&text, w, gap);
	is_str(buf_text(&text), "(native frames end)", "a gap says why");
	buf_reset(&text);
	name_frame(&text, w, python_frame(w, "f", "/x.py", 0));
	is_str(buf_text(&text), "f (x.py)", "an unknown line is not told");
	buf_free(&text);
	world_free(w);
}

int main(void)
{
	lines();
	interleaved();
	runtimes();
	own_symbols();
	code_objects();
	sites();
	return tap_done();
}
