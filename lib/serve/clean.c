/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of characters, as Unicode has them: general category Cf, and what else is drawn as nothing. */
#include "lib/serve/clean.h"

#include "lib/base/utf8.h"

static uint32_t character(const unsigned char *p, size_t n)
{
	uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

static bool unseen(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0xad, 0xad },	      { 0x34f, 0x34f },	    { 0x600, 0x605 },
		{ 0x61c, 0x61c },     { 0x6dd, 0x6dd },	    { 0x70f, 0x70f },
		{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
		{ 0x200b, 0x200f },   { 0x202a, 0x202e },   { 0x2060, 0x206f },
		{ 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

void clean_text(struct buf *out, struct bytes text, size_t max)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t from = out->n;

	for (size_t i = 0; i < text.n;) {
		size_t n = utf8_length(p + i, text.n - i);
		uint32_t c = n ? character(p + i, n) : 0;

		if (n && out->n - from + n > max) {
			buf_puts(out, "\xe2\x80\xa6");
			return;
		}
		/* Controls of both tables, and the two that end lines and paragraphs. */
		if (n && (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029))
			buf_putc(out, ' ');
		else if (n && !unseen(c))
			buf_add(out, text.p + i, n);
		i += n ? n : 1;
	}
}

static struct json clean_string(struct bytes text)
{
	struct buf b = { 0 };
	struct json v;

	clean_text(&b, text, CLEAN_MAX);
	v = json_string(buf_bytes(&b));
	buf_free(&b);
	return v;
}

struct json clean_json(struct json v)
{
	struct json copy, key, value;
	int at = 0;

	switch (json_type(v)) {
	case JSON_TYPE_BOOL:
		return json_bool(json_is_true(v));
	case JSON_TYPE_NUMBER:
		return json_number(json_double(v, 0));
	case JSON_TYPE_STRING:
		return clean_string(json_bytes(v));
	case JSON_TYPE_ARRAY:
		copy = json_array();
		for (size_t i = 0, n = json_length(v); i < n; i++) {
			value = json_at(v, i);
			json_append(&copy, clean_json(value));
			json_free(value);
		}
		return copy;
	case JSON_TYPE_OBJECT:
		copy = json_object();
		while (json_each(v, &at, &key, &value)) {
			struct buf name = { 0 };

			clean_text(&name, json_bytes(key), CLEAN_MAX);
			json_set(&copy, buf_text(&name), clean_json(value));
			buf_free(&name);
			json_free(key);
			json_free(value);
		}
		return copy;
	default:
		return json_null();
	}
}
