/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zlib streams and CRC-32 of whole buffers, and incremental gzip files. The only user of zlib.
 */
#ifndef INGERO_BASE_DEFLATE_H
#define INGERO_BASE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* Append the zlib stream of p[0..n) to out; level 1 (fast) to 9 (small). */
int deflate_bytes(struct buf *out, const void *p, size_t n, int level, struct err *e);

/* Append what the zlib stream p[0..n) holds to out. ERR_LIMIT when that is more than max_out bytes,
 * ERR_DAMAGED when it is not one whole stream; out may then hold a part. */
int inflate_bytes(struct buf *out, const void *p, size_t n, size_t max_out, struct err *e);

/* A gzip file written piece by piece. */
struct gzip;
int gzip_new(struct gzip **out, int level, struct err *e);
/* Append what can be written of p[0..n) by now to out; last: all of it, and the end of the file. */
int gzip_add(struct gzip *g, struct buf *out, const void *p, size_t n, bool last, struct err *e);
void gzip_free(struct gzip *g);

/* CRC-32 (polynomial 0xEDB88320, as zlib and gzip); crc is 0 to begin, or the value so far. */
uint32_t crc_bytes(uint32_t crc, const void *p, size_t n);

#endif
