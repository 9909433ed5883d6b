/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small allocations that die together. Addresses are stable and 8-aligned. Zero-initialised
 * is empty. Memory is not cleared by arena_alloc.
 */
#ifndef INGERO_BASE_ARENA_H
#define INGERO_BASE_ARENA_H

#include <stddef.h>

struct arena_block_;

struct arena {
	struct arena_block_ *first;
	size_t total; /* bytes taken from the system, for limits and reports */
};

void *arena_alloc(struct arena *a, size_t n); /* NULL on OOM */

/* A copy of n bytes with a zero byte behind them. */
char *arena_copy(struct arena *a, const void *p, size_t n);

void arena_free(struct arena *a);

#endif
