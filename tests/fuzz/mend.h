/* SPDX-License-Identifier: Apache-2.0 */
/* Guessing checksums is not what is to be tested. */
#ifndef INGERO_TESTS_FUZZ_MEND_H
#define INGERO_TESTS_FUZZ_MEND_H

#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"
#include "lib/ige/block.h"

/* Make the checksums of whatever looks like a segment header or a block fit. */
static inline void mend(unsigned char *p, size_t n)
{
	for (size_t at = 0; at + IGE_BLOCK_BYTES <= n; at++) {
		unsigned char *b = p + at, *data;
		size_t length, ncol, place;

		if (n - at >= IGE_SEGMENT_BYTES && !memcmp(b, IGE_SEGMENT_MAGIC, 8)) {
			le_put(b + 60, 4, 0);
			le_put(b + 60, 4, crc_bytes(0, b, IGE_SEGMENT_BYTES));
		}
		if (le_get(b, 4) != IGE_BLOCK_MAGIC)
			continue;
		length = le_get(b + 8, 4);
		ncol = le_get(b + 6, 2);
		if (length > n - at || IGE_BLOCK_BYTES + ncol * IGE_DIRECTORY_BYTES > length)
			continue;
		data = b + IGE_BLOCK_BYTES + ncol * IGE_DIRECTORY_BYTES;
		for (size_t i = 0; i < ncol; i++) {
			unsigned char *entry = b + IGE_BLOCK_BYTES + i * IGE_DIRECTORY_BYTES;

			place = le_get(entry + 8, 4);
			if (place > (size_t)(b + length - data))
				break;
			le_put(entry + 12, 4, crc_bytes(0, data, place));
			data += (place + 7) & ~(size_t)7;
			if (data > b + length)
				break;
		}
		le_put(b + 56, 4, crc_bytes(0, b + IGE_BLOCK_BYTES, ncol * IGE_DIRECTORY_BYTES));
		le_put(b + 60, 4, crc_bytes(0, b, 60));
	}
}

#endif
