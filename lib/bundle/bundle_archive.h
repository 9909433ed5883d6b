/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed files: a tar archive, compressed with zstd or gzip, by libarchive. The library is opened
 * when the first packed file is met: linked, it and the 13 libraries behind it would double the
 * time in which every program starts. Nothing is ever unpacked under a name from the archive:
 * members are streams. One thread per pack.
 */
#ifndef INGERO_BUNDLE_BUNDLE_ARCHIVE_H
#define INGERO_BUNDLE_BUNDLE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* A member's name: one or two words of letters, digits, '.', '_' and '-', none beginning with '.',
 * a '/' between. */
#define PACK_NAME_MAX 200
bool pack_name_ok(const char *name);

/* ---- writing ---- */

struct pack_writer;

/* Bytes of the archive leave through put. ERR_CANNOT: no libarchive here. */
typedef int pack_put_fn(void *ctx, const void *p, size_t n, struct err *e);
int pack_writer_new(struct pack_writer **out, pack_put_fn *put, void *ctx, struct err *e);
/* A member of n bytes, then exactly so many by pack_data. Contents depend on nothing but these. */
int pack_add(struct pack_writer *w, const char *name, uint64_t n, struct err *e);
int pack_data(struct pack_writer *w, const void *p, size_t n, struct err *e);
int pack_finish(struct pack_writer *w, struct err *e);
void pack_writer_free(struct pack_writer *w);

/* ---- reading ---- */

struct pack_reader;

/* Limits of what is unpacked: a small archive that claims to hold terabytes is an attack. */
#define PACK_RATIO     200u
#define PACK_ALLOWANCE (64u << 20)
#define PACK_MEMBERS   65536u

/* Could fd hold an archive: gzip, zstd or plain tar, by its first bytes? */
bool pack_looks_so(int fd);

/* fd: a file at any place, stays the caller's and open meanwhile. ERR_DAMAGED: no archive. name:
 * for messages. */
int pack_reader_new(struct pack_reader **out, int fd, const char *name, struct err *e);
/* 1: a member, a regular file whose name is ok (borrowed until the next call; *n its claimed size,
 * at most what may come out); 0: the end. ERR_DAMAGED, ERR_LIMIT. Members of other kinds, and names
 * that are not ok, are damage. */
int pack_next(struct pack_reader *r, const char **member, uint64_t *n, struct err *e);
/* Up to n bytes of the member: how many, 0 at its end. */
long pack_read(struct pack_reader *r, void *p, size_t n, struct err *e);
void pack_reader_free(struct pack_reader *r);

#endif
