/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the newer half of a sequence with what stands a shift before it, for each shift. The
 * older half may be of the program's start.
 */
#include "lib/loops/call_period.h"

#include <stdbool.h>
#include <string.h>

#define REPEATS	    8	 /* of a period in the whole sequence, at least */
#define AGREEMENT   0.9	 /* of the calls */
#define NOT_BEATEN  0.02 /* by a longer shift: what is left over is an inner loop's */
#define CALLS_LEAST 32

/* Calls of the newer half that equal those so many before; 0: too few do. */
static size_t count_equal(const uint64_t *v, size_t n, unsigned shift)
{
	size_t half = n / 2, differ = 0, most = (size_t)((1 - AGREEMENT) * (double)half);

	for (size_t i = n - half; i < n; i++) {
		differ += v[i] != v[i - shift];
		if (differ > most)
			return 0;
	}
	return half - differ;
}

unsigned call_period_find(const uint64_t *v, size_t n)
{
	unsigned last = n / REPEATS < CALL_PERIOD_MAX ? (unsigned)(n / REPEATS) : CALL_PERIOD_MAX;
	size_t least = 1, slack = (size_t)(NOT_BEATEN * (double)(n / 2));
	unsigned found = 0;

	if (n < CALLS_LEAST)
		return 0;
	for (unsigned shift = 1; shift <= last; shift++) {
		size_t equal = count_equal(v, n, shift);

		if (equal < least)
			continue;
		found = shift;
		least = equal + slack + 1;
	}
	return found;
}

/* Whether a call stands once in it: a run of one and the same repeats at any shift. */
static bool has_single(const uint64_t *v, unsigned period)
{
	for (unsigned i = 0; i < period; i++) {
		unsigned times = 0;

		for (unsigned k = 0; k < period; k++)
			times += v[k] == v[i];
		if (times == 1)
			return true;
	}
	return false;
}

size_t call_period_reference(const uint64_t *v, size_t n, unsigned period)
{
	for (size_t at = n - period; at >= period; at--) {
		if (memcmp(v + at, v + at - period, period * sizeof(*v)) == 0 &&
		    has_single(v + at, period))
			return at;
		if (at == 0)
			break;
	}
	return n;
}
