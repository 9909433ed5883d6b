/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers as byte planes: the lowest bytes of all values, then the next ones, and so on; what a
 * general compressor takes better than whole numbers. Optionally of the differences between
 * neighbours, in as many bytes, so that a sum that leaves them wraps around.
 */
#ifndef INGERO_IGE_BYTE_SHUFFLE_H
#define INGERO_IGE_BYTE_SHUFFLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* p has room for n * width bytes; width is 1 to 8 and holds every value. */
void byte_shuffle_put(unsigned char *p, const uint64_t *v, size_t n, unsigned width,
		      bool differences);
/* p holds n * width bytes, v has room for n. */
void byte_shuffle_get(const unsigned char *p, uint64_t *v, size_t n, unsigned width,
		      bool differences);

#endif
