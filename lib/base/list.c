/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays whose memory comes from an arena. A list has no capacity of its own: it moves
 * whenever its length is a power of two, from LEAST on, so the room that it has follows from its
 * length.
 */
#include "lib/base/list.h"

#include <stdint.h>
#include <string.h>

#define LEAST 4

static void *list_room(size_t n, size_t each, struct arena *a)
{
	return each && n > SIZE_MAX / each ? NULL : arena_alloc(a, n * each);
}

bool list_begin_(void **v, size_t *n, size_t room, size_t each, struct arena *a)
{
	*v = list_room(room < LEAST ? LEAST : room, each, a);
	*n = 0;
	return *v != NULL;
}

void *list_add_(void **v, size_t *n, size_t each, struct arena *a)
{
	bool full = *n >= LEAST && (*n & (*n - 1)) == 0;
	char *at;

	if (!*v || full) {
		void *wider = list_room(*n < LEAST ? LEAST : 2 * *n, each, a);

		if (!wider)
			return NULL;
		if (*n)
			memcpy(wider, *v, *n * each);
		*v = wider;
	}
	at = (char *)*v + *n * each;
	memset(at, 0, each);
	++*n;
	return at;
}
