/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers packed by frame of reference: groups of 128 values, each its smallest value, the bits
 * that most of them need above it, and patches for the few that need more. Neither side knows what
 * the numbers mean.
 *
 * One group: u8 width (0..56), u8 patches, varint base, the low `width` bits of value - base of
 * each value packed from the lowest bit up (a short last group takes only its own bits, rounded up
 * to bytes), then per patch u8 index and varint of the bits above `width`.
 */
#ifndef INGERO_IGE_FORPACK_H
#define INGERO_IGE_FORPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"

#define FORPACK_GROUP	  128 /* values; a patch index fits a byte. 64 costs 1 %, 256 gains 0.4 % */
#define FORPACK_WIDTH_MAX 56  /* bits; with a shift of up to 7 a value lies in one 8-byte load */

/* Append the packing of v[0..n) to out. Never larger than FORPACK_BOUND(n). */
void forpack_put(struct buf *out, const uint64_t *v, size_t n);

/* Per group: head, base, 128 values of 56 bits, 128 patches. */
#define FORPACK_BOUND(n) (((n) / FORPACK_GROUP + 1) * (12 + 128 * 7) + (n)*3)

/* Unpack exactly n values from p[0..len) into v, which has room for n rounded up to FORPACK_GROUP.
 * False when the bytes do not hold exactly that. */
bool forpack_get(const unsigned char *p, size_t len, uint64_t *v, size_t n);

/* X(0) X(1) … for each width: code with constant shifts. */
/* clang-format off */
#define FORPACK_EACH_WIDTH(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) \
	X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) \
	X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) \
	X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) \
	X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) \
	X(50) X(51) X(52) X(53) X(54) X(55) X(56)
/* clang-format on */

#endif
