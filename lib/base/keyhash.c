/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 as its authors describe it (Aumasson and Bernstein, "SipHash: a fast short-input
 * PRF"), checked against their test vectors in tests/unit/input_anonymize.c.
 */
#include "lib/base/keyhash.h"

#include <string.h>

struct state {
	uint64_t a, b, c, d;
};

static uint64_t rotate_left(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void sip_round(struct state *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = rotate_left(s->b, 13) ^ s->a;
	s->d = rotate_left(s->d, 16) ^ s->c;
	s->a = rotate_left(s->a, 32) + s->d;
	s->c += s->b;
	s->d = rotate_left(s->d, 21) ^ s->a;
	s->b = rotate_left(s->b, 17) ^ s->c;
	s->c = rotate_left(s->c, 32);
}

static uint64_t load_word(const unsigned char *p, size_t n)
{
	uint64_t w = 0;

	for (size_t i = 0; i < n; i++)
		w |= (uint64_t)p[i] << (8 * i);
	return w;
}

static void absorb_word(struct state *s, uint64_t w)
{
	s->d ^= w;
	sip_round(s);
	sip_round(s);
	s->a ^= w;
}

uint64_t keyhash_bytes(const struct keyhash *k, const void *p, size_t n)
{
	const unsigned char *at = p;
	/* "somepseudorandomlygeneratedbytes" */
	struct state s = { k->key[0] ^ 0x736f6d6570736575u, k->key[1] ^ 0x646f72616e646f6du,
			   k->key[0] ^ 0x6c7967656e657261u, k->key[1] ^ 0x7465646279746573u };
	size_t left = n;

	for (; left >= 8; at += 8, left -= 8)
		absorb_word(&s, load_word(at, 8));
	absorb_word(&s, (left ? load_word(at, left) : 0) | (uint64_t)(n & 0xff) << 56);
	s.c ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}

struct keyhash keyhash_from(const void *secret, size_t n)
{
	static const struct keyhash first = { { 1, 0 } }, second = { { 2, 0 } };

	return (struct keyhash){ { keyhash_bytes(&first, secret, n),
				   keyhash_bytes(&second, secret, n) } };
}
