/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The greater part of a CRC-32 by carry-less multiplication, four times as fast as tables. What it
 * leaves is for the tables of base/deflate.c.
 */
#ifndef INGERO_BASE_CRCFOLD_H
#define INGERO_BASE_CRCFOLD_H

#include <stddef.h>
#include <stdint.h>

#define CRCFOLD_BYTES 16

/* How many of the bytes p[0..n), all from the first on, left stands for: the register after them is
 * that of these 16 bytes begun with a register of zero. reg: the register before. 0: too few bytes,
 * or a processor without it. */
size_t crcfold(uint32_t reg, const unsigned char *p, size_t n, unsigned char left[CRCFOLD_BYTES]);

#endif
