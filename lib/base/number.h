/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole numbers in text: digits and nothing else, no blanks and no sign; what does not fit is no
 * number. The text need not end with a zero.
 */
#ifndef INGERO_BASE_NUMBER_H
#define INGERO_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

/* The digits of base 10 or 16 at *p; *p then stands behind them. False: none, or more than most. */
bool number_scan(const char **p, const char *end, unsigned base, uint64_t most, uint64_t *out);

/* All of the text. */
static inline bool number_parse(struct bytes text, unsigned base, uint64_t most, uint64_t *out)
{
	const char *p = text.p, *end = p + text.n;

	return text.n && number_scan(&p, end, base, most, out) && p == end;
}

#endif
