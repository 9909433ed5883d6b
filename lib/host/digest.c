/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 after FIPS 180-4, for short inputs: not optimized. The constants are the first 32 bits of
 * the fractions of roots of the first primes, and are computed from the primes.
 */
#include "lib/host/digest.h"

#include <string.h>

/* The largest x with x^power <= v, for v < 2^125. */
static unsigned __int128 root_below(unsigned __int128 v, unsigned power)
{
	unsigned __int128 x = 0;

	for (int bit = power == 2 ? 62 : 41; bit >= 0; bit--) {
		unsigned __int128 try = x | (unsigned __int128)1 << bit, product = try * try;

		if (power == 3)
			product *= try;
		if (product <= v)
			x = try;
	}
	return x;
}

/* First 32 bits of the fraction of the square or cube root of p: the root of p * 2^64 or p * 2^96,
 * less its whole part. */
static uint32_t root_fraction(unsigned p, unsigned power)
{
	return (uint32_t)root_below((unsigned __int128)p << (32 * power), power);
}

static void compute_constants(uint32_t state[8], uint32_t round[64])
{
	unsigned n = 0;

	for (unsigned p = 2; n < 64; p++) {
		unsigned divisor = 2;

		while (p % divisor)
			divisor++;
		if (divisor < p)
			continue;
		if (n < 8)
			state[n] = root_fraction(p, 2);
		round[n++] = root_fraction(p, 3);
	}
}

static uint32_t rotate_right(uint32_t x, unsigned by)
{
	return x >> by | x << (32 - by);
}

static void hash_block(uint32_t state[8], const uint32_t round[64], const uint8_t *p)
{
	uint32_t w[64], s[8];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
		       (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
	}
	memcpy(s, state, sizeof(s));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]),
			 most = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		uint32_t t =
			s[7] +
			(rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25)) +
			choose + round[i] + w[i];
		uint32_t u =
			(rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22)) +
			most;

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t;
		s[0] = t + u;
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += s[i];
}

void host_digest(const void *p, size_t n, uint8_t out[HOST_DIGEST])
{
	uint32_t state[8], round[64];
	uint8_t last[128] = { 0 };
	const uint8_t *at = p;
	size_t left = n, tail;

	compute_constants(state, round);
	for (; left >= 64; left -= 64, at += 64)
		hash_block(state, round, at);
	if (left)
		memcpy(last, at, left);
	last[left] = 0x80;
	tail = left < 56 ? 64 : 128;
	for (unsigned i = 0; i < 8; i++)
		last[tail - 1 - i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
	for (size_t i = 0; i < tail; i += 64)
		hash_block(state, round, last + i);
	for (unsigned i = 0; i < HOST_DIGEST; i++)
		out[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}
