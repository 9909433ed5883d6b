/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zlib streams and CRC-32, for whole buffers. The only place that knows zlib.
 */
#ifndef INGERO_BASE_DEFLATE_H
#define INGERO_BASE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* Append the zlib stream of p[0..n) to out; level 1 (fast) to 9 (small). */
int deflate_bytes(struct buf *out, const void *p, size_t n, int level, struct err *e);

/* Append what the zlib stream p[0..n) holds to out. ERR_LIMIT when that is more than max_out bytes,
 * ERR_DAMAGED when it is not one whole stream; out may then hold a part. */
int inflate_bytes(struct buf *out, const void *p, size_t n, size_t max_out, struct err *e);

/* CRC-32 (polynomial 0xEDB88320, as zlib and gzip); crc is 0 to begin, or the value so far. */
uint32_t crc_bytes(uint32_t crc, const void *p, size_t n);

#endif
