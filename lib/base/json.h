/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON values and their text, on libjq's jv (the only place that knows it). A struct json is one
 * reference, owned by who made it: json_set and json_append take the value over, json_get and
 * json_at return a new reference, json_free gives one back. JSON_NONE (zero-initialised) is no
 * value at all, e.g. a missing key. Integers beyond 2^53 do not survive a number: ids are strings.
 */
#ifndef INGERO_BASE_JSON_H
#define INGERO_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"

enum json_type {
	JSON_TYPE_NONE,
	JSON_TYPE_NULL,
	JSON_TYPE_BOOL,
	JSON_TYPE_NUMBER,
	JSON_TYPE_STRING,
	JSON_TYPE_ARRAY,
	JSON_TYPE_OBJECT
};

/* Opaque: the bytes of one jv, and whether there is one. */
struct json {
	bool is;
	uint64_t jv_[2];
};

#define JSON_NONE ((struct json){ 0 })

/* Before jv is used otherwise in this thread: without memory it aborts, and then comes to
 * oom_flag_end. */
void json_ready(void);

struct json json_object(void);
struct json json_array(void);
struct json json_string(struct bytes text); /* invalid UTF-8 becomes U+FFFD */
struct json json_text(const char *text);
struct json json_number(double x); /* not finite becomes null */
struct json json_bool(bool x);
struct json json_null(void);

void json_set(struct json *object, const char *key, struct json value);
void json_append(struct json *array, struct json value);

enum json_type json_type(struct json v);
struct json json_get(struct json object,
		     const char *key);		  /* JSON_NONE when missing or not an object */
struct json json_at(struct json array, size_t i); /* JSON_NONE when out of range or not an array */
size_t json_length(struct json v);		  /* members of an array or object; else 0 */

/* Members of an object one by one, *at 0 to begin; key and value are new references. */
bool json_each(struct json object, int *at, struct json *key, struct json *value);

bool json_is_true(struct json v);
double json_double(struct json v, double otherwise);
struct bytes json_bytes(struct json v); /* text of a string, borrowed from v; {NULL, 0} otherwise */

void json_free(struct json v);

/* One JSON text. ERR_DAMAGED says where; nesting is limited by the parser. */
int json_parse(struct bytes text, struct json *out, struct err *e);

enum json_dump_flag { JSON_DUMP_PRETTY = 1, JSON_DUMP_SORTED = 2 };
void json_dump(struct buf *out, struct json v, int flags);

#endif
