/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognizes functions that only forward to another one, from their machine code. No disassembler:
 * a function of a few dozen bytes whose only branch leads exactly to a known function does nothing
 * else. Bytes that may be a conditional jump make it "does more", so that a function which returns
 * early is never taken for a forwarding one.
 */
#include "lib/symbols/forward.h"

#include <elf.h>
#include <string.h>

static bool step_x86(const uint8_t *code, size_t n, size_t *at, int64_t *distance)
{
	int32_t rel;

	for (size_t i = 0; i + 2 <= n; i++) {
		/* 70 to 7f, and 0f 80 to 0f 8f: conditional jumps; c3: it returns before; ff: jumps
		 * and calls of pointers. */
		if ((code[i] & 0xf0) == 0x70 || code[i] == 0xc3 || code[i] == 0xff ||
		    (code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80))
			return false;
		if (code[i] == 0xeb) {
			*at = i;
			*distance = 2 + (int64_t)(int8_t)code[i + 1];
			return true;
		}
		if (code[i] != 0xe8 && code[i] != 0xe9)
			continue;
		if (i + 5 > n)
			return false;
		memcpy(&rel, code + i + 1, sizeof(rel));
		*at = i;
		*distance = 5 + (int64_t)rel;
		/* Behind a call the same function goes on: it must not enter another one. */
		return code[i] == 0xe9 || !(memchr(code + i + 5, 0xe8, n - i - 5) ||
					    memchr(code + i + 5, 0xe9, n - i - 5));
	}
	return false;
}

static bool step_arm64(const uint8_t *code, size_t n, size_t *at, int64_t *distance)
{
	uint32_t word;

	bool entered = false;

	for (size_t i = 0; i + 4 <= n; i += 4) {
		memcpy(&word, code + i, sizeof(word));
		/* b and bl; the function continues after a bl: it must not enter another one. */
		if ((word & 0x7c000000) == 0x14000000) {
			if (entered)
				return false;
			*at = i;
			*distance = (int64_t)((uint64_t)(word & 0x3ffffff) << 38) >> 36;
			entered = true;
			if (!(word & 0x80000000))
				return true;
		}
		if (entered)
			continue;
		/* b.cond; cbz, cbnz, tbz, tbnz; br, blr, ret */
		if ((word & 0xff000000) == 0x54000000 || (word & 0x7c000000) == 0x34000000 ||
		    (word & 0xfe000000) == 0xd6000000)
			return false;
	}
	return entered;
}

bool sym_forward_step(const uint8_t *code, size_t n, uint16_t machine, size_t *at,
		      int64_t *distance)
{
	if (machine == EM_X86_64)
		return step_x86(code, n, at, distance);
	return machine == EM_AARCH64 && step_arm64(code, n, at, distance);
}

/* The slot, as a linked address, that the PLT entry at this address jumps by. */
static bool slot_x86(const uint8_t *code, size_t n, uint64_t address, uint64_t *slot)
{
	size_t i = n >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0; /* endbr64 */
	int32_t rel;

	i += i < n && code[i] == 0xf2; /* bnd */
	if (i + 6 > n || code[i] != 0xff || code[i + 1] != 0x25)
		return false;
	memcpy(&rel, code + i + 2, sizeof(rel));
	*slot = address + i + 6 + (uint64_t)(int64_t)rel;
	return true;
}

static bool slot_arm64(const uint8_t *code, size_t n, uint64_t address, uint64_t *slot)
{
	uint32_t page, load;
	size_t i = 0;

	if (n < 4)
		return false;
	memcpy(&page, code, sizeof(page));
	i = page == 0xd503245f ? 4 : 0; /* bti c */
	if (i + 8 > n)
		return false;
	memcpy(&page, code + i, sizeof(page));
	memcpy(&load, code + i + 4, sizeof(load));
	/* adrp x16, page; ldr x17, [x16, #offset] */
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return false;
	*slot = (address + i) & ~0xfffull;
	*slot += (uint64_t)((int64_t)((uint64_t)(((page >> 5 & 0x7ffff) << 2) | (page >> 29 & 3))
				      << 43) >>
			    43)
		 << 12;
	*slot += (load >> 10 & 0xfff) * 8;
	return true;
}

static bool through_plt(const struct sym_elf *f, uint64_t offset, struct sym_forward *out)
{
	uint64_t address, slot;
	uint8_t code[16];
	size_t n = sym_elf_bytes(f, offset, code, sizeof(code));

	if (!sym_elf_address(f, offset, &address))
		return false;
	if (sym_elf_machine(f) == EM_X86_64 ? !slot_x86(code, n, address, &slot)
					    : !slot_arm64(code, n, address, &slot))
		return false;
	return sym_elf_imported(f, slot, out->name, sizeof(out->name));
}

bool sym_forward_of(const struct sym_elf *f, uint64_t offset, uint64_t size,
		    struct sym_forward *out)
{
	uint8_t code[SYM_FORWARD_BYTES];
	int64_t distance;
	size_t at, n;

	*out = (struct sym_forward){ .offset = UINT64_MAX };
	if (size == 0 || size > sizeof(code))
		return false;
	n = sym_elf_bytes(f, offset, code, size);
	if (!sym_forward_step(code, n, sym_elf_machine(f), &at, &distance))
		return false;
	offset += at + (uint64_t)distance;
	if (!through_plt(f, offset, out))
		out->offset = offset;
	return true;
}
