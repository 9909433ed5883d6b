/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes CRC-32 by carry-less multiplication, 16 bytes at a time. A CRC is a remainder: 16 bytes
 * may be replaced by others further on with the same remainder. Those are found by multiplying each
 * half with what x to the distance leaves of the polynomial. Four stretches of 16 bytes go on side
 * by side, since a multiplication takes several cycles.
 */
#include "lib/base/crcfold.h"

#include <string.h>

#include "lib/base/cpu.h"

#if CPU_X86
#include <immintrin.h>

/* x^n modulo the polynomial 0x104C11DB7, its 32 bits mirrored and moved up by one as mirrored
 * products want it; for a half that moves by d bits, n is d + 32 (the one read first) or d - 32. */
#define X_544 0x154442bd4 /* 512 bits on: over the other three stretches */
#define X_480 0x1c6e41596
#define X_160 0x1751997d0 /* 128 bits on: to the next 16 bytes */
#define X_96  0x0ccaa009e

static inline CPU_CLMUL __m128i move_remainder(__m128i v, __m128i by)
{
	return _mm_xor_si128(_mm_clmulepi64_si128(v, by, 0x00), _mm_clmulepi64_si128(v, by, 0x11));
}

static inline CPU_CLMUL __m128i load_block(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static CPU_CLMUL size_t fold_blocks(uint32_t reg, const unsigned char *p, size_t n,
				    unsigned char *left)
{
	const __m128i far = _mm_set_epi64x(X_480, X_544), near = _mm_set_epi64x(X_96, X_160);
	__m128i a = _mm_xor_si128(load_block(p), _mm_cvtsi32_si128((int)reg)),
		b = load_block(p + 16), c = load_block(p + 32), d = load_block(p + 48);
	size_t at = 64;

	for (; n - at >= 64; at += 64) {
		a = _mm_xor_si128(move_remainder(a, far), load_block(p + at));
		b = _mm_xor_si128(move_remainder(b, far), load_block(p + at + 16));
		c = _mm_xor_si128(move_remainder(c, far), load_block(p + at + 32));
		d = _mm_xor_si128(move_remainder(d, far), load_block(p + at + 48));
	}
	b = _mm_xor_si128(b, move_remainder(a, near));
	c = _mm_xor_si128(c, move_remainder(b, near));
	d = _mm_xor_si128(d, move_remainder(c, near));
	for (; n - at >= 16; at += 16)
		d = _mm_xor_si128(move_remainder(d, near), load_block(p + at));
	_mm_storeu_si128((__m128i *)(void *)left, d);
	return at;
}
#endif

size_t crcfold(uint32_t reg, const unsigned char *p, size_t n, unsigned char left[CRCFOLD_BYTES])
{
#if CPU_X86
	/* Below this the tables are as fast. */
	if (n >= 128 && cpu_has_clmul())
		return fold_blocks(reg, p, n, left);
#endif
	(void)reg, (void)p, (void)n;
	memset(left, 0, CRCFOLD_BYTES);
	return 0;
}
