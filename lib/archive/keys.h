/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, one or two per event, that grow with the recording: they lie in a file without a name,
 * which the kernel writes out when memory is short. And their sorting, in time that is proportional
 * to how many there are.
 */
#ifndef INGERO_ARCHIVE_KEYS_H
#define INGERO_ARCHIVE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Zero-initialised but for `each`, the size of an element, is empty. */
struct keys {
	void *v;
	size_t n, cap, each;
	int fd; /* + 1; 0: none */
};

/* Room for one more at v + n * each. ERR_CANNOT: the disk is full. */
int keys_grow(struct keys *k, size_t n, struct err *e);
void keys_free(struct keys *k);

static inline int keys_add_u32(struct keys *k, uint32_t x, struct err *e)
{
	int rc = k->n < k->cap ? 0 : keys_grow(k, 1, e);

	if (!rc)
		((uint32_t *)k->v)[k->n++] = x;
	return rc;
}

static inline int keys_add_i64(struct keys *k, int64_t x, struct err *e)
{
	int rc = k->n < k->cap ? 0 : keys_grow(k, 1, e);

	if (!rc)
		((int64_t *)k->v)[k->n++] = x;
	return rc;
}

/* order: the positions in [first, times->n) in the order of times, equal ones as they stand. */
struct timed {
	int64_t time;
	uint64_t row; /* 1 + position - first */
};
int keys_by_time(const struct keys *times, size_t first, struct keys *order, struct err *e);

/* The same for small numbers: order (uint32_t, 1 + position - first) by rank[ids[position]]; ids
 * whose rank is 0 are left out. Ranks run from 1 to ranks. */
int keys_by_rank(const struct keys *ids, size_t first, const uint32_t *rank, uint32_t ranks,
		 struct keys *order, struct err *e);

#endif
