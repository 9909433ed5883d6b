/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortens names to their beginning and end. Where two come out alike, a piece around the first
 * place at which they differ is shown between; that is repeated for those that are alike still, and
 * the last resort is the whole name.
 */
#include "lib/base/shorten.h"

#include <stdlib.h>
#include <string.h>

#define DOTS   "..."
#define BEFORE 12 /* bytes shown before a difference */
#define ROUNDS 16

/* Not into a character: back to where one begins. */
static size_t character_start(struct bytes s, size_t at)
{
	while (at > 0 && at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
		at--;
	return at < s.n ? at : s.n;
}

static void put_slice(struct buf *out, struct bytes s, size_t from, size_t to)
{
	from = character_start(s, from);
	to = character_start(s, to);
	if (to > from)
		buf_add(out, s.p + from, to - from);
}

/* Two thirds beginning and a third end; with a piece of the middle a third each. */
static void put_shortened(struct buf *out, struct bytes s, size_t at, size_t max)
{
	size_t dots = sizeof(DOTS) - 1, part = (max - 2 * dots) / 3, tail = (max - dots) / 3;
	size_t from = at > BEFORE ? at - BEFORE : 0;

	if (s.n <= max) {
		buf_add(out, s.p, s.n);
		return;
	}
	if (!at) {
		put_slice(out, s, 0, max - dots - tail);
		buf_puts(out, DOTS);
		put_slice(out, s, s.n - tail, s.n);
		return;
	}
	if (from < part)
		from = part;
	if (from + part > s.n - part)
		from = s.n - 2 * part;
	put_slice(out, s, 0, part);
	if (from > part)
		buf_puts(out, DOTS);
	put_slice(out, s, from, from + part);
	if (from + part < s.n - part)
		buf_puts(out, DOTS);
	put_slice(out, s, s.n - part, s.n);
}

void shorten_one(struct buf *out, struct bytes full, size_t max)
{
	put_shortened(out, full, 0, max < 64 ? 64 : max);
}

static int compare_bytes(struct bytes a, struct bytes b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int way = n ? memcmp(a.p, b.p, n) : 0;

	return way ? way : (a.n > b.n) - (a.n < b.n);
}

static int compare_by_text(const void *pa, const void *pb)
{
	const struct shorten *const *a = pa, *const *b = pb;
	int way = compare_bytes(buf_bytes(&(*a)->text), buf_bytes(&(*b)->text));

	return way ? way : compare_bytes((*a)->full, (*b)->full);
}

/* The first place at which two of v[0..n), in the order of their names, differ; 0: they are one
 * name. */
static size_t find_difference(struct shorten *const *v, size_t n)
{
	struct bytes a = v[0]->full, b = v[n - 1]->full;
	size_t at = 0;

	if (compare_bytes(a, b) == 0)
		return 0;
	while (at < a.n && at < b.n && a.p[at] == b.p[at])
		at++;
	return at ? at : 1;
}

static void shorten_at(struct shorten *s, size_t at, size_t max)
{
	s->at = at;
	buf_reset(&s->text);
	put_shortened(&s->text, s->full, at, max);
}

/* Shows more of those that read the same. False: there are none. */
static bool separate_alike(struct shorten **v, size_t n, size_t max)
{
	bool any = false;

	qsort(v, n, sizeof(*v), compare_by_text);
	for (size_t i = 0, to; i < n; i = to) {
		size_t at;

		for (to = i + 1;
		     to < n && compare_bytes(buf_bytes(&v[i]->text), buf_bytes(&v[to]->text)) == 0;)
			to++;
		at = to > i + 1 ? find_difference(v + i, to - i) : 0;
		for (size_t k = i; at && k < to; k++)
			shorten_at(v[k], at, max ? max : v[k]->full.n);
		any |= at > 0;
	}
	return any;
}

void shorten_all(struct shorten *v, size_t n, size_t max)
{
	struct shorten **order = calloc(n + 1, sizeof(*order));
	unsigned round = 0;

	max = max < 64 ? 64 : max;
	for (size_t i = 0; i < n; i++) {
		shorten_at(&v[i], 0, max);
		v[i].text.failed |= !order;
		if (order)
			order[i] = &v[i];
	}
	/* A later difference of some may undo an earlier one. */
	while (order && round < ROUNDS && separate_alike(order, n, max))
		round++;
	while (order && round == ROUNDS && separate_alike(order, n, 0))
		;
	free(order);
}
