/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: column codecs. Any bytes as a column of any encoding; and the same bytes as
 * values, which come back from every way to write them.
 */
#include "lib/base/deflate.h"
#include "lib/ige/byte_shuffle.h"
#include "tests/fuzz/block.h"

static void decode(const uint8_t *p, size_t n)
{
	struct ige_directory d = { .id = 1, .encoding = p[0] & 15, .compressor = p[0] >> 4 & 1 };
	struct buf scratch = { 0 };
	const unsigned char *bytes;
	unsigned char *data;
	size_t length;
	uint64_t *v;

	d.width = p[1] & 15;
	d.count = (uint32_t)le_get(p + 2, 2);
	d.length = (uint32_t)(n - 4);
	data = malloc(n);
	v = malloc((d.count + IGE_ROOM) * sizeof(*v));
	if (!data || !v)
		abort();
	memcpy(data, p + 4, d.length);
	d.crc = crc_bytes(0, data, d.length);
	ige_column_integers(&d, data, v, NULL);
	if (!ige_column_bytes(&d, data, &scratch, &bytes, &length, NULL) && length > IGE_LENGTH_MAX)
		abort();
	buf_free(&scratch);
	free(data);
	free(v);
}

/* Values of a width that the first byte says, so that small ones are met. */
static void encode(const uint8_t *p, size_t n)
{
	unsigned width = p[0] % 8 + 1;
	size_t count = (n - 1) / width;
	uint64_t *v = malloc((count + 1) * sizeof(*v)),
		 *got = malloc((count + IGE_ROOM) * sizeof(*v));

	if (!v || !got)
		abort();
	for (size_t i = 0; i < count; i++)
		v[i] = le_get(p + 1 + i * width, width);
	for (int small = 0; count && small < 2; small++) {
		struct ige_builder b = { .small = small };
		struct ige_header h = { .type = IGE_EVENTS };
		struct buf out = { 0 };
		struct ige_view view;
		struct ige_columns columns;
		struct ige_directory d;
		const unsigned char *data;

		ige_builder_integers(&b, 1, v, count);
		if (ige_builder_seal(&b, &h, &out, NULL))
			abort();
		view.bytes = (const unsigned char *)out.p;
		if (ige_header_unpack(&view.header, view.bytes, NULL) ||
		    ige_view_check(&view, NULL))
			abort();
		ige_columns_begin(&columns, &view);
		if (!ige_columns_next(&columns, &d, &data) || d.count != count ||
		    ige_column_integers(&d, data, got, NULL) || memcmp(v, got, count * sizeof(*v)))
			abort();
		ige_builder_free(&b);
		buf_free(&out);
	}
	for (int differences = 0; differences < 2; differences++) {
		unsigned char *planes = malloc(count * width + 1);

		if (!planes)
			abort();
		byte_shuffle_put(planes, v, count, width, differences);
		byte_shuffle_get(planes, got, count, width, differences);
		if (memcmp(v, got, count * sizeof(*v)))
			abort();
		free(planes);
	}
	free(v);
	free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (n < 4 || n > 60000)
		return 0;
	decode(p, n);
	encode(p, n);
	return 0;
}
