/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading JSON text value by value, without building a tree: numbers keep all their digits, texts
 *without escapes are parts of the text that is read. Only for text that json_check
 *(base/jsoncheck.h) found good.
 *
 *	if (jsonr_object(&r))
 *		while (jsonr_member(&r, &key))
 *			jsonr_u64(&r, &n) || jsonr_skip(&r);
 */
#ifndef INGERO_BASE_JSONR_H
#define INGERO_BASE_JSONR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/bytes.h"

struct jsonr {
	const char *p, *end;
	struct arena *memory; /* of texts with escapes */
	bool failed;	      /* memory is exhausted: what was read is not whole */
};

void jsonr_init(struct jsonr *r, struct bytes text, struct arena *memory);

/* Enters the object or array that comes next; false: the next value is no such thing, and is still
 * the next. */
bool jsonr_object(struct jsonr *r);
bool jsonr_array(struct jsonr *r);

/* Inside of one, between its values: whether another one follows, which is then the next. Leaves it
 * otherwise. */
bool jsonr_member(struct jsonr *r, struct bytes *key);
bool jsonr_element(struct jsonr *r);

/* The next value, if it is one of that kind and size; false: it is not, and is still the next, and
 * what is pointed to is as it was. */
bool jsonr_text(struct jsonr *r, struct bytes *out);
bool jsonr_u64(struct jsonr *r, uint64_t *out);
bool jsonr_i64(struct jsonr *r, int64_t *out);
bool jsonr_double(struct jsonr *r, double *out);
bool jsonr_bool(struct jsonr *r, bool *out);
bool jsonr_null(struct jsonr *r);

/* Past the next value, whatever it is. */
void jsonr_skip(struct jsonr *r);

/* How many elements are left in the array that was just entered. */
uint64_t jsonr_count(const struct jsonr *r);

#endif
