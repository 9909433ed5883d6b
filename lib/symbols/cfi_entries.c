/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the entries of an .eh_frame section in one pass: an FDE names its CIE by the distance back
 * to it, so CIEs are known when they are asked for. Nothing is taken on trust: a length has to lie
 * in the section, a text in its entry.
 */
#include "lib/symbols/cfi_entries.h"

#include <string.h>

#include "lib/symbols/dwarf_bytes.h"

struct entry {
	uint32_t at; /* of its length */
	uint32_t id_at, end;
	uint32_t id; /* 0: a CIE, else the distance back to it */
};

enum next { NEXT_ENTRY, NEXT_NOTHING, NEXT_END };

static uint32_t place_of(const struct cfi_section *s, const struct dwarf_bytes *b)
{
	return (uint32_t)(b->p - s->p);
}

/* The entry at *at, which moves behind it. */
static enum next next_entry(const struct cfi_section *s, uint32_t *at, struct entry *out)
{
	struct dwarf_bytes b = { s->p + *at, s->n - *at };
	uint64_t length = dwarf_read_uint(&b, 4);

	if (b.failed || (length == 0 && s->ends))
		return NEXT_END;
	out->at = *at;
	if (length == 0) {
		*at += 4;
		return NEXT_NOTHING;
	}
	if (length == 0xffffffff)
		length = dwarf_read_uint(&b, 8);
	if (b.failed || length < 4 || length > b.n)
		return NEXT_END;
	out->id_at = place_of(s, &b);
	out->end = *at = out->id_at + (uint32_t)length;
	out->id = (uint32_t)dwarf_read_uint(&b, 4);
	return NEXT_ENTRY;
}

/* Letters behind the 'z', each with its data. False: one is not known, so where the next one's data
 * stand is not either. */
static bool read_augmentation(struct cfi_cie *cie, const char *letters, struct dwarf_bytes *b)
{
	for (; *letters; letters++) {
		if (*letters == 'R')
			cie->encoding = dwarf_read_byte(b);
		else if (*letters == 'L')
			dwarf_read_byte(b);
		else if (*letters == 'P')
			dwarf_read_pointer(b, dwarf_read_byte(b), 0);
		else if (*letters == 'S')
			cie->is_signal = true;
		else if (*letters != 'B') /* arm64: signed with the other key */
			return false;
	}
	return true;
}

static bool read_cie(const struct cfi_section *s, const struct entry *entry, struct cfi_cie *cie)
{
	struct dwarf_bytes b = { s->p + entry->id_at + 4, entry->end - entry->id_at - 4 };
	unsigned version = dwarf_read_byte(&b);
	const char *letters = (const char *)b.p;
	uint64_t length;

	if (b.n == 0 || !memchr(letters, 0, b.n))
		return false;
	dwarf_skip_bytes(&b, strlen(letters) + 1);
	if (version == 4)
		dwarf_skip_bytes(&b, 2); /* sizes of an address and of a segment's name */
	else if (version != 1 && version != 3)
		return false;
	cie->code_align = dwarf_read_uleb(&b);
	cie->data_align = dwarf_read_sleb(&b);
	cie->return_column = (uint32_t)(version == 1 ? dwarf_read_byte(&b) : dwarf_read_uleb(&b));
	if (*letters == 'z') {
		struct dwarf_bytes data;

		cie->augmented = true;
		length = dwarf_read_uleb(&b);
		data = b;
		dwarf_skip_bytes(&b, length);
		if (b.failed)
			return false;
		data.n -= b.n;
		if (!read_augmentation(cie, letters + 1, &data) || data.failed)
			return false;
	} else if (*letters) {
		return false;
	}
	cie->program = place_of(s, &b);
	return !b.failed;
}

static int add_cie(struct cfi_entries *c, const struct cfi_section *s, const struct entry *entry,
		   struct err *e)
{
	struct cfi_cie cie = { .at = entry->at, .program = entry->end, .end = entry->end };

	if (c->cies.n >= CFI_CIES_MAX)
		return err_set(e, ERR_LIMIT, "more than %u CIEs", CFI_CIES_MAX);
	cie.is_broken = !read_cie(s, entry, &cie);
	return vec_push(&c->cies, cie) ? 0 : err_nomem(e);
}

/* Index of the CIE there; the number of them: there is none. Mostly it is the last one. */
static size_t find_cie(const struct cfi_entries *c, uint32_t at)
{
	size_t lo = 0, hi = c->cies.n;

	if (hi && c->cies.v[hi - 1].at == at)
		return hi - 1;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (c->cies.v[mid].at == at)
			return mid;
		if (c->cies.v[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return c->cies.n;
}

static bool read_fde(const struct cfi_section *s, const struct entry *entry,
		     const struct cfi_cie *cie, struct cfi_fde *fde)
{
	struct dwarf_bytes b = { s->p + entry->id_at + 4, entry->end - entry->id_at - 4 };
	uint64_t length;

	fde->address = dwarf_read_pointer(&b, cie->encoding, s->address + place_of(s, &b));
	length = dwarf_read_pointer(&b, cie->encoding & 0x0f, 0);
	if (cie->augmented)
		dwarf_skip_bytes(&b, dwarf_read_uleb(&b));
	if (b.failed || length == 0 || length > UINT32_MAX || fde->address + length < fde->address)
		return false;
	fde->length = (uint32_t)length;
	fde->program = place_of(s, &b);
	fde->end = entry->end;
	return true;
}

static int add_fde(struct cfi_entries *c, const struct cfi_section *s, const struct entry *entry,
		   struct err *e)
{
	size_t cie = find_cie(c, entry->id_at - entry->id);
	struct cfi_fde fde = { .cie = (uint32_t)cie };

	if (cie >= c->cies.n || c->cies.v[cie].is_broken ||
	    !read_fde(s, entry, &c->cies.v[cie], &fde))
		return 0;
	if (c->fdes.n >= CFI_FDES_MAX)
		return err_set(e, ERR_LIMIT, "more than %u FDEs", CFI_FDES_MAX);
	return vec_push(&c->fdes, fde) ? 0 : err_nomem(e);
}

int cfi_entries_read(struct cfi_entries *out, const struct cfi_section *s, struct err *e)
{
	struct entry entry;
	uint32_t at = 0;
	enum next next;
	int rc = 0;

	while (rc == 0 && (next = next_entry(s, &at, &entry)) != NEXT_END) {
		if (next == NEXT_NOTHING)
			continue;
		rc = entry.id == 0 ? add_cie(out, s, &entry, e) : add_fde(out, s, &entry, e);
	}
	return rc;
}

void cfi_entries_free(struct cfi_entries *c)
{
	vec_free(&c->cies);
	vec_free(&c->fdes);
}
