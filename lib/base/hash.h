/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes for tables in memory. Not for files (the algorithm may change between versions) and not
 * against an adversary who chooses keys: tables fed from outside bytes must also bound their size.
 */
#ifndef INGERO_BASE_HASH_H
#define INGERO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

/* A bijection that spreads every input bit over the word. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

#endif
