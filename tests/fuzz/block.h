/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a block: what a fuzzer makes up becomes header and columns whose lengths and checksums
 * fit, so that all of its work goes into what they hold. First flags, rows (u16) and a byte of
 * time, then per column id (u16), encoding and compressor, width and flags, count (u16), length
 * (u16), bytes.
 */
#ifndef INGERO_TESTS_FUZZ_BLOCK_H
#define INGERO_TESTS_FUZZ_BLOCK_H

#include <stdlib.h>
#include <string.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* False: nothing to look at. v's bytes stand in out. */
static inline bool fuzz_block(struct ige_view *v, struct buf *out, enum ige_block_type type,
			      const uint8_t *p, size_t n)
{
	struct ige_builder b = { 0 };
	struct ige_header h = { .type = (uint8_t)type };
	const uint8_t *end = p + n;
	bool fine;

	if (n < 4 || n > 60000)
		return false;
	h.flags = p[0];
	h.n = (uint32_t)le_get(p + 1, 2) + (p[0] >> 7);
	h.end_min = 1000;
	h.end_max = 1000 + (INT64_C(1) << p[3] % 62);
	h.start_min = 1000 - (INT64_C(1) << p[3] / 4 % 62);
	for (p += 4; end - p >= 8 && b.ncol < IGE_COLUMNS_MAX;) {
		struct ige_directory d = { .id = (uint16_t)le_get(p, 2),
					   .encoding = p[2] & 15,
					   .compressor = p[2] >> 4,
					   .width = p[3] & 15,
					   .critical = p[3] >> 7,
					   .count = (uint32_t)le_get(p + 4, 2) };
		size_t length = le_get(p + 6, 2);

		p += 8;
		if (length > (size_t)(end - p))
			length = (size_t)(end - p);
		ige_builder_column(&b, d, p, length);
		p += length;
	}
	fine = !ige_builder_seal(&b, &h, out, NULL);
	ige_builder_free(&b);
	/* A copy without room behind it, so that a sanitizer sees what is read past the block. */
	v->bytes = malloc(out->n ? out->n : 1);
	if (!v->bytes || !fine) {
		free((void *)v->bytes);
		return false;
	}
	memcpy((void *)v->bytes, out->p, out->n);
	if (ige_header_unpack(&v->header, v->bytes, NULL) || ige_view_check(v, NULL)) {
		/* Rows above the limit, or none. */
		free((void *)v->bytes);
		return false;
	}
	return true;
}

#endif
