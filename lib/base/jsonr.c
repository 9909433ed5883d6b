/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pull reader for JSON text: tokens one at a time, without a tree. The text was checked, so that
 * its grammar is not looked at again: commas and colons are stepped over. The end of the text is
 * respected all the same.
 */
#include "lib/base/jsonr.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 400 /* as json_check takes them */

void jsonr_init(struct jsonr *r, struct bytes text, struct arena *memory)
{
	*r = (struct jsonr){ .p = text.p, .end = bytes_end(text), .memory = memory };
}

/* The first character of what comes next, which blanks and the given character do not count to; 0:
 * the end. */
static char peek_past(struct jsonr *r, char separator)
{
	while (r->p < r->end && (memchr(" \t\n\r", *r->p, 4) || *r->p == separator))
		r->p++;
	return r->p < r->end ? *r->p : '\0';
}

static char peek_value(struct jsonr *r)
{
	return peek_past(r, ' ');
}

static bool enter_level(struct jsonr *r, char c)
{
	if (peek_value(r) != c)
		return false;
	r->p++;
	return true;
}

bool jsonr_object(struct jsonr *r)
{
	return enter_level(r, '{');
}

bool jsonr_array(struct jsonr *r)
{
	return enter_level(r, '[');
}

bool jsonr_element(struct jsonr *r)
{
	char c = peek_past(r, ',');

	if (c && c != ']')
		return true;
	r->p += c == ']';
	return false;
}

bool jsonr_member(struct jsonr *r, struct bytes *key)
{
	char c = peek_past(r, ',');

	if (c == '"' && jsonr_text(r, key)) {
		peek_past(r, ':');
		return true;
	}
	r->p += c == '}';
	return false;
}

/* The text that comes next, between its quotes, as it is written. */
static struct bytes raw_text(struct jsonr *r, bool *escaped)
{
	const char *from = ++r->p;

	*escaped = false;
	while (r->p < r->end && *r->p != '"') {
		bool escape = *r->p == '\\';

		*escaped |= escape;
		r->p += escape && r->end - r->p > 1 ? 2 : 1;
	}
	return (struct bytes){ from, (size_t)(r->p < r->end ? r->p++ - from : r->p - from) };
}

static unsigned read_hex(const char *p)
{
	unsigned x = 0;

	for (unsigned i = 0; i < 4; i++)
		x = x << 4 | (unsigned)(isdigit((unsigned char)p[i])
						? p[i] - '0'
						: (tolower((unsigned char)p[i]) - 'a' + 10) & 0xf);
	return x;
}

static char *put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* \uXXXX at p, perhaps the first half of a pair; half of one alone is no character. Moves *p past
 * it. */
static unsigned read_character(const char **p, const char *end)
{
	unsigned c = read_hex(*p + 2), second;

	*p += 6;
	if (c < 0xd800 || c > 0xdfff)
		return c;
	if (c > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return 0xfffd;
	second = read_hex(*p + 2);
	if (second < 0xdc00 || second > 0xdfff)
		return 0xfffd;
	*p += 6;
	return 0x10000 + ((c & 0x3ff) << 10 | (second & 0x3ff));
}

/* No escape is shorter than what it stands for. */
static size_t unescape_text(struct bytes raw, char *to)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *p = raw.p, *end = bytes_end(raw);
	char *from = to;

	while (p < end) {
		const char *name = p[0] == '\\' && end - p > 1 ? strchr(names, p[1]) : NULL;

		if (p[0] == '\\' && end - p >= 6 && p[1] == 'u') {
			to = put_utf8(to, read_character(&p, end));
		} else if (name && *name) {
			*to++ = values[name - names];
			p += 2;
		} else {
			*to++ = *p++;
		}
	}
	return (size_t)(to - from);
}

bool jsonr_text(struct jsonr *r, struct bytes *out)
{
	bool escaped;
	char *copy;

	if (peek_value(r) != '"')
		return false;
	*out = raw_text(r, &escaped);
	if (!escaped)
		return true;
	copy = arena_alloc(r->memory, out->n);
	r->failed |= !copy;
	*out = copy ? (struct bytes){ copy, unescape_text(*out, copy) } : (struct bytes){ 0 };
	return true;
}

/* The number that comes next, as a string; *past: where it ends. */
static bool number_text(struct jsonr *r, char text[NUMBER_MAX + 1], const char **past)
{
	char c = peek_value(r);
	size_t n = 0;

	if (c != '-' && !isdigit((unsigned char)c))
		return false;
	while (r->p + n < r->end && n < NUMBER_MAX && r->p[n] && strchr("+-.0123456789eE", r->p[n]))
		n++;
	memcpy(text, r->p, n);
	text[n] = '\0';
	*past = r->p + n;
	return true;
}

bool jsonr_double(struct jsonr *r, double *out)
{
	char text[NUMBER_MAX + 1];
	const char *past;
	double x;

	if (!number_text(r, text, &past))
		return false;
	x = strtod(text, NULL);
	if (!isfinite(x))
		return false;
	*out = x;
	r->p = past;
	return true;
}

bool jsonr_u64(struct jsonr *r, uint64_t *out)
{
	char text[NUMBER_MAX + 1];
	const char *past;
	uint64_t whole;
	double x;

	if (!number_text(r, text, &past))
		return false;
	errno = 0;
	if (strspn(text, "0123456789") == strlen(text)) {
		whole = strtoull(text, NULL, 10);
		if (errno)
			return false;
		*out = whole;
	} else { /* 1e9, 3.0 */
		x = strtod(text, NULL);
		if (!(x >= 0 && x < 0x1p64) || x != floor(x))
			return false;
		*out = (uint64_t)x;
	}
	r->p = past;
	return true;
}

bool jsonr_i64(struct jsonr *r, int64_t *out)
{
	char text[NUMBER_MAX + 1];
	const char *past;
	int64_t whole;
	double x;

	if (!number_text(r, text, &past))
		return false;
	errno = 0;
	if (strspn(text, "-0123456789") == strlen(text)) {
		whole = strtoll(text, NULL, 10);
		if (errno)
			return false;
		*out = whole;
	} else {
		x = strtod(text, NULL);
		if (!(x >= -0x1p63 && x < 0x1p63) || x != floor(x))
			return false;
		*out = (int64_t)x;
	}
	r->p = past;
	return true;
}

static bool read_word(struct jsonr *r, const char *word)
{
	size_t n = strlen(word);

	if (peek_value(r) != word[0] || (size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

bool jsonr_bool(struct jsonr *r, bool *out)
{
	bool is_true = read_word(r, "true");

	if (!is_true && !read_word(r, "false"))
		return false;
	*out = is_true;
	return true;
}

bool jsonr_null(struct jsonr *r)
{
	return read_word(r, "null");
}

void jsonr_skip(struct jsonr *r)
{
	unsigned depth = 0;
	bool escaped;
	char c;

	do {
		c = peek_past(r, ',');
		if (c == '"') {
			raw_text(r, &escaped);
			peek_past(r, ':');
		} else if (c == '{' || c == '[') {
			depth++;
			r->p++;
		} else if (c == '}' || c == ']') {
			depth -= depth > 0;
			r->p++;
		} else {
			while (r->p < r->end && !memchr(",]} \t\n\r", *r->p, 7))
				r->p++;
		}
	} while (depth && r->p < r->end);
}

uint64_t jsonr_count(const struct jsonr *r)
{
	struct jsonr at = *r;
	uint64_t n = 0;

	while (jsonr_element(&at)) {
		jsonr_skip(&at);
		n++;
	}
	return n;
}
