/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over a schema and a value side by side; the path grows and shrinks with it. */
#include "lib/mcp/mcp_internal.h"

#include <math.h>
#include <string.h>

#define DEPTH_MAX 48 /* of schemas: ours are a handful deep */

struct walk {
	struct buf path;
	unsigned depth;
	struct err *e;
};

static int check_value(struct walk *w, struct json schema, struct json value);

static int set_wrong(struct walk *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int set_wrong(struct walk *w, const char *fmt, ...)
{
	struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	err_set(w->e, ERR_USAGE, "%.160s %.300s", buf_text(&w->path), buf_text(&text));
	buf_free(&text);
	return ERR_USAGE;
}

static bool is_equal(struct json a, struct json b)
{
	struct buf x = { 0 }, y = { 0 };
	bool is;

	if (json_type(a) == JSON_TYPE_NUMBER && json_type(b) == JSON_TYPE_NUMBER)
		return json_double(a, 0) == json_double(b, 0);
	json_dump(&x, a, JSON_DUMP_SORTED);
	json_dump(&y, b, JSON_DUMP_SORTED);
	is = bytes_equal(buf_bytes(&x), buf_bytes(&y));
	buf_free(&x);
	buf_free(&y);
	return is;
}

static bool is_type(struct json value, struct bytes type)
{
	static const struct {
		const char *name;
		enum json_type type;
	} types[] = { { "object", JSON_TYPE_OBJECT }, { "array", JSON_TYPE_ARRAY },
		      { "string", JSON_TYPE_STRING }, { "boolean", JSON_TYPE_BOOL },
		      { "number", JSON_TYPE_NUMBER }, { "null", JSON_TYPE_NULL },
		      { "integer", JSON_TYPE_NUMBER } };
	double x = json_double(value, 0);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (bytes_equal(type, bytes_of(types[i].name)))
			return json_type(value) == types[i].type &&
			       (strcmp(types[i].name, "integer") || x == floor(x));
	return true; /* no type of JSON Schema */
}

static int check_type(struct walk *w, struct json type, struct json value)
{
	struct buf names = { 0 };
	bool is = json_type(type) == JSON_TYPE_STRING && is_type(value, json_bytes(type));

	if (json_type(type) == JSON_TYPE_STRING)
		buf_add(&names, json_bytes(type).p, json_bytes(type).n);
	for (size_t i = 0; i < json_length(type) && !is; i++) {
		struct json one = json_at(type, i);

		is = is_type(value, json_bytes(one));
		buf_printf(&names, "%s%.*s", i ? " or " : "", (int)json_bytes(one).n,
			   json_bytes(one).p ? json_bytes(one).p : "");
		json_free(one);
	}
	if (!is)
		set_wrong(w, "has to be of type %s", buf_text(&names));
	buf_free(&names);
	return is ? 0 : ERR_USAGE;
}

static int check_enum(struct walk *w, struct json choices, struct json value)
{
	struct buf text = { 0 };
	bool is = false;

	for (size_t i = 0; i < json_length(choices) && !is; i++) {
		struct json one = json_at(choices, i);

		is = is_equal(one, value);
		json_free(one);
	}
	if (!is) {
		json_dump(&text, choices, 0);
		set_wrong(w, "has to be one of %s", buf_text(&text));
	}
	buf_free(&text);
	return is ? 0 : ERR_USAGE;
}

/* Characters, not bytes. */
static double text_length(struct bytes text)
{
	double n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
	return n;
}

static int check_bounds(struct walk *w, struct json schema, struct json value)
{
	static const struct {
		const char *key;
		enum json_type type;
		bool most, open;
		const char *say;
	} bounds[] = {
		{ "minimum", JSON_TYPE_NUMBER, false, false, "has to be at least %.15g" },
		{ "maximum", JSON_TYPE_NUMBER, true, false, "has to be at most %.15g" },
		{ "exclusiveMinimum", JSON_TYPE_NUMBER, false, true, "has to be more than %.15g" },
		{ "exclusiveMaximum", JSON_TYPE_NUMBER, true, true, "has to be less than %.15g" },
		{ "minLength", JSON_TYPE_STRING, false, false, "needs at least %.15g characters" },
		{ "maxLength", JSON_TYPE_STRING, true, false, "may have %.15g characters at most" },
		{ "minItems", JSON_TYPE_ARRAY, false, false, "needs at least %.15g elements" },
		{ "maxItems", JSON_TYPE_ARRAY, true, false, "may have %.15g elements at most" },
		{ "minProperties", JSON_TYPE_OBJECT, false, false, "needs at least %.15g members" },
		{ "maxProperties", JSON_TYPE_OBJECT, true, false,
		  "may have %.15g members at most" },
	};
	enum json_type type = json_type(value);
	double x = type == JSON_TYPE_NUMBER   ? json_double(value, 0)
		   : type == JSON_TYPE_STRING ? text_length(json_bytes(value))
					      : (double)json_length(value);
	int rc = 0;

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]) && !rc; i++) {
		struct json bound = json_get(schema, bounds[i].key);
		double b = json_double(bound, 0);

		if (type == bounds[i].type && json_type(bound) == JSON_TYPE_NUMBER &&
		    ((bounds[i].most ? x > b : x < b) || (bounds[i].open && x == b)))
			rc = set_wrong(w, bounds[i].say, b);
		json_free(bound);
	}
	return rc;
}

static int check_member(struct walk *w, struct json properties, struct json others, const char *key,
			struct json value)
{
	struct json schema = json_get(properties, key);
	size_t n = w->path.n;
	int rc = 0;

	if (schema.is || json_type(others) == JSON_TYPE_OBJECT) {
		buf_printf(&w->path, ".%.60s", key);
		rc = check_value(w, schema.is ? schema : others, value);
		w->path.n = n;
		w->path.p[n] = 0;
	} else if (json_type(others) == JSON_TYPE_BOOL && !json_is_true(others)) {
		struct buf known = { 0 };
		struct json name, of;

		for (int at = 0; json_each(properties, &at, &name, &of);) {
			buf_printf(&known, "%s%s", known.n ? ", " : "", json_bytes(name).p);
			json_free(name);
			json_free(of);
		}
		rc = set_wrong(w, "has no '%.60s'%s%s", key,
			       known.n ? ", only " : " nor anything else", buf_text(&known));
		buf_free(&known);
	}
	json_free(schema);
	return rc;
}

static int check_object(struct walk *w, struct json schema, struct json value)
{
	struct json required = json_get(schema, "required");
	struct json properties = json_get(schema, "properties");
	struct json others = json_get(schema, "additionalProperties");
	struct json key, member;
	int rc = 0;

	for (size_t i = 0; i < json_length(required) && !rc; i++) {
		struct json name = json_at(required, i);
		struct json there = json_get(value, json_bytes(name).p ? json_bytes(name).p : "");

		if (!there.is)
			rc = set_wrong(w, "needs '%.*s'", (int)json_bytes(name).n,
				       json_bytes(name).p ? json_bytes(name).p : "");
		json_free(name);
		json_free(there);
	}
	for (int at = 0; !rc && json_each(value, &at, &key, &member);) {
		rc = check_member(w, properties, others, json_bytes(key).p, member);
		json_free(key);
		json_free(member);
	}
	json_free(required);
	json_free(properties);
	json_free(others);
	return rc;
}

static int check_array(struct walk *w, struct json schema, struct json value)
{
	struct json items = json_get(schema, "items");
	size_t n = w->path.n;
	int rc = 0;

	for (size_t i = 0; json_type(items) == JSON_TYPE_OBJECT && i < json_length(value) && !rc;
	     i++) {
		struct json one = json_at(value, i);

		buf_printf(&w->path, "[%zu]", i);
		rc = check_value(w, items, one);
		w->path.n = n;
		w->path.p[n] = 0;
		json_free(one);
	}
	json_free(items);
	return rc;
}

/* Checks anyOf, oneOf and allOf by the number of forms that fit. The error is that of the last form
 * that does not. */
static int check_choices(struct walk *w, struct json schema, struct json value)
{
	static const char *const words[] = { "anyOf", "oneOf", "allOf" };
	int rc = 0;

	for (size_t k = 0; k < 3 && !rc; k++) {
		struct json choices = json_get(schema, words[k]);
		size_t n = json_length(choices), fit = 0;

		for (size_t i = 0; i < n; i++) {
			struct json one = json_at(choices, i);

			fit += check_value(w, one, value) == 0;
			json_free(one);
		}
		if (n && (k == 2 ? fit < n : !fit))
			rc = ERR_USAGE;
		else if (k == 1 && fit > 1)
			rc = set_wrong(w, "fits several forms of which it has to be one");
		json_free(choices);
	}
	return rc;
}

static int check_value(struct walk *w, struct json schema, struct json value)
{
	struct json type = json_get(schema, "type"), choices = json_get(schema, "enum");
	struct json only = json_get(schema, "const");
	int rc = 0;

	if (++w->depth > DEPTH_MAX)
		rc = set_wrong(w, "is nested too deeply");
	if (!rc && type.is)
		rc = check_type(w, type, value);
	if (!rc && choices.is)
		rc = check_enum(w, choices, value);
	if (!rc && only.is && !is_equal(only, value))
		rc = set_wrong(w, "is not what it has to be");
	if (!rc)
		rc = check_bounds(w, schema, value);
	if (!rc && json_type(value) == JSON_TYPE_OBJECT)
		rc = check_object(w, schema, value);
	if (!rc && json_type(value) == JSON_TYPE_ARRAY)
		rc = check_array(w, schema, value);
	if (!rc)
		rc = check_choices(w, schema, value);
	w->depth--;
	json_free(type);
	json_free(choices);
	json_free(only);
	return rc;
}

int mcp_schema_check(struct json schema, struct json value, const char *what, struct err *e)
{
	struct walk w = { .e = e };
	int rc;

	buf_puts(&w.path, what);
	rc = w.path.failed ? err_nomem(e) : check_value(&w, schema, value);
	buf_free(&w.path);
	return rc;
}
