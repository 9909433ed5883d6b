/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table from any u64 to a u64: ids, handles, hashes, packed pairs. Zero-initialised is empty.
 * Open addressing with one probe sequence; deleting leaves no tombstones, so that a table that
 * lives as long as a recording does not slow down. Iteration order is unspecified.
 */
#ifndef INGERO_BASE_MAP_H
#define INGERO_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot_ {
	uint64_t key, value;
};

struct map {
	struct map_slot_ *slots;
	uint8_t *used;
	size_t cap; /* a power of two, or 0 */
	size_t n;
};

bool map_get(const struct map *m, uint64_t key, uint64_t *value); /* value may be NULL */
bool map_put(struct map *m, uint64_t key, uint64_t value); /* false: out of memory, m unchanged */
bool map_del(struct map *m, uint64_t key);		   /* false: was not there */

/* The next entry at or after *at (start with 0); false at the end. m must not change meanwhile. */
bool map_each(const struct map *m, size_t *at, uint64_t *key, uint64_t *value);

/* Removes what keep does not want; that may be asked of one entry twice. */
typedef bool map_keep_fn(void *ctx, uint64_t key, uint64_t value);
void map_prune(struct map *m, map_keep_fn *keep, void *ctx);

void map_clear(struct map *m); /* empty, memory kept */
void map_free(struct map *m);

#endif
