/* SPDX-License-Identifier: Apache-2.0 */
/* Checks JSON in one pass without allocating: a bit per level says whether it is an object. */
#include "lib/base/jsoncheck.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/utf8.h"

#define DEPTH_MAX 512
/* Reading a number takes time by the square of its digits; a double has 17, and 324 zeros in front
 * at most. */
#define NUMBER_MAX 400
/* Memory of a text and of an array or object, in units of one number. */
#define TEXT	  2
#define CONTAINER 16

struct scan {
	const char *p, *end, *begin;
	const char *wrong; /* NULL: nothing so far */
	size_t size;	   /* of its values so far */
};

static bool set_wrong(struct scan *s, const char *why)
{
	if (!s->wrong)
		s->wrong = why;
	return false;
}

static void skip_blanks(struct scan *s)
{
	while (s->p < s->end && memchr(" \t\n\r", *s->p, 4))
		s->p++;
}

static bool scan_word(struct scan *s, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n))
		return set_wrong(s, "no value");
	s->p += n;
	return true;
}

static bool scan_digits(struct scan *s)
{
	const char *begin = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > begin || set_wrong(s, "a digit is missing");
}

static bool scan_number_text(struct scan *s)
{
	if (*s->p == '-')
		s->p++;
	if (s->p < s->end && *s->p == '0')
		s->p++;
	else if (!scan_digits(s))
		return false;
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (!scan_digits(s))
			return false;
	}
	if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		return scan_digits(s);
	}
	return true;
}

static bool scan_number(struct scan *s)
{
	const char *begin = s->p;

	return scan_number_text(s) &&
	       (s->p - begin <= NUMBER_MAX || set_wrong(s, "a number is too long"));
}

static bool scan_escape(struct scan *s)
{
	if (s->p >= s->end)
		return set_wrong(s, "a text does not end");
	if (*s->p++ != 'u')
		return memchr("\"\\/bfnrt", s->p[-1], 8) ? true : set_wrong(s, "no such escape");
	for (int i = 0; i < 4; i++, s->p++)
		if (s->p >= s->end || !*s->p || !strchr("0123456789abcdefABCDEF", *s->p))
			return set_wrong(s, "four hexadecimal digits are wanted");
	return true;
}

static bool scan_text(struct scan *s)
{
	s->p++;
	s->size += TEXT;
	while (s->p < s->end) {
		unsigned char c = (unsigned char)*s->p;
		size_t n;

		if (c == '"') {
			s->p++;
			return true;
		}
		if (c < 0x20)
			return set_wrong(s, "a control character in a text");
		if (c == '\\') {
			s->p++;
			if (!scan_escape(s))
				return false;
			continue;
		}
		n = utf8_length((const unsigned char *)s->p, (size_t)(s->end - s->p));
		if (!n)
			return set_wrong(s, "no UTF-8");
		s->p += n;
	}
	return set_wrong(s, "a text does not end");
}

static bool scan_scalar(struct scan *s)
{
	switch (*s->p) {
	case '"':
		return scan_text(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		return *s->p == '-' || (*s->p >= '0' && *s->p <= '9') ? scan_number(s)
								      : set_wrong(s, "no value");
	}
}

/* "key": of an object. */
static bool scan_key(struct scan *s)
{
	skip_blanks(s);
	if (s->p >= s->end || *s->p != '"')
		return set_wrong(s, "a key is missing");
	if (!scan_text(s))
		return false;
	skip_blanks(s);
	if (s->p >= s->end || *s->p != ':')
		return set_wrong(s, "a colon is missing");
	s->p++;
	return true;
}

/* Levels that are open. */
struct levels {
	uint64_t object[DEPTH_MAX / 64];
	unsigned n;
};

static bool is_object(const struct levels *l)
{
	return l->object[(l->n - 1) / 64] >> ((l->n - 1) % 64) & 1;
}

/* Behind a value: closes what ends here; false when nothing more is open, or something is wrong. */
static bool next(struct scan *s, struct levels *l)
{
	while (l->n) {
		skip_blanks(s);
		if (s->p >= s->end)
			return set_wrong(s, "it is cut short");
		if (*s->p == ',') {
			s->p++;
			return !is_object(l) || scan_key(s);
		}
		if (*s->p != (is_object(l) ? '}' : ']'))
			return set_wrong(s, "a comma is missing");
		s->p++;
		l->n--;
	}
	return false;
}

/* Opens an object or array. 1: it is not empty, a value follows; 0: it was closed at once; -1:
 * something is wrong. */
static int open_level(struct scan *s, struct levels *l)
{
	bool object = *s->p++ == '{';
	uint64_t bit = (uint64_t)1 << (l->n % 64);

	l->object[l->n / 64] = (l->object[l->n / 64] & ~bit) | (object ? bit : 0);
	l->n++;
	skip_blanks(s);
	if (s->p < s->end && *s->p == (object ? '}' : ']')) {
		s->p++;
		l->n--;
		return 0;
	}
	return !object || scan_key(s) ? 1 : -1;
}

int json_check(struct bytes value, unsigned depth_max, struct err *e)
{
	return json_check_size(value, depth_max, SIZE_MAX, NULL, e);
}

int json_check_size(struct bytes value, unsigned depth_max, size_t size_max, size_t *size,
		    struct err *e)
{
	struct scan s = { .p = value.p, .begin = value.p, .end = bytes_end(value) };
	struct levels l = { .n = 0 };

	do {
		int inside = 0;

		skip_blanks(&s);
		if (s.p >= s.end) {
			set_wrong(&s, "it is cut short");
		} else if (*s.p == '{' || *s.p == '[') {
			if (l.n >= depth_max || l.n >= DEPTH_MAX)
				return err_set(e, ERR_LIMIT, "nested more than %u levels deep",
					       l.n);
			inside = open_level(&s, &l);
			s.size += CONTAINER;
		} else {
			scan_scalar(&s);
			s.size++;
		}
		if (s.size > size_max)
			return err_set(e, ERR_LIMIT, "it holds more values than are taken");
		if (inside > 0)
			continue;
		if (s.wrong || !next(&s, &l))
			break;
	} while (!s.wrong);
	if (size)
		*size = s.size;
	skip_blanks(&s);
	if (!s.wrong && s.p < s.end)
		set_wrong(&s, "something follows the value");
	if (s.wrong)
		return err_set(e, ERR_DAMAGED, "not JSON: %s at byte %zu", s.wrong,
			       (size_t)(s.p - s.begin) + 1);
	return 0;
}
