/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small readers all parsers of this room are made of.
 */
#include "lib/host/text.h"

#include "lib/base/number.h"

bool host_text_number(const char **p, const char *end, uint64_t *out)
{
	bool minus;

	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	minus = *p < end && **p == '-';
	*p += minus;
	if (!number_scan(p, end, 10, UINT64_MAX, out))
		return false;
	if (minus)
		*out = 0;
	return true;
}

struct bytes host_text_line(struct bytes text, const char *name)
{
	size_t n = strlen(name);
	const char *p = text.p, *end = bytes_end(text);

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
