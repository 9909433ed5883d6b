/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds calls of __cudaRegisterFunction(handle, host function, name, name, -1, ...) in a file's
 * code by the shape of their arguments: lea host(%rip), %rsi; lea name(%rip), %rdx; mov $-1, %r8d;
 * call. That needs no symbol and no decoding; what merely looks like it (an address that is no
 * code, a name that is no identifier) is passed over.
 */
#include "lib/symbols/registered.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bisect.h"
#include "lib/base/demangle.h"
#include "lib/base/vec.h"

#define CHUNK	    (1u << 20) /* bytes of code at a time */
#define AROUND	    96	       /* bytes in which the arguments of a call are set */
#define LEA	    7	       /* bytes of lea rel32(%rip), %reg; and of a call: */
#define CALL	    5
#define KERNELS_MAX (1u << 20)
#define CODE_MAX    (256ull << 20) /* bytes of code looked at */

struct kernel {
	uint64_t host, name; /* places in the file */
};

struct sym_registered {
	const struct sym_elf *file;
	VEC(struct kernel) v; /* ascending by host */
	bool nomem;
};

/* A piece of code and where it comes from. */
struct piece {
	const uint8_t *p;
	size_t n;
	uint64_t address;
};

static bool in_code(const struct sym_elf *f, uint64_t address)
{
	struct sym_elf_part s;

	for (unsigned i = 0; sym_elf_segment(f, i, &s); i++)
		if (s.type == PT_LOAD && address >= s.address && address - s.address < s.size)
			return s.flags & PF_X;
	return false;
}

/* The address that the last lea of this form between from and to loads; 0: none, or it is loaded
 * from a table (of an exported function, which has a symbol). */
static uint64_t loaded_address(const struct piece *c, size_t from, size_t to, uint8_t reg)
{
	int32_t distance;

	for (size_t i = to; i >= from + LEA; i--) {
		const uint8_t *p = c->p + i - LEA;

		if (p[0] != 0x48 || p[2] != reg || (p[1] != 0x8d && p[1] != 0x8b))
			continue;
		if (p[1] == 0x8b)
			return 0;
		memcpy(&distance, p + 3, sizeof(distance));
		return c->address + i + (uint64_t)(int64_t)distance;
	}
	return 0;
}

static bool is_identifier(const char *s)
{
	if (!*s || (*s >= '0' && *s <= '9'))
		return false;
	for (; *s; s++)
		if (!(*s == '_' || *s == '$' || *s == '.' || (*s >= '0' && *s <= '9') ||
		      ((*s | 32) >= 'a' && (*s | 32) <= 'z')))
			return false;
	return true;
}

/* Adds a kernel if the arguments set between from and the call at to register one. */
static bool add_registration(struct sym_registered *t, const struct piece *c, size_t from,
			     size_t to)
{
	uint64_t host = loaded_address(c, from, to, 0x35), name = loaded_address(c, from, to, 0x15);
	char text[SYM_NAME_MAX];
	struct kernel k;

	if (!name)
		name = loaded_address(c, from, to, 0x0d); /* %rcx, copied to %rdx */
	if (!host || !name || !in_code(t->file, host) || in_code(t->file, name) ||
	    !sym_elf_place(t->file, host, &k.host) || !sym_elf_place(t->file, name, &k.name) ||
	    !is_identifier(sym_elf_text(t->file, k.name, text, sizeof(text))))
		return false;
	if (t->v.n < KERNELS_MAX && !vec_push(&t->v, k))
		t->nomem = true;
	return true;
}

/* Finds calls with -1 for the fifth argument. */
static void scan_piece(struct sym_registered *t, const struct piece *c)
{
	static const uint8_t no_limit[] = { 0x41, 0xb8, 0xff, 0xff, 0xff, 0xff };
	const uint8_t *at = c->p, *end = c->p + c->n;
	size_t after = 0; /* the last call that was taken */

	while ((at = memmem(at, (size_t)(end - at), no_limit, sizeof(no_limit)))) {
		size_t i = (size_t)(at - c->p), from = i > AROUND ? i - AROUND : 0;

		from = from > after ? from : after;
		at += sizeof(no_limit);
		for (size_t k = i + sizeof(no_limit); k < i + AROUND && k + CALL <= c->n; k++) {
			if (c->p[k] == 0xe8 && add_registration(t, c, from, k)) {
				after = k + CALL;
				break;
			}
		}
	}
}

static void scan_segment(struct sym_registered *t, const struct sym_elf_part *s, uint8_t *room)
{
	uint64_t size = s->size < CODE_MAX ? s->size : CODE_MAX;

	/* Pieces overlap by what a call reaches over, so that each is whole in one: it may be taken
	 * twice. */
	for (uint64_t at = 0; at < size && !t->nomem; at += CHUNK) {
		size_t want = CHUNK + 2 * AROUND, n;
		struct piece c = { .p = room, .address = s->address + at };

		if (want > size - at)
			want = size - at;
		n = sym_elf_bytes(t->file, s->offset + at, room, want);
		c.n = n;
		scan_piece(t, &c);
		if (n < want)
			break;
	}
}

static int compare_by_host(const void *pa, const void *pb)
{
	const struct kernel *a = pa, *b = pb;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

int sym_registered_new(struct sym_registered **out, const struct sym_elf *f, struct err *e)
{
	struct sym_registered *t = calloc(1, sizeof(*t));
	uint8_t *room = malloc(CHUNK + 2 * AROUND);
	struct sym_elf_part s;
	int rc = 0;

	*out = t;
	if (!t || !room) {
		rc = err_nomem(e);
		goto out;
	}
	t->file = f;
	for (unsigned i = 0; sym_elf_machine(f) == EM_X86_64 && sym_elf_segment(f, i, &s); i++)
		if (s.type == PT_LOAD && s.flags & PF_X)
			scan_segment(t, &s, room);
	if (t->nomem)
		rc = err_nomem(e);
	else if (t->v.n > 1)
		qsort(t->v.v, t->v.n, sizeof(t->v.v[0]), compare_by_host);
out:
	free(room);
	if (rc) {
		sym_registered_free(t);
		*out = NULL;
	}
	return rc;
}

void sym_registered_free(struct sym_registered *t)
{
	if (!t)
		return;
	vec_free(&t->v);
	free(t);
}

size_t sym_registered_count(const struct sym_registered *t)
{
	return t->v.n;
}

bool sym_registered_find(const struct sym_registered *t, uint64_t offset, struct buf *name)
{
	size_t low = 0, high = t->v.n;
	char text[SYM_NAME_MAX];

	bisect(i, low, high, t->v.v[i].host < offset);
	if (low == t->v.n || t->v.v[low].host != offset)
		return false;
	for (size_t i = low + 1; i < t->v.n && t->v.v[i].host == offset; i++)
		if (t->v.v[i].name != t->v.v[low].name)
			return false;
	demangle_name(name, sym_elf_text(t->file, t->v.v[low].name, text, sizeof(text)));
	return true;
}
