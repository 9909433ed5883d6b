/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size arithmetic that says so instead of wrapping: sizes computed from outside bytes go through
 * here before they reach an allocator. False means the result does not fit and *out is untouched.
 */
#ifndef INGERO_BASE_CHECK_H
#define INGERO_BASE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

static inline bool size_add(size_t a, size_t b, size_t *out)
{
	size_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*out = sum;
	return true;
}

static inline bool size_mul(size_t a, size_t b, size_t *out)
{
	size_t product;

	if (__builtin_mul_overflow(a, b, &product))
		return false;
	*out = product;
	return true;
}

#endif
