/* SPDX-License-Identifier: Apache-2.0 */
/* Removes calls of kernel functions that this kernel does not have, in the object file: only its
 * relocations show which instructions call them, and libbpf exposes neither these nor the functions
 * that several programs share. */
#include "lib/attach/session_kfunc.h"

#include <bpf/btf.h>
#include <elf.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define R_BPF_64_32 10 /* of a call; the kernel's Documentation/bpf/llvm_reloc.rst */

bool probe_kfunc_heard(const char *words)
{
	return strstr(words, "kernel btf_id 0 is not a function") != NULL;
}

struct object {
	char *elf;
	const char *function;
	Elf64_Shdr symbols, names;
};

/* What stands at a place of the file need not be aligned. */
#define READ(o, at, type)                                       \
	({                                                      \
		type read_;                                     \
		memcpy(&read_, (o)->elf + (at), sizeof(read_)); \
		read_;                                          \
	})

static bool calls_it(const struct object *o, const Elf64_Rel *rel)
{
	Elf64_Sym sym =
		READ(o, o->symbols.sh_offset + ELF64_R_SYM(rel->r_info) * sizeof(sym), Elf64_Sym);

	return ELF64_R_TYPE(rel->r_info) == R_BPF_64_32 &&
	       strcmp(o->elf + o->names.sh_offset + sym.st_name, o->function) == 0;
}

/* Replaces the calls by moves, and takes their relocations out of the section. */
static void drop_calls(struct object *o, uint64_t at_section)
{
	const struct bpf_insn move = { .code = BPF_ALU64 | BPF_MOV | BPF_K };
	Elf64_Shdr section = READ(o, at_section, Elf64_Shdr), code;
	Elf64_Ehdr head = READ(o, 0, Elf64_Ehdr);
	uint64_t kept = 0;

	code = READ(o, head.e_shoff + section.sh_info * sizeof(code), Elf64_Shdr);
	for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Rel)) {
		Elf64_Rel rel = READ(o, section.sh_offset + at, Elf64_Rel);

		if (calls_it(o, &rel)) {
			memcpy(o->elf + code.sh_offset + rel.r_offset, &move, sizeof(move));
			continue;
		}
		memcpy(o->elf + section.sh_offset + kept, &rel, sizeof(rel));
		kept += sizeof(rel);
	}
	section.sh_size = kept;
	memcpy(o->elf + at_section, &section, sizeof(section));
}

static bool kernel_has(const char *function)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	bool has = kernel && btf__find_by_name_kind(kernel, function, BTF_KIND_FUNC) > 0;

	btf__free(kernel);
	return has;
}

void *probe_kfunc_drop(const void *elf, size_t size, const char *function)
{
	struct object o = { .function = function };
	Elf64_Shdr section;
	Elf64_Ehdr head;

	if (kernel_has(function))
		return NULL;
	o.elf = malloc(size);
	if (!o.elf)
		return NULL;
	memcpy(o.elf, elf, size);
	head = READ(&o, 0, Elf64_Ehdr);
	for (uint64_t i = 0; i < head.e_shnum; i++) {
		section = READ(&o, head.e_shoff + i * sizeof(section), Elf64_Shdr);
		if (section.sh_type == SHT_SYMTAB)
			o.symbols = section;
	}
	o.names = READ(&o, head.e_shoff + o.symbols.sh_link * sizeof(section), Elf64_Shdr);
	for (uint64_t i = 0; i < head.e_shnum; i++) {
		section = READ(&o, head.e_shoff + i * sizeof(section), Elf64_Shdr);
		if (section.sh_type == SHT_REL)
			drop_calls(&o, head.e_shoff + i * sizeof(section));
	}
	return o.elf;
}
