/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a text one JSON value as RFC 8259 has it, in UTF-8, and not nested too deeply? Asked of text
 * from outside before it is parsed into values: the parser behind base/json.h takes more than JSON
 * (nan), loses memory over some texts that are none, and takes very long over numbers of a million
 * digits.
 */
#ifndef INGERO_BASE_JSONCHECK_H
#define INGERO_BASE_JSONCHECK_H

#include "lib/base/bytes.h"
#include "lib/base/err.h"

/* ERR_DAMAGED: says at which byte it ends to be JSON; ERR_LIMIT: nested deeper than depth_max (at
 * most 512). */
int json_check(struct bytes text, unsigned depth_max, struct err *e);

/* The same, and ERR_LIMIT where its values take more memory than about size_max times
 * JSON_SIZE_BYTES, which two bytes of text can: a number counts once, a text, also as a key, two or
 * three times (its letters besides), an array or object 16 times. *size receives that count; size
 * may be NULL. */
#define JSON_SIZE_BYTES                                                                           \
	25 /* libjq 1.6 and 1.7: an empty object takes 400, a number in an array 16 and what that \
	      has in reserve */
int json_check_size(struct bytes text, unsigned depth_max, size_t size_max, size_t *size,
		    struct err *e);

#endif
