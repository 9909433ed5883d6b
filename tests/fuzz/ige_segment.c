/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: headers. What is taken for a segment or block header is within all limits, and
 * packed again gives the bytes it came from.
 */
#include "lib/base/deflate.h"
#include "tests/fuzz/block.h"

static void segment(const uint8_t *p)
{
	unsigned char raw[IGE_SEGMENT_BYTES], again[IGE_SEGMENT_BYTES];
	struct ige_segment s;

	memcpy(raw, p, sizeof(raw));
	memcpy(raw, IGE_SEGMENT_MAGIC, 8);
	le_put(raw + 60, 4, 0);
	le_put(raw + 60, 4, crc_bytes(0, raw, sizeof(raw)));
	if (ige_segment_unpack(&s, raw, NULL))
		return;
	ige_segment_pack(&s, again);
	if (memcmp(raw, again, sizeof(raw)) || s.major > IGE_MAJOR ||
	    s.flags & IGE_SEGMENT_CRITICAL)
		abort();
}

static void block(const uint8_t *p, size_t n)
{
	unsigned char *raw = malloc(n), again[IGE_BLOCK_BYTES];
	struct ige_view v = { .bytes = raw };
	struct ige_columns columns;
	struct ige_directory d;
	const unsigned char *data;
	size_t directory;

	if (!raw)
		abort();
	memcpy(raw, p, n);
	le_put(raw, 4, IGE_BLOCK_MAGIC);
	directory = le_get(raw + 6, 2) * IGE_DIRECTORY_BYTES;
	if (directory <= n - IGE_BLOCK_BYTES)
		le_put(raw + 56, 4, crc_bytes(0, raw + IGE_BLOCK_BYTES, directory));
	le_put(raw + 60, 4, crc_bytes(0, raw, 60));
	if (!ige_header_unpack(&v.header, raw, NULL)) {
		ige_header_pack(&v.header, again);
		if (memcmp(raw, again, sizeof(again)) || v.header.length > IGE_LENGTH_MAX ||
		    v.header.n > IGE_EVENTS_MAX || v.header.end_min > v.header.end_max)
			abort();
		/* A reader has the whole block in memory before it looks further. */
		if (v.header.length <= n && !ige_view_check(&v, NULL))
			for (ige_columns_begin(&columns, &v);
			     ige_columns_next(&columns, &d, &data);)
				if (data + d.length > raw + v.header.length)
					abort();
	}
	free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (n >= IGE_SEGMENT_BYTES)
		segment(p);
	if (n >= IGE_BLOCK_BYTES && n <= 60000)
		block(p, n);
	return 0;
}
