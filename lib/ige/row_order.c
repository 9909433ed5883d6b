/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts rows by a column: a radix sort from the lowest digit up, which skips digits in which all
 * keys agree. */
#include "lib/ige/row_order.h"

#include <string.h>

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

void ige_order_by(uint32_t *at, uint32_t *spare, size_t n, const uint64_t *key)
{
	uint32_t *from = at, *to = spare, count[DIGITS];
	uint64_t differ = 0;

	for (size_t i = 0; i < n; i++)
		differ |= key[at[i]] ^ key[at[0]];
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		uint32_t place = 0, *other = from;

		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		memset(count, 0, sizeof(count));
		for (size_t i = 0; i < n; i++)
			count[key[from[i]] >> shift & (DIGITS - 1)]++;
		for (unsigned d = 0; d < DIGITS; d++) {
			uint32_t here = count[d];

			count[d] = place;
			place += here;
		}
		for (size_t i = 0; i < n; i++)
			to[count[key[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
		from = to;
		to = other;
	}
	if (from != at)
		memcpy(at, from, n * sizeof(*at));
}
