/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small readers all parsers of this room are made of.
 */
#include "lib/host/text.h"

bool host_text_number(const char **p, const char *end, uint64_t *out)
{
	uint64_t v = 0;
	bool minus = false, any = false;

	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	if (*p < end && **p == '-') {
		minus = true;
		(*p)++;
	}
	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++, any = true)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
			return false;
	if (any)
		*out = minus ? 0 : v;
	return any;
}

struct bytes host_text_line(struct bytes text, const char *name)
{
	size_t n = strlen(name);
	const char *p = text.p, *end = text.p + text.n;

	while (p && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)),
			   *stop = newline ? newline : end;

		if ((size_t)(stop - p) >= n && memcmp(p, name, n) == 0)
			return (struct bytes){ p + n, (size_t)(stop - p) - n };
		p = newline ? newline + 1 : end;
	}
	return (struct bytes){ NULL, 0 };
}

bool host_text_value(struct bytes text, const char *name, uint64_t *out)
{
	struct bytes line = host_text_line(text, name);
	const char *p = line.p;

	return p && host_text_number(&p, p + line.n, out);
}
