/* SPDX-License-Identifier: Apache-2.0 */
/* Removes calls of kernel functions that this kernel does not have. Only the relocations of the
 * object file show which instructions call them, and libbpf does not expose these. */
#include "lib/attach/session_kfunc.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define R_BPF_64_32 10 /* of a call; the kernel's Documentation/bpf/llvm_reloc.rst */

bool probe_kfunc_heard(const char *words)
{
	return strstr(words, "kernel btf_id 0 is not a function") != NULL;
}

struct calls {
	struct bpf_object *obj;
	const char *elf;
	const char *function;
	Elf64_Shdr symbols, names;
};

/* What stands at a place of the file need not be aligned. */
#define READ(c, at, type)                                       \
	({                                                      \
		type read_;                                     \
		memcpy(&read_, (c)->elf + (at), sizeof(read_)); \
		read_;                                          \
	})

static Elf64_Sym read_symbol(const struct calls *c, uint64_t i)
{
	return READ(c, c->symbols.sh_offset + i * sizeof(Elf64_Sym), Elf64_Sym);
}

static const char *name_of(const struct calls *c, const Elf64_Sym *sym)
{
	return c->elf + c->names.sh_offset + sym->st_name;
}

/* The program that the byte at offset of the section is in, and where it begins. */
static struct bpf_program *program_at(const struct calls *c, uint32_t section, uint64_t offset,
				      uint64_t *begin)
{
	for (uint64_t i = 0; i < c->symbols.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym sym = read_symbol(c, i);

		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx != section ||
		    offset < sym.st_value || offset - sym.st_value >= sym.st_size)
			continue;
		*begin = sym.st_value;
		return bpf_object__find_program_by_name(c->obj, name_of(c, &sym));
	}
	return NULL;
}

/* Replaces the call by a move. libbpf later writes a kind of call, 2, into the field of the source
 * register, so the move is from r2; any register would do. */
static int drop_call(struct bpf_program *p, size_t at)
{
	size_t n = bpf_program__insn_cnt(p);
	struct bpf_insn *insns;
	int rc;

	if (at >= n)
		return -EINVAL;
	insns = malloc(n * sizeof(*insns));
	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(p), n * sizeof(*insns));
	insns[at] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .src_reg = BPF_REG_2 };
	rc = bpf_program__set_insns(p, insns, n);
	free(insns);
	return rc;
}

static int drop_in(const struct calls *c, const Elf64_Shdr *section)
{
	for (uint64_t at = 0; at < section->sh_size; at += sizeof(Elf64_Rel)) {
		Elf64_Rel rel = READ(c, section->sh_offset + at, Elf64_Rel);
		Elf64_Sym sym = read_symbol(c, ELF64_R_SYM(rel.r_info));
		struct bpf_program *p;
		uint64_t begin;
		int rc;

		if (ELF64_R_TYPE(rel.r_info) != R_BPF_64_32 ||
		    strcmp(name_of(c, &sym), c->function) != 0)
			continue;
		p = program_at(c, section->sh_info, rel.r_offset, &begin);
		rc = p ? drop_call(p, (rel.r_offset - begin) / sizeof(struct bpf_insn)) : -ESRCH;
		if (rc)
			return rc;
	}
	return 0;
}

static bool kernel_has(const char *function)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	bool has = kernel && btf__find_by_name_kind(kernel, function, BTF_KIND_FUNC) > 0;

	btf__free(kernel);
	return has;
}

int probe_kfunc_drop(struct bpf_object *obj, const void *elf, const char *function)
{
	struct calls c = { .obj = obj, .elf = elf, .function = function };
	Elf64_Ehdr head = READ(&c, 0, Elf64_Ehdr);
	Elf64_Shdr section;
	int rc = 0;

	if (kernel_has(function))
		return 0;
	for (uint64_t i = 0; i < head.e_shnum; i++) {
		section = READ(&c, head.e_shoff + i * sizeof(section), Elf64_Shdr);
		if (section.sh_type == SHT_SYMTAB)
			c.symbols = section;
	}
	c.names = READ(&c, head.e_shoff + c.symbols.sh_link * sizeof(section), Elf64_Shdr);
	for (uint64_t i = 0; rc == 0 && i < head.e_shnum; i++) {
		section = READ(&c, head.e_shoff + i * sizeof(section), Elf64_Shdr);
		if (section.sh_type == SHT_REL)
			rc = drop_in(&c, &section);
	}
	return rc;
}
