/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes to 64 bits, eight at a time: each word is mixed into the state by a full-width multiply
 * whose halves are folded, so that short keys differing in one bit land far apart.
 */
#include "lib/base/hash.h"

#include <string.h>

static uint64_t fold_product(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ fold_product(n ^ 0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u);
	uint64_t word;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = fold_product(h ^ word, 0x9e3779b97f4a7c15u) + word;
	}
	if (n) {
		word = 0;
		memcpy(&word, p, n);
		h = fold_product(h ^ word, 0x94d049bb133111ebu) + word;
	}
	return hash_u64(h);
}
