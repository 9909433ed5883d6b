/* SPDX-License-Identifier: Apache-2.0 */
/* Splits integers into planes of bytes and joins them again: one pass over the values per plane,
 * which writes or reads contiguous bytes. */
#include "lib/ige/byte_shuffle.h"

void byte_shuffle_put(unsigned char *p, const uint64_t *v, size_t n, unsigned width,
		      bool differences)
{
	for (unsigned plane = 0; plane < width; plane++, p += n) {
		unsigned shift = plane * 8;

		if (!differences) {
			for (size_t i = 0; i < n; i++)
				p[i] = (unsigned char)(v[i] >> shift);
			continue;
		}
		for (size_t i = 0; i < n; i++)
			p[i] = (unsigned char)((v[i] - (i ? v[i - 1] : 0)) >> shift);
	}
}

void byte_shuffle_get(const unsigned char *p, uint64_t *v, size_t n, unsigned width,
		      bool differences)
{
	uint64_t mask = width < 8 ? (1ull << width * 8) - 1 : UINT64_MAX, sum = 0;

	for (size_t i = 0; i < n; i++)
		v[i] = p[i];
	for (unsigned plane = 1; plane < width; plane++) {
		p += n;
		for (size_t i = 0; i < n; i++)
			v[i] |= (uint64_t)p[i] << plane * 8;
	}
	for (size_t i = 0; differences && i < n; i++)
		v[i] = sum = (sum + v[i]) & mask;
}
