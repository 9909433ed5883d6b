/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapped ELF64 file read in place. Invariant: nothing is dereferenced before within() said that it lies in the
 * file; a file that is cut or lies about itself yields fewer symbols, never a crash.
 */
#include "lib/probe/image.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYMBOLS_MAX (8u << 20)

struct image {
	const uint8_t *p;
	size_t n;
	const Elf64_Ehdr *head;
	const Elf64_Phdr *segments;
	const Elf64_Shdr *sections;
};

static bool within(const struct image *f, uint64_t offset, uint64_t n)
{
	return offset <= f->n && n <= f->n - offset;
}

/* File offset of a linked address; UINT64_MAX: not in the file. */
static uint64_t offset_of(const struct image *f, uint64_t value)
{
	for (unsigned i = 0; i < f->head->e_phnum; i++) {
		const Elf64_Phdr *s = &f->segments[i];

		if (s->p_type == PT_LOAD && value >= s->p_vaddr && value - s->p_vaddr < s->p_filesz)
			return value - s->p_vaddr + s->p_offset;
	}
	return UINT64_MAX;
}

static void find_build_id(const struct image *f, char out[41])
{
	for (unsigned i = 0; i < f->head->e_phnum; i++) {
		const Elf64_Phdr *s = &f->segments[i];
		uint64_t at = s->p_offset, end = at + s->p_filesz;

		if (s->p_type != PT_NOTE || !within(f, at, s->p_filesz))
			continue;
		while (at + sizeof(Elf64_Nhdr) <= end) {
			const Elf64_Nhdr *note = (const void *)(f->p + at);
			uint64_t name = at + sizeof(*note), desc = name + ((note->n_namesz + 3ull) & ~3ull);

			at = desc + ((note->n_descsz + 3ull) & ~3ull);
			if (at > end || at < desc)
				break;
			if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || memcmp(f->p + name, "GNU", 4) != 0)
				continue;
			for (unsigned k = 0; k < note->n_descsz && k < 20; k++)
				snprintf(out + 2 * k, 3, "%02x", f->p[desc + k]);
			return;
		}
	}
}

static void each_symbol(const struct image *f, const Elf64_Shdr *table, probe_image_fn *fn, void *ctx)
{
	const Elf64_Shdr *text;
	const Elf64_Sym *sym;
	size_t n = table->sh_size / sizeof(*sym);

	if (table->sh_link >= f->head->e_shnum || !within(f, table->sh_offset, table->sh_size) || table->sh_offset % 8 ||
	    n > SYMBOLS_MAX)
		return;
	text = &f->sections[table->sh_link];
	if (!within(f, text->sh_offset, text->sh_size) || text->sh_size == 0 || f->p[text->sh_offset + text->sh_size - 1] != 0)
		return;
	sym = (const void *)(f->p + table->sh_offset);
	for (size_t i = 0; i < n; i++) {
		struct probe_image_symbol s = { .value = sym[i].st_value, .size = sym[i].st_size };

		if (sym[i].st_shndx == SHN_UNDEF || sym[i].st_value == 0 || sym[i].st_name >= text->sh_size)
			continue;
		s.offset = offset_of(f, sym[i].st_value);
		if (s.offset == UINT64_MAX && ELF64_ST_TYPE(sym[i].st_info) == STT_FUNC)
			continue;
		s.name = (const char *)f->p + text->sh_offset + sym[i].st_name;
		s.is_function = ELF64_ST_TYPE(sym[i].st_info) == STT_FUNC;
		if (s.offset < f->n) {
			s.code = f->p + s.offset;
			s.ncode = f->n - s.offset;
		}
		fn(ctx, &s);
	}
}

int probe_image_symbols(const char *path, bool full, probe_image_fn *fn, void *ctx, char *build_id, struct err *e)
{
	struct image f = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	void *map = MAP_FAILED;

	if (build_id)
		build_id[0] = 0;
	if (fd < 0 || fstat(fd, &st)) {
		rc = err_sys(e, "cannot open %s", path);
		goto out;
	}
	f.n = (size_t)st.st_size;
	map = f.n >= sizeof(*f.head) ? mmap(NULL, f.n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	f.p = map;
	f.head = map;
	if (map == MAP_FAILED || memcmp(f.head->e_ident, ELFMAG, SELFMAG) != 0 || f.head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    f.head->e_phentsize != sizeof(Elf64_Phdr) || f.head->e_phoff % 8 ||
	    !within(&f, f.head->e_phoff, f.head->e_phnum * sizeof(Elf64_Phdr))) {
		rc = err_set(e, ERR_DAMAGED, "%s is not a 64-bit ELF file", path);
		goto out;
	}
	f.segments = (const void *)(f.p + f.head->e_phoff);
	if (build_id)
		find_build_id(&f, build_id);
	if (!fn || f.head->e_shnum == 0 || f.head->e_shentsize != sizeof(Elf64_Shdr) || f.head->e_shoff % 8 ||
	    !within(&f, f.head->e_shoff, f.head->e_shnum * sizeof(Elf64_Shdr)))
		goto out;
	f.sections = (const void *)(f.p + f.head->e_shoff);
	for (unsigned i = 0; i < f.head->e_shnum; i++)
		if (f.sections[i].sh_type == (full ? SHT_SYMTAB : SHT_DYNSYM))
			each_symbol(&f, &f.sections[i], fn, ctx);
out:
	if (map != MAP_FAILED)
		munmap(map, f.n);
	if (fd >= 0)
		close(fd);
	return rc;
}
