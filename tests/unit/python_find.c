/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is found of CPython by its machine code and tables, in a file that has them: this program
 * exports a function and a type of those names; copies of it get other code for the function.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/symbols/lookup.h"
#include "lib/symbols/python_find.h"
#include "tests/tap.h"

#ifndef __x86_64__
int main(void)
{
	puts("1..0 # SKIP optional: machine code of x86-64");
	return 0;
}
#else
__asm__(".text\n"
	".globl PyGILState_GetThisThreadState\n"
	".type PyGILState_GetThisThreadState, @function\n"
	"PyGILState_GetThisThreadState: .fill 64, 1, 0xcc\n"
	".size PyGILState_GetThisThreadState, 64\n"
	".globl freed, freed_marked, freed_otherwise\n"
	"freed: push %rbp\n ret\n"
	"freed_marked: endbr64\n push %r12\n ret\n"
	"freed_otherwise: endbr64\n ret\n");
void freed(void), freed_marked(void), freed_otherwise(void);

/* Heads of 2 and of 4 words, a size, a name, two sizes, the destructor. */
extern void *PyCode_Type[16];
void *PyCode_Type[16] = { [6] = (void *)freed, [8] = (void *)freed_marked };

static struct sym_elf *file_of(const struct buf *bytes)
{
	int fd = memfd_create("python", MFD_CLOEXEC);
	struct sym_elf *f = NULL;
	struct err e = { 0 };

	if (fd < 0 || write(fd, bytes->p, bytes->n) != (ssize_t)bytes->n ||
	    sym_elf_open_fd(&f, fd, "python", &e))
		f = NULL;
	close(fd);
	return f;
}

#define FAR -0x28
static void slots(struct buf *bytes, uint64_t place, uint64_t address)
{
	/* As compilers write "return variable;" for one in thread-local storage. */
	static const struct {
		const char *code, *why;
		size_t n;
		bool known;
		int64_t at;
		uint64_t pair; /* from the function on */
	} rows[] = {
		{ "\x64\x48\x8b\x04\x25\xd8\xff\xff\xff\xc3", "in an executable", 10, true, FAR,
		  0 },
		{ "\xf3\x0f\x1e\xfa\x64\x48\x8b\x04\x25\xd8\xff\xff\xff\xc3",
		  "with a mark for jumps", 14, true, FAR, 0 },
		{ "\x55\x48\x89\xe5\x64\x48\x8b\x04\x25\xd8\xff\xff\xff\x5d\xc3", "with a frame",
		  15, true, FAR, 0 },
		{ "\x55\x48\x8d\x3d\x10\0\0\0\xe8\0\0\0\0\x5d\x48\x8b\x80\x28\0\0\0\xc3",
		  "in a library", 22, true, 0x28, 8 + 0x10 },
		{ "\x48\x8d\x3d\xf0\xff\xff\xff\xe8\0\0\0\0\x48\x8b\x40\xf8\xc3",
		  "with a short distance", 17, true, -8, 7 - 0x10 },
		{ "\x66\x48\x8d\x3d\x10\0\0\0\x66\x66\x48\xe8\0\0\0\0\x48\x8b\0\xc3",
		  "of any module", 20, true, 0, 8 + 0x10 },
		{ "\x48\x8b\x40\x08\xc3", "a load from nowhere", 5, false, 0, 0 },
		{ "\x48\x8d\x3d\x10\0\0\0\xe9\0\0\0\0", "passed on", 12, false, 0, 0 },
		{ "\xc3", "none", 1, false, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t pair = rows[i].known && rows[i].pair ? address + rows[i].pair : 0;
		struct sym_python_slot slot;
		struct sym_elf *f;

		memset(bytes->p + place, 0xcc, 64);
		memcpy(bytes->p + place, rows[i].code, rows[i].n);
		f = file_of(bytes);
		if (!ok(f, "%s: a file", rows[i].why))
			continue;
		sym_python_slot(f, &slot);
		ok(slot.known == rows[i].known && slot.at == rows[i].at && slot.pair == pair,
		   "%s: slot %lld, pair %llx", rows[i].why, (long long)slot.at,
		   (unsigned long long)slot.pair);
		sym_elf_free(f);
	}
}

int main(void)
{
	struct sym_elf_symbol function, type, simple, marked;
	struct sym_elf *f;
	struct buf bytes = { 0 };
	struct err e = { 0 };
	uint64_t place, word;

	if (read_file("/proc/self/exe", &bytes, 64 << 20, &e) || !(f = file_of(&bytes)))
		return 1;
	if (!sym_lookup(f, "PyGILState_GetThisThreadState", &function) ||
	    !sym_lookup(f, "PyCode_Type", &type) || !sym_lookup(f, "freed", &simple) ||
	    !sym_lookup(f, "freed_marked", &marked)) {
		ok(false, "this program exports what is looked for");
		return tap_done();
	}
	is_u64(sym_python_freed(f, false), simple.offset,
	       "a destructor, by what a relocation says");
	is_u64(sym_python_freed(f, true), marked.offset + 4, "of a longer head, behind its mark");
	sym_elf_free(f);
	slots(&bytes, function.offset, function.value);
	/* Said in place, as where no relocation is needed. */
	if (sym_elf_open(&f, "/proc/self/exe", &e) || !sym_elf_place(f, type.value + 48, &place) ||
	    !sym_lookup(f, "freed_otherwise", &simple))
		return 1;
	sym_elf_free(f);
	for (unsigned i = 0; i < 3; i++) {
		const uint64_t says[] = { simple.value, type.value, UINT64_MAX };

		word = says[i];
		memcpy(bytes.p + place, &word, sizeof(word));
		f = file_of(&bytes);
		if (ok(f, "a file"))
			is_u64(sym_python_freed(f, false), i ? 0 : simple.offset, "%s",
			       i ? "no place with code is none" : "in place, before anything else");
		sym_elf_free(f);
	}
	buf_free(&bytes);
	return tap_done();
}
#endif
