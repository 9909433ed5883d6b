/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as text, and what a text costs who reads it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/mcp/token_budget.h"

/* ---- tokens ---- */

static bool is_letter(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* Words of up to six letters, three digits, and other characters each for itself: what vocabularies
 * of a hundred thousand and more do on average with text like ours, or a little worse. A blank
 * before a word is part of it. */
uint64_t token_budget_estimate(struct bytes text)
{
	uint64_t n = 0;

	for (size_t i = 0; i < text.n;) {
		size_t from = i;

		if (is_letter((unsigned char)text.p[i])) {
			while (i < text.n && is_letter((unsigned char)text.p[i]) &&
			       (i == from || text.p[i] >= 'a' || text.p[i - 1] < 'a'))
				i++;
			n += (i - from + 5) / 6;
		} else if (is_digit((unsigned char)text.p[i])) {
			while (i < text.n && is_digit((unsigned char)text.p[i]))
				i++;
			n += (i - from + 2) / 3;
		} else if (text.p[i] == ' ') {
			while (i < text.n && text.p[i] == ' ')
				i++;
			n += i - from > 1 || i == text.n || !is_letter((unsigned char)text.p[i]);
		} else {
			i++;
			n++;
		}
	}
	return n;
}

/* ---- values ---- */

void token_budget_append_number(struct buf *out, double x)
{
	char text[40];

	/* Up to 2^53 a number is what its digits say. */
	if (fabs(x) <= 0x1p53 && (x == floor(x) || fabs(x) >= 1000))
		snprintf(text, sizeof(text), "%.0f", x);
	else
		snprintf(text, sizeof(text), "%.4g", x);
	buf_puts(out, text);
}

void token_budget_append_value(struct buf *out, struct json v)
{
	switch (json_type(v)) {
	case JSON_TYPE_NUMBER:
		token_budget_append_number(out, json_double(v, 0));
		break;
	case JSON_TYPE_STRING:
		buf_add(out, json_bytes(v).p, json_bytes(v).n);
		break;
	case JSON_TYPE_BOOL:
		buf_puts(out, json_is_true(v) ? "yes" : "no");
		break;
	case JSON_TYPE_ARRAY:
	case JSON_TYPE_OBJECT:
		json_dump(out, v, 0);
		break;
	default:
		break;
	}
}

void token_budget_append_member(struct buf *out, struct json object, const char *key)
{
	struct json v = json_get(object, key);

	token_budget_append_value(out, v);
	json_free(v);
}

void token_budget_append_members(struct buf *out, struct json object, const char *key,
				 const char *first, const char *between)
{
	struct json list = json_get(object, key);

	for (size_t i = 0; i < json_length(list); i++) {
		struct json v = json_at(list, i);

		buf_puts(out, i ? between : first);
		token_budget_append_value(out, v);
		json_free(v);
	}
	json_free(list);
}
