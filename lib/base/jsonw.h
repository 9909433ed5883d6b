/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON text straight into a buffer, for output too large to hold as values. Commas, quoting
 * and indentation are its business; keys inside objects and nesting are the caller's. Text that is
 * not UTF-8 is written with U+FFFD, so that the output is always valid JSON.
 */
#ifndef INGERO_BASE_JSONW_H
#define INGERO_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

#define JSONW_DEPTH_MAX 64

struct jsonw {
	struct buf *out;
	bool pretty; /* newlines and two spaces per level */
	unsigned depth;
	bool after_key;
	uint64_t filled; /* bit per level: something was already written there */
};

void jsonw_init(struct jsonw *w, struct buf *out, bool pretty);

void jsonw_object_begin(struct jsonw *w);
void jsonw_object_end(struct jsonw *w);
void jsonw_array_begin(struct jsonw *w);
void jsonw_array_end(struct jsonw *w);
void jsonw_key(struct jsonw *w, const char *key);

void jsonw_str(struct jsonw *w, const char *text); /* NULL is null */
void jsonw_bytes(struct jsonw *w, struct bytes text);
void jsonw_u64(struct jsonw *w, uint64_t x);
void jsonw_i64(struct jsonw *w, int64_t x);
void jsonw_double(struct jsonw *w,
		  double x); /* shortest text that reads back the same; not finite is null */
void jsonw_hex(struct jsonw *w, uint64_t x); /* "0x7f…": handles and pointers */
void jsonw_id(struct jsonw *w, uint64_t x);  /* a number as a string */
void jsonw_bool(struct jsonw *w, bool x);
void jsonw_null(struct jsonw *w);
/* Copies JSON text and escapes invisible characters; it parses to the same value. */
void jsonw_put_seen(struct buf *out, struct bytes json);
void jsonw_raw(struct jsonw *w, struct bytes json); /* one finished value */

/* A key and its value. */
void jsonw_key_object(struct jsonw *w, const char *key);		   /* begins one */
void jsonw_key_array(struct jsonw *w, const char *key);			   /* begins one */
void jsonw_key_str(struct jsonw *w, const char *key, const char *text);	   /* NULL is null */
void jsonw_key_bytes(struct jsonw *w, const char *key, struct bytes text); /* absent is null */
void jsonw_key_u64(struct jsonw *w, const char *key, uint64_t x);
void jsonw_key_i64(struct jsonw *w, const char *key, int64_t x);
void jsonw_key_double(struct jsonw *w, const char *key, double x);
void jsonw_key_bool(struct jsonw *w, const char *key, bool x);
void jsonw_key_null(struct jsonw *w, const char *key);

#endif
