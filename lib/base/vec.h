/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing array of any type: `VEC(struct op_row) rows = { 0 };` then vec_push(&rows, row), and
 * rows.v[i] for i < rows.n. Zero-initialised is empty. vec_push, vec_reserve and vec_reach are
 * false when memory is exhausted, and the array is then as it was.
 */
#ifndef INGERO_BASE_VEC_H
#define INGERO_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VEC(T)                 \
	struct {               \
		T *v;          \
		size_t n, cap; \
	}

/* Room for n more elements. */
#define vec_reserve(vec, more)                      \
	((vec)->cap - (vec)->n >= (size_t)(more) || \
	 vec_grow_((void **)&(vec)->v, &(vec)->cap, (vec)->n, (more), sizeof(*(vec)->v)))

#define vec_push(vec, ...) (vec_reserve((vec), 1) && ((vec)->v[(vec)->n++] = (__VA_ARGS__), true))

/* Element i is there, new ones before it zero. */
#define vec_reach(vec, i)                                                                    \
	((i) < (vec)->n ||                                                                   \
	 (vec_reserve((vec), (size_t)(i) + 1 - (vec)->n) &&                                  \
	  (memset((vec)->v + (vec)->n, 0, ((size_t)(i) + 1 - (vec)->n) * sizeof(*(vec)->v)), \
	   (vec)->n = (size_t)(i) + 1, true)))

/* The position of a free place in vec: one of those that the VEC(uint32_t) unused lists, which it
 * leaves, or a new one at the end. UINT32_MAX: out of memory. */
#define vec_place(vec, unused)                              \
	((unused)->n	       ? (unused)->v[--(unused)->n] \
	 : vec_reserve(vec, 1) ? (uint32_t)(vec)->n++       \
			       : UINT32_MAX)

/* Gives back the room behind the last element. */
#define vec_fit(vec) vec_fit_((void **)&(vec)->v, &(vec)->cap, (vec)->n, sizeof(*(vec)->v))

#define vec_free(vec)                      \
	do {                               \
		free((vec)->v);            \
		(vec)->v = NULL;           \
		(vec)->n = (vec)->cap = 0; \
	} while (0)

bool vec_grow_(void **v, size_t *cap, size_t n, size_t more, size_t each);
void vec_fit_(void **v, size_t *cap, size_t n, size_t each);

#endif
