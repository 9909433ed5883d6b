/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streaming JSON writer: keys and values appended to a buffer. Numbers are printed in the C
 * locale whatever the program's locale is: nothing in this house calls setlocale for LC_NUMERIC.
 */
#include "lib/base/jsonw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"

void jsonw_init(struct jsonw *w, struct buf *out, bool pretty)
{
	*w = (struct jsonw){ .out = out, .pretty = pretty };
}

static void put_newline(struct jsonw *w)
{
	unsigned i;

	if (!w->pretty)
		return;
	buf_putc(w->out, '\n');
	for (i = 0; i < w->depth; i++)
		buf_add(w->out, "  ", 2);
}

/* Separates the next key or value from the previous one on this level. */
static void put_separator(struct jsonw *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->filled >> w->depth & 1)
		buf_putc(w->out, ',');
	if (w->depth)
		put_newline(w);
	w->filled |= 1ull << w->depth;
}

static void open_level(struct jsonw *w, char c)
{
	put_separator(w);
	buf_putc(w->out, c);
	if (w->depth + 1 >= JSONW_DEPTH_MAX) {
		w->out->failed = true;
		return;
	}
	w->depth++;
	w->filled &= ~(1ull << w->depth);
}

static void close_level(struct jsonw *w, char c)
{
	bool filled = w->filled >> w->depth & 1;

	if (w->depth)
		w->depth--;
	if (filled)
		put_newline(w);
	buf_putc(w->out, c);
}

void jsonw_object_begin(struct jsonw *w)
{
	open_level(w, '{');
}

void jsonw_object_end(struct jsonw *w)
{
	close_level(w, '}');
}

void jsonw_array_begin(struct jsonw *w)
{
	open_level(w, '[');
}

void jsonw_array_end(struct jsonw *w)
{
	close_level(w, ']');
}

/* Escapes an invisible character: the JSON value stays the same, and a terminal that the JSON is
 * printed on does not interpret it. */
static void put_escape(struct buf *out, uint32_t c)
{
	if (c < 0x10000)
		buf_printf(out, "\\u%04x", c);
	else
		buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			   0xdc00 + ((c - 0x10000) & 0x3ff));
}

void jsonw_put_seen(struct buf *out, struct bytes json)
{
	const unsigned char *p = (const unsigned char *)json.p;
	size_t plain = 0;

	for (size_t i = 0, n; i < json.n; i += n ? n : 1) {
		n = p[i] < 0x7f ? 1 : utf8_length(p + i, json.n - i);
		if (!n || p[i] < 0x7f || utf8_is_seen(p + i, n))
			continue;
		buf_add(out, p + plain, i - plain);
		put_escape(out, utf8_character(p + i, n));
		plain = i + n;
	}
	buf_add(out, p + plain, json.n - plain);
}

static void put_quoted(struct buf *out, struct bytes text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t i = 0, plain = 0;

	buf_putc(out, '"');
	while (i < text.n) {
		size_t len = utf8_length(p + i, text.n - i);
		bool hidden = len > 1 && !utf8_is_seen(p + i, len);
		bool special = !len || hidden || p[i] < 0x20 || p[i] == '"' || p[i] == '\\' ||
			       p[i] == 0x7f;

		if (!special) {
			i += len;
			continue;
		}
		buf_add(out, p + plain, i - plain);
		if (!len)
			buf_puts(out, "\xef\xbf\xbd");
		else if (hidden)
			put_escape(out, utf8_character(p + i, len));
		else if (p[i] == '"' || p[i] == '\\')
			buf_printf(out, "\\%c", p[i]);
		else if (p[i] == '\n')
			buf_puts(out, "\\n");
		else if (p[i] == '\t')
			buf_puts(out, "\\t");
		else
			buf_printf(out, "\\u%04x", p[i]);
		plain = i += len ? len : 1;
	}
	buf_add(out, p + plain, text.n - plain);
	buf_putc(out, '"');
}

void jsonw_key(struct jsonw *w, const char *key)
{
	put_separator(w);
	put_quoted(w->out, bytes_of(key));
	buf_puts(w->out, w->pretty ? ": " : ":");
	w->after_key = true;
}

void jsonw_bytes(struct jsonw *w, struct bytes text)
{
	if (!text.p) {
		jsonw_null(w);
		return;
	}
	put_separator(w);
	put_quoted(w->out, text);
}

void jsonw_str(struct jsonw *w, const char *text)
{
	jsonw_bytes(w, bytes_of(text));
}

void jsonw_u64(struct jsonw *w, uint64_t x)
{
	put_separator(w);
	buf_printf(w->out, "%" PRIu64, x);
}

void jsonw_i64(struct jsonw *w, int64_t x)
{
	put_separator(w);
	buf_printf(w->out, "%" PRId64, x);
}

void jsonw_double(struct jsonw *w, double x)
{
	char text[40];
	int digits;

	put_separator(w);
	if (!isfinite(x)) {
		buf_puts(w->out, "null");
		return;
	}
	for (digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	buf_puts(w->out, text);
}

void jsonw_hex(struct jsonw *w, uint64_t x)
{
	put_separator(w);
	buf_printf(w->out, "\"0x%" PRIx64 "\"", x);
}

void jsonw_id(struct jsonw *w, uint64_t x)
{
	put_separator(w);
	buf_printf(w->out, "\"%" PRIu64 "\"", x);
}

void jsonw_bool(struct jsonw *w, bool x)
{
	put_separator(w);
	buf_puts(w->out, x ? "true" : "false");
}

void jsonw_null(struct jsonw *w)
{
	put_separator(w);
	buf_puts(w->out, "null");
}

void jsonw_raw(struct jsonw *w, struct bytes json)
{
	put_separator(w);
	jsonw_put_seen(w->out, json);
}

void jsonw_key_object(struct jsonw *w, const char *key)
{
	jsonw_key(w, key);
	jsonw_object_begin(w);
}

void jsonw_key_array(struct jsonw *w, const char *key)
{
	jsonw_key(w, key);
	jsonw_array_begin(w);
}

void jsonw_key_str(struct jsonw *w, const char *key, const char *text)
{
	jsonw_key(w, key);
	jsonw_str(w, text);
}

void jsonw_key_bytes(struct jsonw *w, const char *key, struct bytes text)
{
	jsonw_key(w, key);
	if (text.p)
		jsonw_bytes(w, text);
	else
		jsonw_null(w);
}

void jsonw_key_u64(struct jsonw *w, const char *key, uint64_t x)
{
	jsonw_key(w, key);
	jsonw_u64(w, x);
}

void jsonw_key_i64(struct jsonw *w, const char *key, int64_t x)
{
	jsonw_key(w, key);
	jsonw_i64(w, x);
}

void jsonw_key_double(struct jsonw *w, const char *key, double x)
{
	jsonw_key(w, key);
	jsonw_double(w, x);
}

void jsonw_key_bool(struct jsonw *w, const char *key, bool x)
{
	jsonw_key(w, key);
	jsonw_bool(w, x);
}

void jsonw_key_null(struct jsonw *w, const char *key)
{
	jsonw_key(w, key);
	jsonw_null(w);
}
