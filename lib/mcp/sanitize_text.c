/* SPDX-License-Identifier: Apache-2.0 */
/* Which characters are seen is base/utf8.c's. */
#include "lib/mcp/sanitize_text.h"

#include "lib/base/utf8.h"

void sanitize_text(struct buf *out, struct bytes text, size_t max)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t from = out->n;

	for (size_t i = 0; i < text.n;) {
		size_t n = utf8_length(p + i, text.n - i);
		uint32_t c = n ? utf8_character(p + i, n) : 0;

		if (n && out->n - from + n > max) {
			buf_puts(out, "\xe2\x80\xa6");
			return;
		}
		if (n && (utf8_is_control(c) || c == 0x2028 || c == 0x2029))
			buf_putc(out, ' ');
		else if (n && !utf8_is_unseen(c))
			buf_add(out, text.p + i, n);
		i += n ? n : 1;
	}
}

static struct json clean_string(struct bytes text)
{
	struct buf b = { 0 };
	struct json v;

	sanitize_text(&b, text, CLEAN_MAX);
	v = json_string(buf_bytes(&b));
	buf_free(&b);
	return v;
}

struct json sanitize_json(struct json v)
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
			json_append(&copy, sanitize_json(value));
			json_free(value);
		}
		return copy;
	case JSON_TYPE_OBJECT:
		copy = json_object();
		while (json_each(v, &at, &key, &value)) {
			struct buf name = { 0 };

			sanitize_text(&name, json_bytes(key), CLEAN_MAX);
			json_set(&copy, buf_text(&name), sanitize_json(value));
			buf_free(&name);
			json_free(key);
			json_free(value);
		}
		return copy;
	default:
		return json_null();
	}
}
