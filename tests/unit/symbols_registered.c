/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of a library without symbols, from the code that registers them: what compilers make of
 * it, what only looks like it, and mutations of that.
 */
#include "tests/fuzz/registered.c"

#include <elf.h>
#include <string.h>

#include "tests/fuzz/bytes.h"
#include "tests/tap.h"

#define CODE  0x1000 /* places in the file; addresses are 0x400000 more */
#define NAMES 0x3000
#define BASE  0x400000
#define SIZE  0x4000

static uint8_t file[SIZE];

static void put(size_t *at, const void *p, size_t n)
{
	memcpy(file + *at, p, n);
	*at += n;
}

static void put_text(size_t at, const char *text)
{
	put(&at, text, strlen(text) + 1);
}

/* lea to(%rip), %reg */
static void put_lea(size_t *at, uint8_t reg, uint64_t to)
{
	int32_t distance = (int32_t)((int64_t)to - (int64_t)(*at + 7));

	put(at, (uint8_t[]){ 0x48, 0x8d, reg }, 3);
	put(at, &distance, 4);
}

#define RSI 0x35
#define RDX 0x15
#define RCX 0x0d

static void put_no_limit(size_t *at)
{
	put(at, "\x41\xb8\xff\xff\xff\xff", 6);
}

static void put_call(size_t *at)
{
	put(at, "\xe8\x10\0\0\0", 5);
}

static void put_head(void)
{
	Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				      EV_CURRENT },
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(h),
			 .e_ehsize = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2 };
	Elf64_Phdr s[2] = { { .p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = CODE,
			      .p_vaddr = BASE + CODE,
			      .p_filesz = NAMES - CODE,
			      .p_memsz = NAMES - CODE },
			    { .p_type = PT_LOAD,
			      .p_flags = PF_R,
			      .p_offset = NAMES,
			      .p_vaddr = BASE + NAMES,
			      .p_filesz = SIZE - NAMES,
			      .p_memsz = SIZE - NAMES } };
	size_t at = 0;

	memset(file, 0, sizeof(file));
	put(&at, &h, sizeof(h));
	put(&at, s, sizeof(s));
	put_text(NAMES, "_Z5firstPf");
	put_text(NAMES + 32, "_Z6secondPf");
	put_text(NAMES + 64, "plain");
	put_text(NAMES + 96, "no name: %s");
}

static struct sym_registered *opened(struct sym_elf **f)
{
	int fd = memfd_create("registered", MFD_CLOEXEC);
	struct sym_registered *t;
	struct err e = { 0 };

	if (fd < 0 || write(fd, file, sizeof(file)) != (ssize_t)sizeof(file) ||
	    sym_elf_open_fd(f, fd, "registered", &e) || sym_registered_new(&t, *f, &e))
		return NULL;
	close(fd);
	return t;
}

static void registers(void)
{
	static const struct {
		uint64_t host;
		const char *name, *what;
	} rows[] = { { CODE + 0x800, "first(float*)", "the name first, then the host function" },
		     { CODE + 0x810, "second(float*)", "the other way round" },
		     { CODE + 0x820, "plain", "in %rcx, copied from there; a kernel in C" },
		     { CODE + 0x830, NULL, "two names of one function are none" },
		     { CODE + 0x840, NULL, "a text that is no name" },
		     { NAMES, NULL, "an address that is no code" },
		     { CODE + 0x850, NULL, "arguments of the call before" },
		     { CODE + 0x860, NULL, "arguments of a call that is none" } };
	struct buf name = { 0 };
	size_t at = CODE;
	struct sym_registered *t;
	struct sym_elf *f;

	put_head();
	put_lea(&at, RDX, NAMES);
	put_no_limit(&at);
	put_lea(&at, RSI, CODE + 0x800);
	put_call(&at);
	put_no_limit(&at);
	put_lea(&at, RSI, CODE + 0x810);
	put_lea(&at, RDX, NAMES + 32);
	put_call(&at);
	put_lea(&at, RSI, CODE + 0x820);
	put_lea(&at, RCX, NAMES + 64);
	put_no_limit(&at);
	put(&at, "\x48\x89\xca", 3);
	put_call(&at);
	for (unsigned i = 0; i < 2; i++) {
		put_lea(&at, RDX, NAMES + 32 * i);
		put_lea(&at, RSI, CODE + 0x830);
		put_no_limit(&at);
		put_call(&at);
	}
	put_lea(&at, RDX, NAMES + 96);
	put_lea(&at, RSI, CODE + 0x840);
	put_no_limit(&at);
	put_call(&at);
	at += 0x100;
	put_lea(&at, RDX, NAMES);
	put_lea(&at, RSI, NAMES);
	put_no_limit(&at);
	put_call(&at);
	at += 0x100;
	put_lea(&at, RDX, NAMES);
	put_lea(&at, RSI, CODE + 0x800);
	put_no_limit(&at);
	put_call(&at);
	put_lea(&at, RSI, CODE + 0x850);
	put_no_limit(&at);
	put_call(&at);
	put_lea(&at, RSI, CODE + 0x860);
	put(&at, "\x48\x8b\x35\0\0\0\0", 7); /* mov table(%rip), %rsi */
	put_lea(&at, RDX, NAMES);
	put_no_limit(&at);
	put_call(&at);
	t = opened(&f);
	for (unsigned i = 0; t && i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool found = sym_registered_find(t, rows[i].host, &name);

		is_int(found, rows[i].name != NULL, "%s", rows[i].what);
		if (rows[i].name && found)
			is_str(buf_text(&name), rows[i].name, "by its name");
		buf_reset(&name);
	}
	buf_free(&name);
	sym_registered_free(t);
	sym_elf_free(f);
}

int main(void)
{
	unsigned round;

	registers();
	for (round = 0; round < REPLAY_ROUNDS / 20; round++) {
		struct buf b = { 0 };

		buf_add(&b, file, sizeof(file));
		for (unsigned m = replay_below(20); m > 0 && b.n; m--)
			replay_mutate(&b);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, REPLAY_ROUNDS / 20, "mutated files");
	return tap_done();
}
