/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64 only: elsewhere nothing is found. Encodings are those of Intel's manual; the sequences
 * that reach thread-local storage are those of the ABI's document ("ELF Handling For Thread-Local
 * Storage"), which linkers know and keep.
 */
#include "lib/symbols/python_find.h"

#include <elf.h>
#include <string.h>

#include "lib/symbols/lookup.h"

#define CODE_BYTES 64 /* the function that only returns the slot is shorter */

static int32_t int_at(const unsigned char *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* "mov DISPLACEMENT(%rax),%rax" */
static bool is_load(const unsigned char *p, int64_t *displacement)
{
	if (p[0] != 0x48 || p[1] != 0x8b)
		return false;
	if (p[2] == 0x80)
		*displacement = int_at(p + 3);
	else if (p[2] == 0x40)
		*displacement = (int8_t)p[3];
	else if (p[2] == 0x00)
		*displacement = 0;
	else
		return false;
	return true;
}

void sym_python_slot(const struct sym_elf *f, struct sym_python_slot *out)
{
	unsigned char code[CODE_BYTES + 8] = { 0 };
	struct sym_elf_symbol s;
	size_t n;

	*out = (struct sym_python_slot){ 0 };
	if (sym_elf_machine(f) != EM_X86_64 ||
	    !sym_lookup(f, "PyGILState_GetThisThreadState", &s) || s.offset == UINT64_MAX)
		return;
	n = sym_elf_bytes(f, s.offset, code, s.size < CODE_BYTES ? s.size : CODE_BYTES);
	for (size_t i = 0; i < n; i++) {
		const unsigned char *p = code + i;

		if (memcmp(p, "\x64\x48\x8b\x04\x25", 5) == 0) { /* mov %fs:DISPLACEMENT,%rax */
			out->at = int_at(p + 5);
			out->known = true;
			return;
		}
		if (!out->pair && memcmp(p, "\x48\x8d\x3d", 3) == 0) /* lea PAIR(%rip),%rdi */
			out->pair = s.value + i + 7 + (uint64_t)(int64_t)int_at(p + 3);
		else if (out->pair && is_load(p, &out->at)) {
			out->known = true;
			return;
		}
	}
	*out = (struct sym_python_slot){ 0 };
}

/* What the loader puts at that address of the file's data, as linked: what stands there, or what a
 * relocation says. */
static uint64_t data_word(const struct sym_elf *f, uint64_t address)
{
	enum { EACH = 512, ENTRIES_MAX = 1 << 20 };
	static const uint32_t kind = R_X86_64_RELATIVE;
	Elf64_Rela r[EACH];
	struct sym_elf_part part;
	uint64_t place, word = 0;
	size_t n;

	if (sym_elf_place(f, address, &place) &&
	    sym_elf_bytes(f, place, &word, sizeof(word)) == sizeof(word) && word)
		return word;
	for (unsigned i = 0; sym_elf_section(f, i, &part); i++) {
		if (part.type != SHT_RELA)
			continue;
		for (uint64_t at = 0; at < part.size && at < ENTRIES_MAX * sizeof(r[0]);
		     at += n * sizeof(r[0])) {
			uint64_t left = (part.size - at) / sizeof(r[0]);

			n = sym_elf_bytes(f, part.offset + at, r,
					  (left < EACH ? left : EACH) * sizeof(r[0])) /
			    sizeof(r[0]);
			for (size_t k = 0; k < n; k++)
				if (r[k].r_offset == address && ELF64_R_TYPE(r[k].r_info) == kind)
					return (uint64_t)r[k].r_addend;
			if (n == 0)
				break;
		}
	}
	return 0;
}

/* Of a type's destructor in struct _typeobject: behind a head of two words and one for a size, or
 * four and one, come the name and two sizes. The same from 3.8 to 3.15. */
#define DESTRUCTOR_AT	   48
#define DESTRUCTOR_AT_FREE 64

uint64_t sym_python_freed(const struct sym_elf *f, bool free_threaded)
{
	unsigned char code[6] = { 0 };
	struct sym_elf_symbol s;
	struct sym_elf_part part;
	uint64_t address, place;
	bool runs = false;

	if (sym_elf_machine(f) != EM_X86_64 || !sym_lookup(f, "PyCode_Type", &s))
		return 0;
	address = data_word(f, s.value + (free_threaded ? DESTRUCTOR_AT_FREE : DESTRUCTOR_AT));
	for (unsigned i = 0; sym_elf_segment(f, i, &part); i++)
		runs |= part.type == PT_LOAD && (part.flags & PF_X) && address >= part.address &&
			address - part.address < part.size;
	if (!runs || !sym_elf_place(f, address, &place) ||
	    sym_elf_bytes(f, place, code, sizeof(code)) != sizeof(code))
		return 0;
	/* A push behind endbr64 is emulated by the kernel, endbr64 itself is executed in single
	 * steps. */
	if (memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 &&
	    ((code[4] & 0xf8) == 0x50 || (code[4] == 0x41 && (code[5] & 0xf8) == 0x50)))
		place += 4;
	return place;
}
