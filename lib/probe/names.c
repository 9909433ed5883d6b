/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted table. A symbol without a size reaches to the next one, and never further than 64 KB.
 */
#include "lib/probe/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/vec.h"
#include "lib/probe/image.h"

#define REACH_MAX 65536

struct name {
	uint64_t offset, size;
	const char *text;
};

struct probe_names {
	VEC(struct name) v;
	struct arena texts;
};

static void take(void *ctx, const struct probe_image_symbol *s)
{
	struct probe_names *names = ctx;
	struct name n = { .offset = s->offset, .size = s->size };

	if (!s->is_function)
		return;
	n.text = arena_copy(&names->texts, s->name, strlen(s->name));
	if (n.text)
		vec_push(&names->v, n);
}

/* By place; among aliases the larger first, then the plainer name (fewer leading underscores). */
static int order(const void *pa, const void *pb)
{
	const struct name *a = pa, *b = pb;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (strspn(a->text, "_") != strspn(b->text, "_"))
		return strspn(a->text, "_") < strspn(b->text, "_") ? -1 : 1;
	return strcmp(a->text, b->text);
}

struct probe_names *probe_names_read(int fd)
{
	struct probe_names *names = calloc(1, sizeof(*names));
	char path[32];

	if (!names)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	probe_image_symbols(path, true, take, names, NULL, NULL);
	if (names->v.n == 0)
		probe_image_symbols(path, false, take, names, NULL, NULL);
	if (names->v.n > 1)
		qsort(names->v.v, names->v.n, sizeof(names->v.v[0]), order);
	return names;
}

void probe_names_free(struct probe_names *names)
{
	if (!names)
		return;
	vec_free(&names->v);
	arena_free(&names->texts);
	free(names);
}

char *probe_names_find(const struct probe_names *names, uint64_t offset, uint64_t *delta)
{
	size_t lo = 0, hi = names ? names->v.n : 0;
	const struct name *n;
	uint64_t reach;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (names->v.v[mid].offset <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return NULL;
	n = &names->v.v[lo - 1];
	while (n > names->v.v && n[-1].offset == n->offset)
		n--;
	reach = n->size ? n->size : REACH_MAX;
	*delta = offset - n->offset;
	return *delta < reach ? strdup(n->text) : NULL;
}
