/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin wrapper of libjq's jv: jv functions consume their arguments, these borrow them, which is
 * what C code expects. struct json holds a jv as plain bytes, so that no header needs jv.h.
 */
#include "lib/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jv.h>

#include "lib/base/jsonw.h"
#include "lib/base/oom_flag.h"

_Static_assert(sizeof(jv) <= sizeof(((struct json *)0)->jv_), "a jv must fit into struct json");

void json_ready(void)
{
	static _Thread_local bool is;

	if (!is)
		jv_nomem_handler(oom_flag_end, NULL);
	is = true;
}

static struct json wrap_jv(jv v)
{
	struct json out = { .is = true };

	memcpy(out.jv_, &v, sizeof(v));
	return out;
}

/* Borrowed; pass jv_copy(of(v)) where jv consumes. */
static jv borrow_jv(struct json v)
{
	jv out;

	if (!v.is)
		return jv_null();
	memcpy(&out, v.jv_, sizeof(out));
	return out;
}

static struct json wrap_valid(jv v)
{
	if (jv_is_valid(v))
		return wrap_jv(v);
	jv_free(v);
	return JSON_NONE;
}

struct json json_object(void)
{
	json_ready();
	return wrap_jv(jv_object());
}

struct json json_array(void)
{
	json_ready();
	return wrap_jv(jv_array());
}

struct json json_string(struct bytes text)
{
	json_ready();
	return wrap_jv(jv_string_sized(text.n ? text.p : "", (int)text.n));
}

struct json json_text(const char *text)
{
	return json_string(bytes_of(text));
}

struct json json_number(double x)
{
	return wrap_jv(isfinite(x) ? jv_number(x) : jv_null());
}

struct json json_bool(bool x)
{
	return wrap_jv(jv_bool(x));
}

struct json json_null(void)
{
	return wrap_jv(jv_null());
}

void json_set(struct json *object, const char *key, struct json value)
{
	*object = wrap_jv(jv_object_set(borrow_jv(*object), jv_string(key), borrow_jv(value)));
}

void json_append(struct json *array, struct json value)
{
	*array = wrap_jv(jv_array_append(borrow_jv(*array), borrow_jv(value)));
}

enum json_type json_type(struct json v)
{
	if (!v.is)
		return JSON_TYPE_NONE;
	switch (jv_get_kind(borrow_jv(v))) {
	case JV_KIND_NULL:
		return JSON_TYPE_NULL;
	case JV_KIND_FALSE:
	case JV_KIND_TRUE:
		return JSON_TYPE_BOOL;
	case JV_KIND_NUMBER:
		return JSON_TYPE_NUMBER;
	case JV_KIND_STRING:
		return JSON_TYPE_STRING;
	case JV_KIND_ARRAY:
		return JSON_TYPE_ARRAY;
	case JV_KIND_OBJECT:
		return JSON_TYPE_OBJECT;
	default:
		return JSON_TYPE_NONE;
	}
}

struct json json_get(struct json object, const char *key)
{
	if (json_type(object) != JSON_TYPE_OBJECT)
		return JSON_NONE;
	return wrap_valid(jv_object_get(jv_copy(borrow_jv(object)), jv_string(key)));
}

struct json json_at(struct json array, size_t i)
{
	if (json_type(array) != JSON_TYPE_ARRAY || i >= json_length(array))
		return JSON_NONE;
	return wrap_valid(jv_array_get(jv_copy(borrow_jv(array)), (int)i));
}

size_t json_length(struct json v)
{
	if (json_type(v) == JSON_TYPE_ARRAY)
		return (size_t)jv_array_length(jv_copy(borrow_jv(v)));
	if (json_type(v) == JSON_TYPE_OBJECT)
		return (size_t)jv_object_length(jv_copy(borrow_jv(v)));
	return 0;
}

bool json_each(struct json object, int *at, struct json *key, struct json *value)
{
	int iter;

	if (json_type(object) != JSON_TYPE_OBJECT)
		return false;
	iter = *at ? jv_object_iter_next(borrow_jv(object), *at - 1)
		   : jv_object_iter(borrow_jv(object));
	if (!jv_object_iter_valid(borrow_jv(object), iter))
		return false;
	*at = iter + 1;
	*key = wrap_jv(jv_object_iter_key(borrow_jv(object), iter));
	*value = wrap_jv(jv_object_iter_value(borrow_jv(object), iter));
	return true;
}

bool json_is_true(struct json v)
{
	return v.is && jv_get_kind(borrow_jv(v)) == JV_KIND_TRUE;
}

double json_double(struct json v, double otherwise)
{
	return json_type(v) == JSON_TYPE_NUMBER ? jv_number_value(borrow_jv(v)) : otherwise;
}

struct bytes json_bytes(struct json v)
{
	jv s = borrow_jv(v);

	if (json_type(v) != JSON_TYPE_STRING)
		return (struct bytes){ 0 };
	return (struct bytes){ jv_string_value(s), (size_t)jv_string_length_bytes(jv_copy(s)) };
}

void json_free(struct json v)
{
	if (v.is)
		jv_free(borrow_jv(v));
}

int json_parse(struct bytes text, struct json *out, struct err *e)
{
	jv v;

	if (text.n > INT32_MAX)
		return err_set(e, ERR_LIMIT, "JSON text is longer than 2 GiB");
	json_ready();
	v = jv_parse_sized(text.n ? text.p : "", (int)text.n);
	if (!jv_is_valid(v)) {
		jv msg = jv_invalid_get_msg(v);
		const char *why =
			jv_get_kind(msg) == JV_KIND_STRING ? jv_string_value(msg) : "no value";

		err_set(e, ERR_DAMAGED, "not JSON: %s", why);
		jv_free(msg);
		return ERR_DAMAGED;
	}
	*out = wrap_jv(v);
	return 0;
}

void json_dump(struct buf *out, struct json v, int flags)
{
	int jv_flags = (flags & JSON_DUMP_PRETTY ? JV_PRINT_PRETTY | JV_PRINT_INDENT_FLAGS(2) : 0) |
		       (flags & JSON_DUMP_SORTED ? JV_PRINT_SORTED : 0);
	jv text = jv_dump_string(jv_copy(borrow_jv(v)), jv_flags);

	jsonw_put_seen(out, (struct bytes){ jv_string_value(text),
					    (size_t)jv_string_length_bytes(jv_copy(text)) });
	jv_free(text);
}
