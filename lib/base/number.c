/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads whole numbers from text, digit by digit: texts of the kernel and of files are not strings,
 * and strtoull() takes blanks, signs and what stands behind.
 */
#include "lib/base/number.h"

static unsigned digit_of(char c)
{
	return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
	       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
	       : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
				      : 16;
}

bool number_scan(const char **p, const char *end, unsigned base, uint64_t most, uint64_t *out)
{
	const char *begin = *p;
	bool fits = true;
	uint64_t n = 0;

	for (; *p < end && digit_of(**p) < base; (*p)++)
		fits = fits && !__builtin_mul_overflow(n, base, &n) &&
		       !__builtin_add_overflow(n, digit_of(**p), &n);
	if (*p == begin || !fits || n > most)
		return false;
	*out = n;
	return true;
}
