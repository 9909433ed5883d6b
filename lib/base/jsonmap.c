/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs to JSON and back by tables of their members (base/jsonmap.h). Writing and reading walk
 * the same table; objects inside of objects are walked by recursion, as deep as the tables are.
 */
#include "lib/base/jsonmap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/jsonr.h"

#define PATH_DEPTH 8

/* A list of whatever struct: their members have the same places. */
typedef LIST(void) any_list;

static any_list get_list(const void *at)
{
	any_list list;

	memcpy(&list, at, sizeof(list));
	return list;
}

static bool *flag_of(const struct jsonmap_member *m, const void *in)
{
	return (bool *)((char *)(uintptr_t)in + m->flag - 1);
}

static bool has_value(const struct jsonmap_member *m, const void *in)
{
	const void *at = (const char *)in + m->offset;

	if (m->flag)
		return *flag_of(m, in);
	switch (m->type) {
	case JSONMAP_TEXT:
		return ((const struct bytes *)at)->p != NULL;
	case JSONMAP_U32:
		return *(const uint32_t *)at != 0;
	case JSONMAP_U64:
		return *(const uint64_t *)at != 0;
	case JSONMAP_I64:
	case JSONMAP_I64TEXT:
		return *(const int64_t *)at != 0;
	case JSONMAP_DOUBLE:
		return !(*(const double *)at < 0);
	case JSONMAP_BOOL:
		return *(const bool *)at;
	case JSONMAP_OBJECTS:
	case JSONMAP_TEXTS:
	case JSONMAP_NUMBERS:
		return get_list(at).v != NULL;
	default:
		return true;
	}
}

static void write_texts(const struct jsonmap_texts *list, struct jsonw *j)
{
	jsonw_array_begin(j);
	for (size_t i = 0; i < list->n; i++)
		jsonw_bytes(j, list->v[i]);
	jsonw_array_end(j);
}

static void write_numbers(const struct jsonmap_numbers *list, struct jsonw *j)
{
	jsonw_array_begin(j);
	for (size_t i = 0; i < list->n; i++)
		jsonw_u64(j, list->v[i]);
	jsonw_array_end(j);
}

static void write_named(const struct jsonmap_names *list, struct jsonw *j)
{
	struct buf key = { 0 };

	jsonw_object_begin(j);
	for (size_t i = 0; i < list->n; i++) {
		buf_reset(&key);
		buf_add(&key, list->v[i].name.p, list->v[i].name.n);
		jsonw_key_u64(j, buf_text(&key), list->v[i].value);
	}
	jsonw_object_end(j);
	j->out->failed |= key.failed;
	buf_free(&key);
}

static void write_objects(const struct jsonmap *map, any_list list, struct jsonw *j)
{
	jsonw_array_begin(j);
	for (size_t i = 0; i < list.n; i++)
		jsonmap_write(map, (const char *)list.v + i * map->size, j);
	jsonw_array_end(j);
}

static void write_number(const struct jsonmap_member *m, const void *at, struct jsonw *j)
{
	char text[24];

	switch (m->type) {
	case JSONMAP_U32:
		jsonw_u64(j, *(const uint32_t *)at);
		break;
	case JSONMAP_U64:
		jsonw_u64(j, *(const uint64_t *)at);
		break;
	case JSONMAP_I64:
		jsonw_i64(j, *(const int64_t *)at);
		break;
	case JSONMAP_I64TEXT:
		snprintf(text, sizeof(text), "%" PRId64, *(const int64_t *)at);
		jsonw_str(j, text);
		break;
	default:
		jsonw_double(j, *(const double *)at);
		break;
	}
}

static void write_value(const struct jsonmap_member *m, const void *at, struct jsonw *j)
{
	switch (m->type) {
	case JSONMAP_TEXT:
		jsonw_bytes(j, *(const struct bytes *)at);
		break;
	case JSONMAP_BOOL:
		jsonw_bool(j, *(const bool *)at);
		break;
	case JSONMAP_OBJECT:
		jsonmap_write(m->of, at, j);
		break;
	case JSONMAP_OBJECTS:
		write_objects(m->of, get_list(at), j);
		break;
	case JSONMAP_TEXTS:
		write_texts(at, j);
		break;
	case JSONMAP_NUMBERS:
		write_numbers(at, j);
		break;
	case JSONMAP_NAMED:
		write_named(at, j);
		break;
	default:
		write_number(m, at, j);
		break;
	}
}

void jsonmap_write(const struct jsonmap *map, const void *from, struct jsonw *j)
{
	jsonw_object_begin(j);
	if (map->schema)
		jsonw_key_str(j, "schema", map->schema);
	for (unsigned i = 0; i < map->n; i++) {
		const struct jsonmap_member *m = &map->members[i];
		bool has = has_value(m, from);

		if (!has && m->absent == JSONMAP_LEFT_OUT)
			continue;
		jsonw_key(j, m->key);
		if (!has && m->absent == JSONMAP_NULL)
			jsonw_null(j);
		else
			write_value(m, (const char *)from + m->offset, j);
	}
	jsonw_object_end(j);
}

/* ---- reading ---- */

struct reading {
	struct jsonr r;
	const char *path[PATH_DEPTH]; /* keys from the outermost object to the current member */
	unsigned depth;
	struct err *e;
	bool wrong;
};

/* Skips a value of the wrong type. Only the first such value sets the caller's error. */
static void note_wrong(struct reading *in, const char *wanted)
{
	struct buf path = { 0 };

	if (!in->wrong) {
		for (unsigned i = 0; i < in->depth; i++)
			buf_printf(&path, "%s%s", i ? "." : "", in->path[i]);
		err_set(in->e, ERR_DAMAGED, "\"%s\" is not %s", buf_text(&path), wanted);
		buf_free(&path);
	}
	in->wrong = true;
	jsonr_skip(&in->r);
}

static void read_object(struct reading *in, const struct jsonmap *map, void *to);

static void read_objects(struct reading *in, const struct jsonmap *map, void *to)
{
	any_list list;

	if (!jsonr_array(&in->r)) {
		note_wrong(in, "a list");
		return;
	}
	in->r.failed |=
		!list_begin_(&list.v, &list.n, jsonr_count(&in->r), map->size, in->r.memory);
	while (!in->r.failed && jsonr_element(&in->r)) {
		void *at = (char *)list.v + list.n * map->size;

		memset(at, 0, map->size);
		if (jsonr_object(&in->r)) {
			read_object(in, map, at);
			list.n++;
		} else {
			note_wrong(in, "a list of objects");
		}
	}
	memcpy(to, &list, sizeof(list));
}

static void read_texts(struct reading *in, struct jsonmap_texts *list)
{
	if (!jsonr_array(&in->r)) {
		note_wrong(in, "a list");
		return;
	}
	in->r.failed |= !list_begin(list, jsonr_count(&in->r), in->r.memory);
	while (!in->r.failed && jsonr_element(&in->r)) {
		if (jsonr_text(&in->r, &list->v[list->n]))
			list->n++;
		else
			note_wrong(in, "a list of texts");
	}
}

static bool read_u32(struct jsonr *r, uint32_t *to)
{
	struct jsonr before = *r;
	uint64_t x;

	if (!jsonr_u64(r, &x))
		return false;
	if (x > UINT32_MAX) {
		*r = before;
		return false;
	}
	*to = (uint32_t)x;
	return true;
}

static void read_numbers(struct reading *in, struct jsonmap_numbers *list)
{
	if (!jsonr_array(&in->r)) {
		note_wrong(in, "a list");
		return;
	}
	in->r.failed |= !list_begin(list, jsonr_count(&in->r), in->r.memory);
	while (!in->r.failed && jsonr_element(&in->r)) {
		if (read_u32(&in->r, &list->v[list->n]))
			list->n++;
		else
			note_wrong(in, "a list of numbers");
	}
}

static void read_named(struct reading *in, struct jsonmap_names *list)
{
	struct bytes key;

	if (!jsonr_object(&in->r)) {
		note_wrong(in, "an object");
		return;
	}
	in->r.failed |= !list_begin(list, 0, in->r.memory);
	while (!in->r.failed && jsonr_member(&in->r, &key)) {
		struct jsonmap_named one = { .name = key }, *at;

		if (!jsonr_u64(&in->r, &one.value)) {
			note_wrong(in, "an object of numbers");
			continue;
		}
		at = list_add(list, in->r.memory);
		in->r.failed |= !at;
		if (at)
			*at = one;
	}
}

static bool read_i64_text(struct jsonr *r, int64_t *to)
{
	struct jsonr before = *r, inside;
	struct bytes text;
	int64_t x;

	if (!jsonr_text(r, &text))
		return false;
	jsonr_init(&inside, text, r->memory);
	if (!text.n || !jsonr_i64(&inside, &x) || inside.p != inside.end) {
		*r = before;
		return false;
	}
	*to = x;
	return true;
}

/* False: the next value is not of the member's type. */
static bool read_scalar(struct jsonr *r, const struct jsonmap_member *m, void *at)
{
	switch (m->type) {
	case JSONMAP_TEXT:
		return jsonr_text(r, at);
	case JSONMAP_U32:
		return read_u32(r, at);
	case JSONMAP_U64:
		return jsonr_u64(r, at);
	case JSONMAP_I64:
		return jsonr_i64(r, at);
	case JSONMAP_I64TEXT:
		return read_i64_text(r, at);
	case JSONMAP_DOUBLE:
		return jsonr_double(r, at);
	default:
		return jsonr_bool(r, at);
	}
}

static const char *wanted_text(enum jsonmap_type type)
{
	switch (type) {
	case JSONMAP_TEXT:
		return "a text";
	case JSONMAP_U32:
	case JSONMAP_U64:
		return "a number from 0 on, whole and not too large";
	case JSONMAP_I64:
		return "a whole number";
	case JSONMAP_I64TEXT:
		return "a whole number as a text";
	case JSONMAP_DOUBLE:
		return "a number";
	default:
		return "true or false";
	}
}

static void read_member(struct reading *in, const struct jsonmap_member *m, void *to)
{
	void *at = (char *)to + m->offset;
	bool good = true;

	switch (m->type) {
	case JSONMAP_OBJECT:
		good = jsonr_object(&in->r);
		if (good)
			read_object(in, m->of, at);
		else
			note_wrong(in, "an object");
		break;
	case JSONMAP_OBJECTS:
		read_objects(in, m->of, at);
		break;
	case JSONMAP_TEXTS:
		read_texts(in, at);
		break;
	case JSONMAP_NUMBERS:
		read_numbers(in, at);
		break;
	case JSONMAP_NAMED:
		read_named(in, at);
		break;
	default:
		good = read_scalar(&in->r, m, at);
		if (!good)
			note_wrong(in, wanted_text(m->type));
	}
	if (m->flag && good)
		*flag_of(m, to) = true;
}

static const struct jsonmap_member *find_member(const struct jsonmap *map, struct bytes key)
{
	for (unsigned i = 0; i < map->n; i++)
		if (bytes_equal(key, bytes_of(map->members[i].key)))
			return &map->members[i];
	return NULL;
}

/* Just entered. */
static void read_object(struct reading *in, const struct jsonmap *map, void *to)
{
	struct bytes key;

	while (!in->r.failed && jsonr_member(&in->r, &key)) {
		const struct jsonmap_member *m = find_member(map, key);

		if (!m || in->depth == PATH_DEPTH) {
			jsonr_skip(&in->r);
		} else if (!jsonr_null(&in->r)) {
			in->path[in->depth++] = m->key;
			read_member(in, m, to);
			in->depth--;
		}
	}
}

int jsonmap_read(const struct jsonmap *map, struct bytes text, void *to, struct arena *memory,
		 struct err *e)
{
	struct reading in = { .e = e };

	jsonr_init(&in.r, text, memory);
	if (!jsonr_object(&in.r))
		return err_set(e, ERR_DAMAGED, "it is not an object");
	read_object(&in, map, to);
	if (in.r.failed)
		return err_nomem(e);
	return in.wrong ? ERR_DAMAGED : 0;
}
