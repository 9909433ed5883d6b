/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what tables of ingero-stat's JSON value hold by their columns, as JSON Schema: one object,
 * a member for each table; null of what only the code of a column knows.
 */
#include <stdio.h>

#include "lib/report/report_columns.h"

static void types(struct jsonw *j, const char *type, bool maybe)
{
	jsonw_key(j, "type");
	if (!maybe) {
		jsonw_str(j, type);
		return;
	}
	jsonw_array_begin(j);
	jsonw_str(j, type);
	jsonw_str(j, "null");
	jsonw_array_end(j);
}

static void whole_number(struct jsonw *j, bool maybe)
{
	types(j, "integer", maybe);
	jsonw_key_u64(j, "minimum", 0);
}

static void names(struct jsonw *j, const char *const *names)
{
	jsonw_key_array(j, "enum");
	for (; *names; names++)
		jsonw_str(j, *names);
	jsonw_array_end(j);
}

static void value(struct jsonw *j, const struct column *c)
{
	bool maybe = c->maybe || c->events;

	switch (c->kind) {
	case COLUMN_COUNT:
	case COLUMN_COUNT32:
	case COLUMN_BYTES:
	case COLUMN_NS:
	case COLUMN_QUANTILE:
	case COLUMN_BAD:
	case COLUMN_LOST:
		whole_number(j, maybe);
		break;
	case COLUMN_NUMBER32:
		whole_number(j, true);
		break;
	case COLUMN_SIGNED:
		types(j, "integer", maybe);
		break;
	case COLUMN_REAL:
		types(j, "number", maybe);
		jsonw_key_u64(j, "minimum", 0);
		break;
	case COLUMN_BOOL:
		types(j, "boolean", maybe);
		break;
	case COLUMN_STRING:
	case COLUMN_NODE:
		types(j, "string", true);
		break;
	case COLUMN_NAME:
		if (c->names) {
			names(j, c->names);
			break;
		}
		/* fallthrough */
	default:
		types(j, "string", maybe);
	}
}

/* What view_json_estimate writes. */
static void estimate(struct jsonw *j)
{
	static const char *const counts[] = { "estimated_count", "estimated_errors",
					      "estimated_total_ns" };

	jsonw_key_object(j, "at_least");
	types(j, "boolean", false);
	jsonw_object_end(j);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		jsonw_key_object(j, counts[i]);
		whole_number(j, false);
		jsonw_object_end(j);
	}
	jsonw_key_object(j, "covered");
	types(j, "number", false);
	jsonw_key_u64(j, "minimum", 0);
	jsonw_key_u64(j, "maximum", 1);
	jsonw_object_end(j);
}

static void process(struct jsonw *j)
{
	jsonw_key_object(j, "pid");
	whole_number(j, true);
	jsonw_object_end(j);
	jsonw_key_object(j, "node");
	types(j, "string", true);
	jsonw_object_end(j);
}

static void schema(struct jsonw *j, const struct columns *c);

static void array(struct jsonw *j, const struct column *c)
{
	jsonw_object_begin(j);
	types(j, "array", c->maybe || c->events);
	if (c->most)
		jsonw_key_u64(j, "maxItems", c->most);
	jsonw_key(j, "items");
	schema(j, c->rows);
	jsonw_object_end(j);
}

static void property(struct jsonw *j, const struct column *c)
{
	if (c->kind == COLUMN_ESTIMATE)
		estimate(j);
	else if (c->kind == COLUMN_PROCESS)
		process(j);
	if (!c->key)
		return;
	jsonw_key(j, c->key);
	if (c->rows) {
		array(j, c);
	} else if (c->kind == COLUMN_OWN) {
		jsonw_null(j);
	} else {
		jsonw_object_begin(j);
		value(j, c);
		jsonw_object_end(j);
	}
}

static void schema(struct jsonw *j, const struct columns *c)
{
	jsonw_object_begin(j);
	jsonw_key_str(j, "type", "object");
	jsonw_key_bool(j, "additionalProperties", false);
	jsonw_key_array(j, "required");
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].kind == COLUMN_PROCESS) {
			jsonw_str(j, "pid");
			jsonw_str(j, "node");
		} else if (c->v[i].key && !c->v[i].member) {
			jsonw_str(j, c->v[i].key);
		}
	}
	jsonw_array_end(j);
	jsonw_key_object(j, "properties");
	for (size_t i = 0; i < c->n; i++)
		property(j, &c->v[i]);
	jsonw_object_end(j);
	jsonw_object_end(j);
}

int main(void)
{
	static const struct columns *const all[] = {
		&columns_ops,	  &columns_kernels, &columns_by,     &columns_disks, &columns_files,
		&columns_sockets, &columns_memory,  &columns_graphs, &columns_comms,
	};
	struct buf out = { 0 };
	struct jsonw j;

	jsonw_init(&j, &out, true);
	jsonw_object_begin(&j);
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		jsonw_key(&j, all[i]->key);
		schema(&j, all[i]);
	}
	jsonw_object_end(&j);
	puts(buf_text(&out));
	buf_free(&out);
	return 0;
}
