/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a record of any kind as one JSON object. Fields are written by their roles, as columns of
 * events are: a new record needs no code here.
 */
#include "lib/world/record_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/model/body.h"
#include "lib/world/parts_json.h"

/* Bodies are objects in text; what a damaged recording has there stays text. */
static void text_field(struct jsonw *j, const char *key, struct bytes v)
{
	struct json body = JSON_NONE;
	struct buf line = { 0 };

	if (!strcmp(key, "body") && body_read(v, &body, BODY_SIZE_MAX, NULL) &&
	    json_type(body) == JSON_TYPE_OBJECT) {
		jsonw_key(j, key);
		json_dump(&line, body, 0);
		jsonw_raw(j, buf_bytes(&line));
	} else {
		jsonw_key_bytes(j, key, v);
	}
	buf_free(&line);
	json_free(body);
}

/* Writes a world id of a record by its role; false: the field is no world id. */
static bool append_subject(struct jsonw *j, const struct world *w, const struct late_names *t,
			   const struct record_field *f, uint64_t v)
{
	switch (f->role) {
	case RROLE_NODE:
		if (world_get_node(w, (uint32_t)v))
			json_string_of(j, w, f->name, world_get_node(w, (uint32_t)v)->name);
		return true;
	case RROLE_PROCESS:
		json_process(j, w, "pid", (uint32_t)v);
		return true;
	case RROLE_THREAD:
		json_thread(j, w, t, f->name, (uint32_t)v, INT64_MAX);
		return true;
	case RROLE_CGROUP:
		json_cgroup(j, w, (uint32_t)v);
		return true;
	case RROLE_GPU:
		json_gpu(j, w, (uint32_t)v);
		return true;
	case RROLE_STACK:
		json_stack(j, w, (uint32_t)v);
		return true;
	default:
		return false;
	}
}

/* Numbers that name something in a table of ours. */
static bool append_named_field(struct jsonw *j, const struct world *w, const struct record *r,
			       const struct record_field *f, uint64_t v)
{
	const struct metric_def *m;
	const char *name;

	if (r->kind == RECORD_SAMPLE && f->number == REC_SAMPLE_metric) {
		m = metric_builtin((uint16_t)v);
		if (m) {
			jsonw_key_str(j, "metric", m->name);
			jsonw_key_str(j, "unit", m->unit);
		}
		return m;
	}
	if (r->kind == RECORD_LOSS && f->number == REC_LOSS_reason) {
		jsonw_key_str(j, "reason", loss_reason_text((uint32_t)v));
		return true;
	}
	if (r->kind == RECORD_LOSS && f->number == REC_LOSS_source) {
		name = source_name((uint8_t)v);
		if (name)
			jsonw_key_str(j, "source", name);
		return name;
	}
	if ((r->kind == RECORD_OPEN && f->number == REC_OPEN_op) ||
	    (r->kind == RECORD_SAMPLED && f->number == REC_SAMPLED_op)) {
		json_op(j, world_op(w, (uint16_t)v), (uint16_t)v);
		return true;
	}
	return false;
}

static void append_number_field(struct jsonw *j, const struct world *w, const struct late_names *t,
				const struct record *r, const struct record_field *f, uint64_t v)
{
	if (append_named_field(j, w, r, f, v) || append_subject(j, w, t, f, v))
		return;
	/* 64 bits without a unit are an id or a handle. */
	if (f->type == REC_U64 && f->role == RROLE_OPAQUE)
		json_hex(j, f->name, v);
	else
		jsonw_key_u64(j, f->name, v);
}

static void append_field(struct jsonw *j, const struct world *w, const struct late_names *t,
			 const struct record *r, const struct record_field *f)
{
	const char *at = (const char *)&r->u + f->offset;
	struct bytes bytes;
	int64_t i64;
	uint64_t u64;
	uint32_t u32;
	double f64;
	char utc[64];

	switch (f->type) {
	case REC_I64:
		memcpy(&i64, at, sizeof(i64));
		if (f->role == RROLE_TIME) {
			snprintf(utc, sizeof(utc), "%s_utc", f->name);
			json_when(j, t, f->number == 1 ? "timestamp" : utc, f->name, i64);
		} else {
			/* Of another clock: beyond what a double holds. */
			snprintf(utc, sizeof(utc), "%" PRId64, i64);
			jsonw_key_str(j, f->name, utc);
		}
		return;
	case REC_U64:
		memcpy(&u64, at, sizeof(u64));
		append_number_field(j, w, t, r, f, u64);
		return;
	case REC_U32:
		memcpy(&u32, at, sizeof(u32));
		append_number_field(j, w, t, r, f, u32);
		return;
	case REC_F64:
		memcpy(&f64, at, sizeof(f64));
		jsonw_key_double(j, f->name, f64);
		return;
	case REC_TEXT:
		memcpy(&bytes, at, sizeof(bytes));
		text_field(j, f->name, bytes);
		return;
	}
}

void record_json(struct jsonw *j, const struct world *w, const struct late_names *t,
		 const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);

	jsonw_object_begin(j);
	jsonw_key_str(j, "record", def ? def->name : "?");
	for (unsigned i = 0; def && i < def->nfields; i++)
		if (record_has(r, def->fields[i].number))
			append_field(j, w, t, r, &def->fields[i]);
	jsonw_object_end(j);
}
