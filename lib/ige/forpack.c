/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks integers from frame-of-reference packed columns. One loop per width, so that every shift
 * is a constant. */
#include "lib/ige/forpack.h"

#include <endian.h>
#include <string.h>

#include "lib/base/cpu.h"
#include "lib/base/wirebytes.h"

static size_t packed_bytes(size_t n, unsigned width)
{
	return (n * width + 7) / 8;
}

static inline uint64_t load_u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

/* Eight values of one width take `width` bytes: offsets and shifts are constants of the loop. */
#define UNPACK(w)                                                                          \
	static void unpack_##w(const unsigned char *p, uint64_t *v, uint64_t base)         \
	{                                                                                  \
		const uint64_t mask = w ? ~0ull >> ((64 - w) & 63) : 0;                    \
		for (unsigned i = 0; i < FORPACK_GROUP; i += 8, p += w) {                  \
			v[i] = base + (load_u64(p) & mask);                                \
			v[i + 1] = base + (load_u64(p + 1 * w / 8) >> (1 * w % 8) & mask); \
			v[i + 2] = base + (load_u64(p + 2 * w / 8) >> (2 * w % 8) & mask); \
			v[i + 3] = base + (load_u64(p + 3 * w / 8) >> (3 * w % 8) & mask); \
			v[i + 4] = base + (load_u64(p + 4 * w / 8) >> (4 * w % 8) & mask); \
			v[i + 5] = base + (load_u64(p + 5 * w / 8) >> (5 * w % 8) & mask); \
			v[i + 6] = base + (load_u64(p + 6 * w / 8) >> (6 * w % 8) & mask); \
			v[i + 7] = base + (load_u64(p + 7 * w / 8) >> (7 * w % 8) & mask); \
		}                                                                          \
	}

FORPACK_EACH_WIDTH(UNPACK)

typedef void unpack_fn(const unsigned char *p, uint64_t *v, uint64_t base);

#define NAME(w) unpack_##w,
static unpack_fn *const unpack[] = { FORPACK_EACH_WIDTH(NAME) };

#if CPU_X86
#include <immintrin.h>

/* Bytes of two values of width w, of which the first begins at bit `bit` of byte 0, to the front of
 * a half each. */
#define NOINLINE(w, bit)                                                            \
	0, 1, 2, 3, 4, 5, 6, 7, BYTE(w, bit, 0), BYTE(w, bit, 1), BYTE(w, bit, 2),  \
		BYTE(w, bit, 3), BYTE(w, bit, 4), BYTE(w, bit, 5), BYTE(w, bit, 6), \
		BYTE(w, bit, 7)
#define BYTE(w, bit, i) ((char)(((bit) + (w)) / 8 + (i)))

/* Values i to i + 3 of eight: two per 16 bytes, which is why w may not be above 56. */
#define FOUR(w, i)                                                                                 \
	_mm256_storeu_si256(                                                                       \
		(__m256i *)(void *)(v + at + i),                                                   \
		_mm256_add_epi64(                                                                  \
			bases,                                                                     \
			_mm256_and_si256(                                                          \
				mask,                                                              \
				_mm256_srlv_epi64(                                                 \
					_mm256_shuffle_epi8(                                       \
						_mm256_inserti128_si256(                           \
							_mm256_castsi128_si256(                    \
								load_128(p + (i)*w / 8)),          \
							load_128(p + ((i) + 2) * w / 8), 1),       \
						_mm256_setr_epi8(NOINLINE(w, (i)*w % 8),           \
								 NOINLINE(w, ((i) + 2) * w % 8))), \
					_mm256_setr_epi64x((i)*w % 8, ((i) + 1) * w % 8,           \
							   ((i) + 2) * w % 8,                      \
							   ((i) + 3) * w % 8)))))

static inline CPU_AVX2 __m128i load_128(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

#define UNPACK_AVX2(w)                                                                     \
	static CPU_AVX2 void avx2_##w(const unsigned char *p, uint64_t *v, uint64_t base)  \
	{                                                                                  \
		const __m256i mask =                                                       \
			_mm256_set1_epi64x((long long)(w ? ~0ull >> ((64 - w) & 63) : 0)); \
		const __m256i bases = _mm256_set1_epi64x((long long)base);                 \
		for (unsigned at = 0; at < FORPACK_GROUP; at += 8, p += w) {               \
			FOUR(w, 0);                                                        \
			FOUR(w, 4);                                                        \
		}                                                                          \
	}

FORPACK_EACH_WIDTH(UNPACK_AVX2)

#define NAME_AVX2(w) avx2_##w,
static unpack_fn *const unpack_avx2[] = { FORPACK_EACH_WIDTH(NAME_AVX2) };
#endif

static unpack_fn *const *unpack_best(void)
{
#if CPU_X86
	if (cpu_has_avx2())
		return unpack_avx2;
#endif
	return unpack;
}

/* The last load of a group reads up to so many bytes past it. */
#define OVERREAD 16

static bool get_group(unpack_fn *const *how, struct cursor *c, uint64_t *v, size_t n)
{
	unsigned char tail[FORPACK_GROUP * 7 + OVERREAD];
	const unsigned char *head = cursor_take(c, 2), *p;
	unsigned width, npatch;
	uint64_t base;
	size_t bytes;

	if (!head)
		return false;
	width = head[0];
	npatch = head[1];
	base = varint_get(c);
	if (c->failed || width > FORPACK_WIDTH_MAX || npatch > n)
		return false;
	bytes = packed_bytes(n, width);
	p = cursor_take(c, bytes);
	if (!p)
		return false;
	if (n < FORPACK_GROUP || (size_t)(c->end - c->p) < OVERREAD) {
		memcpy(tail, p, bytes);
		memset(tail + bytes, 0, sizeof(tail) - bytes);
		p = tail;
	}
	how[width](p, v, base);
	for (unsigned i = 0; i < npatch; i++) {
		const unsigned char *index = cursor_take(c, 1);
		uint64_t high = varint_get(c);

		if (!index || c->failed || *index >= n)
			return false;
		v[*index] += high << width;
	}
	return true;
}

bool forpack_get(const unsigned char *p, size_t len, uint64_t *v, size_t n)
{
	unpack_fn *const *how = unpack_best();
	struct cursor c = { p, p + len, false };

	for (size_t i = 0; i < n; i += FORPACK_GROUP)
		if (!get_group(how, &c, v + i, n - i < FORPACK_GROUP ? n - i : FORPACK_GROUP))
			return false;
	return c.p == c.end;
}
