/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of the tables: offsetof() compiled against the headers of each version
 * (3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, 3.14, 3.15; one layout holds for all patch
 * levels of a minor version so far). From 3.13 on CPython carries a table of its own at the start
 * of _PyRuntime, "_Py_DebugOffsets", which is read from the file; what it leaves out stands here.
 * Whatever does not look as it should makes the runtime an unknown one.
 */
#include "lib/symbols/python.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/symbols/lookup.h"

#define MINOR_FIRST 8
#define MINOR_LAST  15

/* clang-format off */
/* Alike up to 3.10, and up to 3.11. */
#define STRINGS                                                                                \
	.string_length = 16, .string_state = 32, .string_ascii = 48, .string_wide = 72,        \
	.bytes_length = 16, .bytes_data = 32
#define TO_3_10                                                                                \
	.one_slot = 1, .entry_kind = PYTHON_ENTRY_EACH, .runtime_interpreters = 32,            \
	.interpreter_threads = 8, .thread_next = 8, .thread_ident = 176, .thread_frame = 24,   \
	.frame_code = 32, .frame_back = 24, .code_print = 16, .code_line = 40,                 \
	.code_file = 104, .code_name = 112, .code_lines = 120, STRINGS

static const struct python_layout layouts[] = {
	[8] = { TO_3_10, .at_kind = PYTHON_AT_BYTES, .runtime_key = 1396, .frame_at = 104 },
	[9] = { TO_3_10, .at_kind = PYTHON_AT_BYTES, .runtime_key = 588, .frame_at = 104 },
	[10] = { TO_3_10, .at_kind = PYTHON_AT_UNITS, .runtime_key = 588, .frame_at = 96,
		 .thread_depth = 48 },
	/* clang-format on */
	[11] = { .one_slot = 1,
		 .at_kind = PYTHON_AT_POINTER,
		 .entry_kind = PYTHON_ENTRY_FLAG,
		 .runtime_interpreters = 40,
		 .runtime_key = 596,
		 .interpreter_threads = 16,
		 .thread_next = 8,
		 .thread_ident = 152,
		 .thread_native = 160,
		 .thread_frame = 56,
		 .thread_inner = 8 + 1,
		 .thread_depth = 56,
		 .frame_code = 32,
		 .frame_back = 48,
		 .frame_at = 56,
		 .frame_entry = 68,
		 .code_print = 16,
		 .code_long = 1,
		 .print_volatile = 1, /* co_warmup */
		 .code_line = 72,
		 .code_file = 112,
		 .code_name = 128, /* the qualified one, as in all later */
		 .code_lines = 136,
		 .code_bytes = 184,
		 STRINGS },
	[12] = { .at_kind = PYTHON_AT_POINTER,
		 .entry_kind = PYTHON_ENTRY_SHIM,
		 .runtime_interpreters = 40,
		 .runtime_key = 1548,
		 .interpreter_threads = 72,
		 .thread_next = 8,
		 .thread_ident = 136,
		 .thread_native = 144,
		 .thread_frame = 56,
		 .thread_inner = 0 + 1,
		 .frame_code = 0,
		 .frame_back = 8,
		 .frame_at = 56,
		 .frame_entry = 70,
		 .code_print = 64,
		 .code_line = 68,
		 .code_file = 112,
		 .code_name = 128,
		 .code_lines = 136,
		 .code_bytes = 192,
		 .string_length = 16,
		 .string_state = 32,
		 .string_ascii = 40,
		 .string_wide = 56,
		 .bytes_length = 16,
		 .bytes_data = 32 },
};

/* What _Py_DebugOffsets says, by where it says it; the same order in all three versions. */
struct own_field {
	uint16_t at[3];	 /* in the table of 3.13, 3.14, 3.15 */
	uint16_t member; /* of struct python_layout */
	uint16_t limit;	 /* no sound value is larger: the walker reads that much at once, or structs
			    are not longer */
};
#define M(name) offsetof(struct python_layout, name)
static const struct own_field own[] = {
	{ { 40, 40, 40 }, M(runtime_interpreters), 8192 },
	{ { 64, 64, 64 }, M(interpreter_next), 65535 },
	{ { 72, 72, 72 }, M(interpreter_threads), 65535 },
	{ { 168, 192, 192 }, M(thread_next), 216 },
	{ { 184, 208, 208 }, M(thread_frame), 216 },
	{ { 192, 216, 240 }, M(thread_ident), 216 },
	{ { 200, 224, 248 }, M(thread_native), 216 },
	{ { 232, 256, 320 }, M(frame_back), 104 },
	{ { 240, 264, 328 }, M(frame_code), 104 },
	{ { 248, 272, 336 }, M(frame_at), 104 },
	{ { 264, 288, 352 }, M(frame_entry), 111 },
	{ { 280, 320, 384 }, M(code_file), 512 },
	{ { 296, 336, 400 }, M(code_name), 512 },
	{ { 304, 344, 408 }, M(code_lines), 512 },
	{ { 312, 352, 416 }, M(code_line), 512 },
	{ { 344, 384, 448 }, M(code_bytes), 512 },
	{ { 520, 600, 696 }, M(bytes_length), 128 },
	{ { 528, 608, 704 }, M(bytes_data), 128 },
	{ { 544, 624, 720 }, M(string_state), 128 },
	{ { 552, 632, 728 }, M(string_length), 128 },
	{ { 560, 640, 736 }, M(string_ascii), 128 },
};
#define OWN_BYTES 888 /* the largest of them */
#define OWN_TLBC_FRAME      \
	{                   \
		0, 304, 368 \
	}
#define OWN_TLBC_CODE       \
	{                   \
		0, 392, 456 \
	}
static const uint16_t own_keys[] = { 2164, 2340, 0 }; /* in _PyRuntime; 3.15 has none */

static bool own_value(const unsigned char *p, unsigned at, unsigned limit, uint16_t *out)
{
	uint64_t v;

	memcpy(&v, p + at, sizeof(v));
	*out = (uint16_t)v;
	return v <= limit;
}

/* p: OWN_BYTES from the start of _PyRuntime. */
static bool own_layout(struct python_layout *l, unsigned minor, bool free_threaded,
		       const unsigned char *p)
{
	static const uint16_t frame_copy[] = OWN_TLBC_FRAME, code_copies[] = OWN_TLBC_CODE;
	unsigned column = minor - 13;

	*l = (struct python_layout){ .at_kind = PYTHON_AT_POINTER,
				     .entry_kind = PYTHON_ENTRY_SHIM,
				     .runtime_key = own_keys[column] };
	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		uint16_t v;

		if (!own_value(p, own[i].at[column], own[i].limit, &v))
			return false;
		memcpy((char *)l + own[i].member, &v, sizeof(v));
	}
	l->code_print =
		l->code_line & ~7; /* up to the line table, which the walker reads with it */
	l->string_wide = l->string_ascii + 16; /* utf8_length and utf8 */
	if (free_threaded && minor >= 14) {
		l->string_shift = 6; /* "interned" is a byte there */
		if (!own_value(p, frame_copy[column], 108, &l->frame_copy) ||
		    !own_value(p, code_copies[column], 512, &l->code_copies))
			return false;
	}
	/* Pointers are 8-aligned; what tells code apart ends before what changes. */
	return !((l->frame_back | l->frame_code | l->frame_at | l->thread_next | l->thread_frame |
		  l->thread_ident | l->thread_native) &
		 7) &&
	       l->thread_ident && l->frame_at && l->code_lines == l->code_print + 72;
}

/* Marks the runtime as unknown. version: NULL when it is set already. */
static void set_unknown(struct sym_python *out, const char *version, const char *why)
{
	out->kind = SYM_PYTHON_UNKNOWN;
	if (version)
		snprintf(out->version, sizeof(out->version), "%s", version);
	snprintf(out->why, sizeof(out->why), "%s", why);
}

/* The minor version in the text "cpython-3N" that CPython names its caches with; 0: none, or they
 * disagree. */
static unsigned minor_by_tag(const struct sym_elf *f)
{
	static const char tag[] = "cpython-3";
	enum { CHUNK = 1 << 16, KEEP = 16 };
	unsigned found = 0;
	char *p = malloc(CHUNK + KEEP);
	size_t n, kept = 0;

	for (uint64_t at = 0; p && (n = sym_elf_bytes(f, at, p + kept, CHUNK)) > 0; at += n) {
		char *end = p + kept + n, *hit = p;

		while ((hit = memmem(hit, (size_t)(end - hit), tag, sizeof(tag) - 1)) &&
		       end - hit >= KEEP) {
			unsigned minor = 0, digits = 0;

			hit += sizeof(tag) - 1;
			for (; hit[digits] >= '0' && hit[digits] <= '9' && digits < 3; digits++)
				minor = minor * 10 + (unsigned)(hit[digits] - '0');
			if (found && digits && minor != found) {
				free(p);
				return 0;
			}
			found = digits ? minor : found;
		}
		kept = (size_t)(end - p) < KEEP ? (size_t)(end - p) : KEEP;
		memmove(p, end - kept, kept);
	}
	free(p);
	return found;
}

/* 3.11 and later export their version; 0: this one does not. */
static uint32_t exported_version(const struct sym_elf *f)
{
	struct sym_elf_symbol s;
	uint32_t v = 0;

	if (!sym_lookup(f, "Py_Version", &s) || s.offset == UINT64_MAX ||
	    sym_elf_bytes(f, s.offset, &v, sizeof(v)) != sizeof(v))
		return 0;
	return v;
}

static bool is_loop(const char *name)
{
	static const char eval[] = "_PyEval_EvalFrameDefault", tail[] = "_TAIL_CALL_";

	/* Compilers split functions off under names like NAME.cold. */
	return (strncmp(name, eval, sizeof(eval) - 1) == 0 &&
		(name[sizeof(eval) - 1] == 0 || name[sizeof(eval) - 1] == '.')) ||
	       strncmp(name, tail, sizeof(tail) - 1) == 0;
}

static bool on_symbol(void *ctx, const struct sym_elf_symbol *s)
{
	struct sym_python *out = ctx;

	if (s->is_function && s->size && s->offset != UINT64_MAX && is_loop(s->name) &&
	    out->nloops < SYM_PYTHON_LOOPS)
		out->loops[out->nloops++] = (struct sym_python_loop){ s->offset, s->size };
	return true;
}

static void find_loops(struct sym_python *out, const struct sym_elf *f)
{
	struct err ignored = { 0 };
	struct sym_elf_symbol s;

	sym_elf_symbols(f, SYM_FULL | SYM_NAMES, on_symbol, out, &ignored);
	if (out->nloops == 0 && sym_lookup(f, "_PyEval_EvalFrameDefault", &s)) {
		s.name = "_PyEval_EvalFrameDefault";
		on_symbol(out, &s);
	}
}

static void read_cpython(struct sym_python *out, const struct sym_elf *f)
{
	unsigned char head[OWN_BYTES] = { 0 };
	uint32_t version = exported_version(f);
	unsigned minor = version >> 24 == 3 ? version >> 16 & 0xff : 0;
	uint64_t place, word, threads = 0;
	bool own_table;

	own_table = sym_elf_place(f, out->runtime, &place) &&
		    sym_elf_bytes(f, place, head, sizeof(head)) == sizeof(head) &&
		    memcmp(head, "xdebugpy", 8) == 0;
	if (own_table) {
		memcpy(&word, head + 8, sizeof(word));
		memcpy(&threads, head + 16, sizeof(threads));
		minor = word >> 24 == 3 ? word >> 16 & 0xff : 0;
	}
	if (!minor)
		minor = minor_by_tag(f);
	out->kind = SYM_PYTHON_KNOWN;
	if (minor)
		snprintf(out->version, sizeof(out->version), "CPython 3.%u%s", minor,
			 threads ? " free-threaded" : "");
	if (!minor)
		set_unknown(out, "CPython", "its version could not be told");
	else if (minor < MINOR_FIRST || minor > MINOR_LAST)
		set_unknown(out, NULL, "frames are known for 3.8 to 3.15 only");
	else if (minor >= 13 && !own_table)
		set_unknown(out, NULL, "its table of offsets is not where it should be");
	else if (minor >= 13 && !own_layout(&out->layout, minor, threads != 0, head))
		set_unknown(out, NULL, "its table of offsets makes no sense");
	else if (minor < 13)
		out->layout = layouts[minor];
	if (out->kind != SYM_PYTHON_KNOWN)
		return;
	if (sym_elf_machine(f) != EM_X86_64 && !out->layout.thread_native) {
		set_unknown(out, NULL, "its threads cannot be told apart on this machine");
		return;
	}
	out->layout.minor = (uint8_t)minor;
	if (!out->layout.runtime_key)
		sym_python_slot(f, &out->slot);
	out->freed = sym_python_freed(f, threads != 0);
	find_loops(out, f);
}

/* Other Pythons, and CPython too old to be known: the name of the file, or what it exports. */
static void read_other(struct sym_python *out, const struct sym_elf *f, const char *path)
{
	static const struct {
		const char *prefix, *name;
	} others[] = { { "libpypy", "PyPy" },
		       { "pypy", "PyPy" },
		       { "graalpy", "GraalPy" },
		       { "libpythonvm", "GraalPy" },
		       { "micropython", "MicroPython" } };
	const char *file = strrchr(path, '/');
	struct sym_elf_symbol s;

	file = file ? file + 1 : path;
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(file, others[i].prefix, strlen(others[i].prefix)) == 0) {
			set_unknown(out, others[i].name, "only CPython's frames are known");
			return;
		}
	if (sym_lookup(f, "Py_Initialize", &s) && sym_lookup(f, "PyEval_EvalFrameEx", &s))
		set_unknown(out, "Python", "older than 3.8: frames are known for 3.8 to 3.15 only");
}

void sym_python_read(struct sym_python *out, const struct sym_elf *f, const char *path)
{
	struct sym_elf_symbol s;
	struct sym_elf_part section;

	memset(out, 0, sizeof(*out));
	if (sym_lookup(f, "_PyRuntime", &s)) {
		out->runtime = s.value;
		out->runtime_bytes = s.size;
	} else if (sym_lookup_section(f, ".PyRuntime", &section)) {
		out->runtime = section.address;
		out->runtime_bytes = section.size;
	}
	if (out->runtime)
		read_cpython(out, f);
	else
		read_other(out, f, path);
}

bool sym_python_bias(const struct sym_elf *f, uint64_t start, uint64_t offset, uint64_t *bias)
{
	uint64_t page = (uint64_t)getpagesize();
	struct sym_elf_part s;
	bool found = false;

	/* Mappings begin at whole pages, where the segment before may still have its end. */
	for (unsigned i = 0; sym_elf_segment(f, i, &s); i++)
		if (s.type == PT_LOAD && (s.offset & ~(page - 1)) <= offset &&
		    offset < s.offset + s.size) {
			*bias = start - offset + s.offset - s.address;
			found = true;
		}
	return found;
}
