/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DT_GNU_HASH: a header of four words, a Bloom filter of 64-bit words, buckets (first symbol of
 * each), and one hash per symbol, whose lowest bit ends a bucket. Every number is the file's word:
 * a chain is followed a bounded way.
 */
#include "lib/symbols/lookup.h"

#include <elf.h>
#include <string.h>

#define CHAIN_MAX   4096u
#define DYNAMIC_MAX 4096u /* entries */

struct tables {
	uint64_t hash, symbols, names; /* places in the file */
};

static bool find_tables(const struct sym_elf *f, struct tables *t)
{
	uint64_t at[3] = { 0 };
	struct sym_elf_part s;

	for (unsigned i = 0; sym_elf_segment(f, i, &s); i++) {
		if (s.type != PT_DYNAMIC)
			continue;
		for (uint64_t k = 0; k < DYNAMIC_MAX && k < s.size / sizeof(Elf64_Dyn); k++) {
			Elf64_Dyn d;

			if (sym_elf_bytes(f, s.offset + k * sizeof(d), &d, sizeof(d)) !=
				    sizeof(d) ||
			    d.d_tag == DT_NULL)
				break;
			if (d.d_tag == DT_GNU_HASH)
				at[0] = d.d_un.d_ptr;
			if (d.d_tag == DT_SYMTAB)
				at[1] = d.d_un.d_ptr;
			if (d.d_tag == DT_STRTAB)
				at[2] = d.d_un.d_ptr;
		}
	}
	return at[0] && at[1] && at[2] && sym_elf_place(f, at[0], &t->hash) &&
	       sym_elf_place(f, at[1], &t->symbols) && sym_elf_place(f, at[2], &t->names);
}

static bool read_u32(const struct sym_elf *f, uint64_t place, uint32_t *out)
{
	return sym_elf_bytes(f, place, out, sizeof(*out)) == sizeof(*out);
}

static bool is_named(const struct sym_elf *f, uint64_t place, const char *name)
{
	char text[128];

	return strlen(name) < sizeof(text) &&
	       strcmp(sym_elf_text(f, place, text, sizeof(text)), name) == 0;
}

/* Reads symbol number index, if it has that name. */
static bool read_symbol(const struct sym_elf *f, const struct tables *t, uint32_t index,
			const char *name, struct sym_elf_symbol *out)
{
	Elf64_Sym s;

	if (sym_elf_bytes(f, t->symbols + (uint64_t)index * sizeof(s), &s, sizeof(s)) !=
		    sizeof(s) ||
	    s.st_shndx == SHN_UNDEF || !is_named(f, t->names + s.st_name, name))
		return false;
	*out = (struct sym_elf_symbol){ .value = s.st_value,
					.size = s.st_size,
					.offset = UINT64_MAX,
					.is_function = ELF64_ST_TYPE(s.st_info) == STT_FUNC };
	sym_elf_place(f, s.st_value, &out->offset);
	return true;
}

bool sym_lookup(const struct sym_elf *f, const char *name, struct sym_elf_symbol *out)
{
	uint32_t head[4], index, hash = 5381, other;
	uint64_t bits, buckets, chain;
	struct tables t;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		hash = hash * 33 + *p;
	/* Buckets, first symbol in them, words of the filter, shift of its second hash. */
	if (!find_tables(f, &t) || sym_elf_bytes(f, t.hash, head, sizeof(head)) != sizeof(head) ||
	    head[0] == 0 || head[2] == 0 || head[3] > 31)
		return false;
	if (sym_elf_bytes(f, t.hash + 16 + (uint64_t)(hash / 64 % head[2]) * 8, &bits, 8) != 8 ||
	    !(bits >> hash % 64 & 1) || !(bits >> (hash >> head[3]) % 64 & 1))
		return false;
	buckets = t.hash + 16 + (uint64_t)head[2] * 8;
	chain = buckets + (uint64_t)head[0] * 4;
	if (!read_u32(f, buckets + (uint64_t)(hash % head[0]) * 4, &index) || index < head[1])
		return false;
	for (unsigned i = 0; i < CHAIN_MAX; i++, index++) {
		if (!read_u32(f, chain + (uint64_t)(index - head[1]) * 4, &other))
			return false;
		if ((other | 1) == (hash | 1) && read_symbol(f, &t, index, name, out))
			return true;
		if (other & 1)
			return false;
	}
	return false;
}

bool sym_lookup_section(const struct sym_elf *f, const char *name, struct sym_elf_part *out)
{
	for (unsigned i = 0; sym_elf_section(f, i, out); i++)
		if (out->name && is_named(f, out->name, name))
			return true;
	return false;
}
