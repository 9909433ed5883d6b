/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the ELF file of sym_slim(): file header, segment headers, notes, symbols, their names,
 * names of sections, section headers. As in symbols.c, the symbols are those of .symtab where there
 * is one, else the exported ones.
 */
#include "lib/symbols/slim.h"

#include <elf.h>
#include <string.h>

struct slim {
	struct buf symbols, names;
	size_t n;
	bool large;
};

static bool on_symbol(void *ctx, const struct sym_elf_symbol *s)
{
	struct slim *t = ctx;
	Elf64_Sym sym = { .st_name = (Elf64_Word)t->names.n,
			  .st_info = ELF64_ST_INFO(s->is_local ? STB_LOCAL : STB_GLOBAL, STT_FUNC),
			  .st_shndx = SHN_ABS,
			  .st_value = s->value,
			  .st_size = s->size };

	t->large = t->names.n + t->symbols.n > SYM_SLIM_MAX;
	if (t->large)
		return false;
	buf_add(&t->symbols, &sym, sizeof(sym));
	buf_add(&t->names, s->name, strlen(s->name) + 1);
	t->n++;
	return !t->symbols.failed && !t->names.failed;
}

static int collect_symbols(const struct sym_elf *f, struct slim *t, struct err *e)
{
	static const Elf64_Sym none;
	int rc = 0;

	for (unsigned full = SYM_FULL; rc == 0 && t->n == 0; full = 0) {
		buf_reset(&t->symbols);
		buf_reset(&t->names);
		buf_add(&t->symbols, &none, sizeof(none));
		buf_putc(&t->names, 0);
		rc = sym_elf_symbols(f, full | SYM_NAMES | SYM_FUNCTIONS, on_symbol, t, e);
		if (!full)
			break;
	}
	if (rc == 0 && (t->symbols.failed || t->names.failed))
		rc = err_nomem(e);
	if (rc == 0 && t->large)
		rc = err_set(e, ERR_LIMIT, "its symbol table is too large");
	return rc;
}

static void append_note(struct buf *out, uint32_t type, const char *owner, const void *p, size_t n)
{
	Elf64_Nhdr head = { .n_namesz = (Elf64_Word)strlen(owner) + 1,
			    .n_descsz = (Elf64_Word)n,
			    .n_type = type };

	buf_add(out, &head, sizeof(head));
	buf_add(out, owner, head.n_namesz);
	while (out->n % 4)
		buf_putc(out, 0);
	buf_add(out, p, n);
	while (out->n % 4)
		buf_putc(out, 0);
}

static void append_notes(struct buf *out, const struct sym_elf *f)
{
	const char *id = sym_elf_build_id(f), digits[] = "0123456789abcdef";
	unsigned char raw[SYM_BUILD_ID / 2];
	uint64_t size = sym_elf_size(f);
	size_t n = strlen(id) / 2;

	for (size_t i = 0; i < n; i++)
		raw[i] = (unsigned char)((strchr(digits, id[2 * i]) - digits) << 4 |
					 (strchr(digits, id[2 * i + 1]) - digits));
	if (n)
		append_note(out, NT_GNU_BUILD_ID, "GNU", raw, n);
	append_note(out, SYM_NOTE_SIZE, SYM_NOTE_OWNER, &size, sizeof(size));
}

static void append_segments(struct buf *out, const struct sym_elf *f, size_t notes_bytes,
			    unsigned *n)
{
	struct sym_elf_part p;
	Elf64_Phdr h = { .p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4 };

	*n = 1;
	for (unsigned i = 0; sym_elf_segment(f, i, &p); i++)
		*n += p.type == PT_LOAD;
	h.p_offset = sizeof(Elf64_Ehdr) + *n * sizeof(h);
	h.p_filesz = notes_bytes;
	buf_add(out, &h, sizeof(h));
	for (unsigned i = 0; sym_elf_segment(f, i, &p); i++) {
		if (p.type != PT_LOAD)
			continue;
		h = (Elf64_Phdr){ .p_type = PT_LOAD,
				  .p_flags = PF_R,
				  .p_offset = p.offset,
				  .p_vaddr = p.address,
				  .p_paddr = p.address,
				  .p_filesz = p.size,
				  .p_memsz = p.size };
		buf_add(out, &h, sizeof(h));
	}
}

static void append_file(struct buf *out, const struct sym_elf *f, const struct slim *t,
			const struct buf *note_bytes, const struct buf *heads, unsigned nsegments)
{
	static const char section_names[] = "\0.symtab\0.strtab\0.shstrtab";
	uint64_t at = sizeof(Elf64_Ehdr) + heads->n + note_bytes->n;
	Elf64_Shdr s[4] = { { 0 } };
	Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				      EV_CURRENT },
			 .e_type = ET_DYN,
			 .e_machine = sym_elf_machine(f),
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(h),
			 .e_ehsize = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = (Elf64_Half)nsegments,
			 .e_shentsize = sizeof(s[0]),
			 .e_shnum = 4,
			 .e_shstrndx = 3 };

	s[1] = (Elf64_Shdr){ .sh_name = 1,
			     .sh_type = SHT_SYMTAB,
			     .sh_offset = at,
			     .sh_size = t->symbols.n,
			     .sh_link = 2,
			     .sh_info = 1,
			     .sh_addralign = 4,
			     .sh_entsize = sizeof(Elf64_Sym) };
	s[2] = (Elf64_Shdr){ .sh_name = 9,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = at + t->symbols.n,
			     .sh_size = t->names.n,
			     .sh_addralign = 1 };
	s[3] = (Elf64_Shdr){ .sh_name = 17,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = s[2].sh_offset + t->names.n,
			     .sh_size = sizeof(section_names),
			     .sh_addralign = 1 };
	h.e_shoff = s[3].sh_offset + sizeof(section_names);
	buf_add(out, &h, sizeof(h));
	buf_add(out, heads->p, heads->n);
	buf_add(out, note_bytes->p, note_bytes->n);
	buf_add(out, t->symbols.p, t->symbols.n);
	buf_add(out, t->names.p, t->names.n);
	buf_add(out, section_names, sizeof(section_names));
	buf_add(out, s, sizeof(s));
}

int sym_slim(const struct sym_elf *f, struct buf *out, size_t *functions, struct err *e)
{
	struct buf note_bytes = { 0 }, heads = { 0 };
	struct slim t = { 0 };
	unsigned nsegments;
	int rc;

	rc = collect_symbols(f, &t, e);
	if (rc)
		goto out;
	append_notes(&note_bytes, f);
	append_segments(&heads, f, note_bytes.n, &nsegments);
	append_file(out, f, &t, &note_bytes, &heads, nsegments);
	*functions = t.n;
	if (note_bytes.failed || heads.failed || out->failed)
		rc = err_nomem(e);
out:
	buf_free(&t.symbols);
	buf_free(&t.names);
	buf_free(&note_bytes);
	buf_free(&heads);
	return rc;
}
