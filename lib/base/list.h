/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array in an arena: `LIST(struct site) sites = { 0 };`, elements sites.v[i] for i < sites.n. It
 * lives as long as the arena, so nobody frees it. v NULL is a list that is not there, which is not
 * the same as an empty one.
 */
#ifndef INGERO_BASE_LIST_H
#define INGERO_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/arena.h"

#define LIST(T)           \
	struct {          \
		T *v;     \
		size_t n; \
	}

/* One more element, zeroed; NULL: out of memory. Addresses of earlier elements end here. */
#define list_add(list, arena)                                                                  \
	((__typeof__((list)->v))list_add_((void **)&(list)->v, &(list)->n, sizeof(*(list)->v), \
					  (arena)))

/* Makes it an empty list that is there, with room for n elements. */
#define list_begin(list, room, arena) \
	list_begin_((void **)&(list)->v, &(list)->n, (room), sizeof(*(list)->v), (arena))

void *list_add_(void **v, size_t *n, size_t each, struct arena *a);
bool list_begin_(void **v, size_t *n, size_t room, size_t each, struct arena *a);

#endif
