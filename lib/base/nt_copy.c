/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies numbers with stores that bypass the processor's caches (non-temporal); with ordinary
 * stores where the processor has none.
 */
#include "lib/base/nt_copy.h"

#include <string.h>

#include "lib/base/cpu.h"

static void put_plain(void *to, const uint64_t *from, size_t n, uint64_t base, unsigned width)
{
	uint32_t *four = to;
	uint64_t *eight = to;

	for (size_t i = 0; i < n; i++)
		if (width == 4)
			four[i] = (uint32_t)(from[i] - base);
		else
			eight[i] = from[i] - base;
}

#if CPU_X86
#include <immintrin.h>

#define EACH 8 /* numbers at a time */

static inline CPU_AVX2 __m256i subtract_base(const uint64_t *from, __m256i base)
{
	return _mm256_sub_epi64(_mm256_loadu_si256((const __m256i *)(const void *)from), base);
}

static CPU_AVX2 void put_avx2(void *to, const uint64_t *from, size_t n, uint64_t base,
			      unsigned width)
{
	const __m256i bases = _mm256_set1_epi64x((long long)base);
	unsigned char *at = to;
	size_t i;

	for (i = 0; i + EACH <= n; i += EACH, at += (size_t)EACH * width) {
		__m256i a = subtract_base(from + i, bases), b = subtract_base(from + i + 4, bases);

		if (width == 4) {
			a = _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a),
								  _mm256_castsi256_ps(b), 0x88));
			_mm256_stream_si256((__m256i *)(void *)at,
					    _mm256_permute4x64_epi64(a, 0xd8));
		} else {
			_mm256_stream_si256((__m256i *)(void *)at, a);
			_mm256_stream_si256((__m256i *)(void *)(at + 32), b);
		}
	}
	put_plain(at, from + i, n - i, base, width);
	_mm_sfence();
}
#endif

void nt_copy_put(void *to, const uint64_t *from, size_t n, uint64_t base, unsigned width)
{
#if CPU_X86
	if (cpu_has_avx2()) {
		put_avx2(to, from, n, base, width);
		return;
	}
#endif
	put_plain(to, from, n, base, width);
}

void nt_copy_put_bytes(void *to, const uint8_t *from, size_t n)
{
	size_t past = 0;

#if CPU_X86
	for (; past + 8 <= n; past += 8) {
		long long eight;

		memcpy(&eight, from + past, 8);
		_mm_stream_si64((long long *)(void *)((char *)to + past), eight);
	}
	_mm_sfence();
#endif
	memcpy((char *)to + past, from + past, n - past);
}

void nt_copy_get(uint64_t *to, const void *from, size_t n, unsigned width)
{
	const uint32_t *four = from;

	if (width == 8) {
		memcpy(to, from, n * sizeof(*to));
		return;
	}
	for (size_t i = 0; i < n; i++)
		to[i] = four[i];
}
