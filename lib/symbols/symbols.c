/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the symbol of an address in a table sorted by address; of several names the plainest wins.
 * Assembly nests functions and leaves sizes out, so the nearest function before a place is not
 * always the one around it.
 */
#include "lib/symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/bisect.h"
#include "lib/base/vec.h"
#include "lib/base/demangle.h"
#include "lib/symbols/line_table.h"

#define FUNCTIONS_MAX (8u << 20)
#define NEAREST_MAX   65536 /* bytes behind a function where its name is still a hint */
#define BACK_MAX      16    /* functions looked back over for one that encloses */
#define ALIASES_MAX   16

struct function {
	uint64_t offset;
	uint32_t size;
	uint32_t name; /* behind names_place */
};

struct sym_symbols {
	struct sym_elf *file;
	VEC(struct function) v;
	uint64_t names_place;
	bool nomem;
	bool asked_lines;
	struct line_table *lines; /* NULL: not read yet, or no memory for them */
};

static bool on_symbol(void *ctx, const struct sym_elf_symbol *s)
{
	struct sym_symbols *t = ctx;
	struct function f = { .offset = s->offset,
			      .size = s->size < UINT32_MAX ? (uint32_t)s->size : UINT32_MAX,
			      .name = s->name_at };

	t->names_place = s->names_place;
	if (t->v.n >= FUNCTIONS_MAX || !vec_push(&t->v, f)) {
		t->nomem = t->v.n < FUNCTIONS_MAX;
		return false;
	}
	return true;
}

static int compare_by_offset(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->size > b->size) - (a->size < b->size);
}

#define DIGIT_BITS  11
#define DIGITS	    (1u << DIGIT_BITS)
#define RADIX_LEAST 4096 /* below it qsort is as quick */

/* Stable, by one digit of the offset. */
static void sort_by_digit(const struct function *from, struct function *to, size_t n,
			  unsigned shift)
{
	size_t at[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i].offset >> shift & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		size_t these = at[d];

		at[d] = sum;
		sum += these;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].offset >> shift & (DIGITS - 1)]++] = from[i];
}

/* A library of a million functions in a tenth of the time that comparing them takes. */
static void sort_functions(struct sym_symbols *t)
{
	size_t n = t->v.n, begin = 0;
	struct function *a = t->v.v, *b = NULL, *swap;
	uint64_t most = 0;

	if (n >= RADIX_LEAST)
		b = malloc(n * sizeof(*b));
	if (!b) {
		if (n > 1)
			qsort(a, n, sizeof(*a), compare_by_offset);
		return;
	}
	for (size_t i = 0; i < n; i++)
		most |= a[i].offset;
	for (unsigned shift = 0; shift < 64 && most >> shift; shift += DIGIT_BITS) {
		sort_by_digit(a, b, n, shift);
		swap = a;
		a = b;
		b = swap;
	}
	if (a != t->v.v) {
		memcpy(t->v.v, a, n * sizeof(*a));
		swap = a;
		a = b;
		b = swap;
	}
	free(b);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && a[i].offset == a[begin].offset)
			continue;
		if (i - begin > 1)
			qsort(a + begin, i - begin, sizeof(*a), compare_by_offset);
		begin = i;
	}
}

int sym_symbols_new(struct sym_symbols **out, struct sym_elf *f, struct err *e)
{
	struct sym_symbols *t = calloc(1, sizeof(*t));
	int rc = 0;

	*out = NULL;
	if (!t) {
		sym_elf_free(f);
		return err_nomem(e);
	}
	t->file = f;
	rc = sym_elf_symbols(f, SYM_FULL | SYM_FUNCTIONS, on_symbol, t, e);
	if (rc == 0 && t->v.n == 0)
		rc = sym_elf_symbols(f, SYM_FUNCTIONS, on_symbol, t, e);
	if (rc == 0 && t->nomem)
		rc = err_nomem(e);
	if (rc) {
		sym_symbols_free(t);
		return rc;
	}
	sort_functions(t);
	*out = t;
	return 0;
}

int sym_symbols_open(struct sym_symbols **out, const char *path, struct err *e)
{
	struct sym_elf *f;
	int rc = sym_elf_open(&f, path, e);

	*out = NULL;
	return rc ? rc : sym_symbols_new(out, f, e);
}

void sym_symbols_free(struct sym_symbols *t)
{
	if (!t)
		return;
	line_table_free(t->lines);
	sym_elf_free(t->file);
	vec_free(&t->v);
	free(t);
}

const struct sym_elf *sym_symbols_file(const struct sym_symbols *t)
{
	return t->file;
}

size_t sym_symbols_count(const struct sym_symbols *t)
{
	return t->v.n;
}

/* Prefers fewer leading underscores, then the shorter name, then the alphabet: "malloc", not
 * "__libc_malloc". */
static bool is_plainer(const char *a, const char *b)
{
	size_t ua = strspn(a, "_"), ub = strspn(b, "_");

	if (ua != ub)
		return ua < ub;
	if (strlen(a) != strlen(b))
		return strlen(a) < strlen(b);
	return strcmp(a, b) < 0;
}

/* The plainest name of what stands at v[i]. */
static bool name_of(const struct sym_symbols *t, size_t i, struct buf *name)
{
	char room[2][SYM_NAME_MAX], *best = room[0], *other = room[1], *swap;
	uint64_t place = t->v.v[i].offset;

	best[0] = 0;
	for (unsigned k = 0; k < ALIASES_MAX && t->v.v[i].offset == place; k++) {
		sym_elf_text(t->file, t->names_place + t->v.v[i].name, other, SYM_NAME_MAX);
		if (other[0] && (!best[0] || is_plainer(other, best))) {
			swap = best;
			best = other;
			other = swap;
		}
		if (i-- == 0)
			break;
	}
	if (best[0])
		demangle_name(name, best);
	return best[0] != 0;
}

enum sym_match sym_symbols_find(const struct sym_symbols *t, uint64_t offset, struct buf *name,
				uint64_t *delta)
{
	size_t lo = 0, hi = t->v.n, nearest;

	bisect(i, lo, hi, t->v.v[i].offset <= offset);
	if (lo == 0)
		return SYM_NONE;
	nearest = lo - 1;
	for (size_t i = nearest, k = 0; k < BACK_MAX; k++, i--) {
		const struct function *f = &t->v.v[i];

		if (offset - f->offset < f->size && name_of(t, i, name)) {
			*delta = offset - f->offset;
			return SYM_INSIDE;
		}
		if (i == 0)
			break;
	}
	if (offset - t->v.v[nearest].offset >= NEAREST_MAX || !name_of(t, nearest, name))
		return SYM_NONE;
	*delta = offset - t->v.v[nearest].offset;
	/* Without a size a function reaches to the next one. */
	return t->v.v[nearest].size == 0 ? SYM_INSIDE : SYM_NEAREST;
}

bool sym_symbols_line(struct sym_symbols *t, uint64_t offset, struct buf *file, uint32_t *line)
{
	struct err ignored = { 0 };
	uint64_t address;

	if (!t->asked_lines && line_table_new(&t->lines, t->file, &ignored))
		t->lines = NULL;
	t->asked_lines = true;
	return t->lines && sym_elf_address(t->file, offset, &address) &&
	       line_table_find(t->lines, address, file, line);
}
