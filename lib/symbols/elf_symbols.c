/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of an ELF file, one after the other, and which one the loader binds a slot to. What
 * libelf has read for it is given back at the end: a library's symbols take no memory in between.
 */
#include "lib/symbols/elf_internal.h"

#include <string.h>

#define NAMES_MAX	(512u << 20)
#define SYMBOLS_MAX	(16u << 20)
#define RELOCATIONS_MAX (16u << 20) /* bytes of one section of them; NCCL 2.32 has 2 MB */

struct walk {
	unsigned flags;
	const char *names; /* names_size bytes; NULL unless SYM_NAMES was asked */
	uint64_t names_at, names_size;
	sym_elf_fn *fn;
	void *ctx;
};

static bool walk_one(const struct sym_elf *f, const struct walk *w, const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);
	struct sym_elf_symbol s = { .value = sym->st_value,
				    .offset = UINT64_MAX,
				    .size = sym->st_size,
				    .is_function = type == STT_FUNC || type == STT_GNU_IFUNC,
				    .is_local = ELF64_ST_BIND(sym->st_info) == STB_LOCAL };

	if (sym->st_shndx == SHN_UNDEF || sym->st_value == 0 || sym->st_name >= w->names_size ||
	    type == STT_TLS || type == STT_FILE || type == STT_SECTION)
		return true;
	sym_elf_place(f, sym->st_value, &s.offset);
	if ((w->flags & SYM_FUNCTIONS) && (!s.is_function || s.offset == UINT64_MAX))
		return true;
	s.names_place = w->names_at;
	s.name_at = sym->st_name;
	if (w->names) {
		uint64_t room = w->names_size - sym->st_name;

		s.name = w->names + sym->st_name;
		if (room > SYM_NAME_MAX)
			room = SYM_NAME_MAX;
		if (strnlen(s.name, room) == room)
			return true;
	}
	return w->fn(w->ctx, &s);
}

/* All of a section's bytes, as libelf hands them out. NULL: they are not in the file, or there is
 * no memory. */
static const Elf_Data *bytes_of_section(const struct sym_elf *f, Elf *elf, unsigned i)
{
	Elf_Scn *scn = sym_elf_inside(f, f->sections[i].sh_offset, f->sections[i].sh_size)
			       ? elf_getscn(elf, i)
			       : NULL;
	const Elf_Data *d = scn ? elf_getdata(scn, NULL) : NULL;

	return d && d->d_buf && d->d_size == f->sections[i].sh_size ? d : NULL;
}

static int walk_table(const struct sym_elf *f, unsigned i, struct walk *w, struct err *e)
{
	const Elf64_Shdr *table = &f->sections[i], *text;
	uint64_t n = table->sh_size / sizeof(Elf64_Sym);
	const Elf_Data *d, *names = NULL;
	Elf *elf;

	if (table->sh_link >= f->nsections || n == 0)
		return 0;
	text = &f->sections[table->sh_link];
	if (text->sh_size == 0 || text->sh_type == SHT_NOBITS ||
	    !sym_elf_inside(f, text->sh_offset, text->sh_size))
		return 0;
	if (n > SYMBOLS_MAX || ((w->flags & SYM_NAMES) && text->sh_size > NAMES_MAX))
		return err_set(e, ERR_LIMIT, "a symbol table of %llu entries is too large",
			       (unsigned long long)n);
	elf = sym_elf_begin(f);
	if (!elf)
		return err_nomem(e);
	w->names_at = text->sh_offset;
	w->names_size = text->sh_size;
	d = bytes_of_section(f, elf, i);
	if (d && (w->flags & SYM_NAMES))
		names = bytes_of_section(f, elf, table->sh_link);
	w->names = names ? names->d_buf : NULL;
	if (d && d->d_type == ELF_T_SYM && (names || !(w->flags & SYM_NAMES)))
		for (uint64_t k = 0; k < n; k++)
			if (!walk_one(f, w, (const Elf64_Sym *)d->d_buf + k))
				break;
	elf_end(elf);
	return 0;
}

int sym_elf_symbols(const struct sym_elf *f, unsigned flags, sym_elf_fn *fn, void *ctx,
		    struct err *e)
{
	struct walk w = { .flags = flags, .fn = fn, .ctx = ctx };

	/* The format allows one table of each kind. */
	for (unsigned i = 0; i < f->nsections; i++)
		if (f->sections[i].sh_type == (flags & SYM_FULL ? SHT_SYMTAB : SHT_DYNSYM))
			return walk_table(f, i, &w, e);
	return 0;
}

/* The text of symbol number i of the table in section table. */
static bool symbol_name(const struct sym_elf *f, Elf *elf, unsigned table, uint64_t i, char *name,
			size_t size)
{
	const Elf64_Shdr *t = &f->sections[table], *text;
	const Elf_Data *d;
	Elf64_Sym sym;

	if (t->sh_type != SHT_DYNSYM || t->sh_link >= f->nsections ||
	    t->sh_size / sizeof(sym) > SYMBOLS_MAX)
		return false;
	text = &f->sections[t->sh_link];
	d = bytes_of_section(f, elf, table);
	if (!d || d->d_type != ELF_T_SYM || i >= d->d_size / sizeof(sym))
		return false;
	sym = ((const Elf64_Sym *)d->d_buf)[i];
	if (sym.st_name >= text->sh_size || !sym_elf_inside(f, text->sh_offset, text->sh_size))
		return false;
	sym_elf_text(f, text->sh_offset + sym.st_name, name, size);
	return name[0] && strlen(name) + 1 < size;
}

static bool imported_by(const struct sym_elf *f, Elf *elf, unsigned section, uint64_t slot,
			char *name, size_t size)
{
	const Elf64_Shdr *s = &f->sections[section];
	const Elf_Data *d;

	if (s->sh_type != SHT_RELA || s->sh_size > RELOCATIONS_MAX || s->sh_link >= f->nsections)
		return false;
	d = bytes_of_section(f, elf, section);
	if (!d || d->d_type != ELF_T_RELA)
		return false;
	for (size_t k = 0; k < d->d_size / sizeof(Elf64_Rela); k++) {
		const Elf64_Rela *r = (const Elf64_Rela *)d->d_buf + k;

		if (r->r_offset == slot && ELF64_R_SYM(r->r_info))
			return symbol_name(f, elf, s->sh_link, ELF64_R_SYM(r->r_info), name, size);
	}
	return false;
}

bool sym_elf_imported(const struct sym_elf *f, uint64_t slot, char *name, size_t size)
{
	Elf *elf = sym_elf_begin(f);
	bool found = false;

	for (unsigned i = 0; elf && !found && i < f->nsections; i++)
		found = imported_by(f, elf, i, slot, name, size);
	if (!found)
		name[0] = 0;
	elf_end(elf);
	return found;
}
