/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the JSON members that events and records share. A member whose value is unknown is left
 * out.
 */
#include "lib/world/parts_json.h"

#include <stdio.h>

#include "lib/base/timetext.h"
#include "lib/world/frame_parts.h"

void json_string_of(struct jsonw *j, const struct world *w, const char *key, uint32_t string)
{
	struct bytes t = world_text(w, string);

	if (t.n)
		jsonw_key_bytes(j, key, t);
}

void json_hex(struct jsonw *j, const char *key, uint64_t v)
{
	jsonw_key(j, key);
	jsonw_hex(j, v);
}

/* A time: as UTC under the first key if the offset of the recording's clock is known, as ns since
 * the recording began under the second. */
void json_when(struct jsonw *j, const struct late_names *t, const char *utc, const char *since,
	       int64_t ns)
{
	char iso[64];

	if (t->has_real)
		jsonw_key_str(j, utc, time_iso(iso, sizeof(iso), ns + t->real_minus_mono_ns));
	if (t->has_start)
		jsonw_key_i64(j, since, ns - t->start_ns);
}

/* "python3/4711/4712": a thread named by another event's column. */
void json_thread(struct jsonw *j, const struct world *w, const struct late_names *t,
		 const char *key, uint32_t id, int64_t at_ns)
{
	const struct world_thread *th = world_get_thread(w, id);
	const struct world_process *p = th ? world_get_process(w, th->process) : NULL;

	if (!th)
		return;
	jsonw_key_object(j, key);
	json_string_of(j, w, "name", world_thread_name(w, id, at_ns));
	if (p)
		jsonw_key_u64(j, "pid", p->tgid);
	jsonw_key_u64(j, "tid", th->tid);
	jsonw_object_end(j);
}

void json_process(struct jsonw *j, const struct world *w, const char *key, uint32_t id)
{
	const struct world_process *p = world_get_process(w, id);

	if (p)
		jsonw_key_u64(j, key, p->tgid);
}

void json_gpu(struct jsonw *j, const struct world *w, uint32_t id)
{
	const struct world_gpu *g = world_get_gpu(w, id);

	if (!g)
		return;
	jsonw_key_u64(j, "gpu_id", g->index);
	json_string_of(j, w, "gpu", g->uuid);
}

void json_cgroup(struct jsonw *j, const struct world *w, uint32_t id)
{
	const struct world_cgroup *c = world_get_cgroup(w, id);

	if (!c)
		return;
	jsonw_key(j, "cgroup_id");
	jsonw_id(j, c->id);
	json_string_of(j, w, "cgroup", c->path);
}

static void append_frame(struct jsonw *j, const struct world *w, uint32_t id)
{
	struct place p = place_of(w, id);
	struct buf name = { 0 };
	bool python = p.kind == FRAME_PYTHON;

	jsonw_object_begin(j);
	if (p.function.n || p.kind == FRAME_GAP) {
		place_name(&name, &p);
		jsonw_key_bytes(j, python ? "py_func" : "symbol", buf_bytes(&name));
	} else {
		json_hex(j, "ip", p.address);
	}
	if (p.file.n)
		jsonw_key_bytes(j, python ? "py_file" : "file", p.file);
	if (p.line)
		jsonw_key_u64(j, python ? "py_line" : "line", p.line);
	if (p.module.n)
		jsonw_key_bytes(j, "module", p.module);
	jsonw_object_end(j);
	buf_free(&name);
}

void json_frames(struct jsonw *j, const struct world *w, uint32_t id)
{
	unsigned n = 0;
	const uint32_t *frames = id ? world_get_stack(w, id, &n) : NULL;

	jsonw_array_begin(j);
	for (unsigned i = 0; i < n; i++)
		append_frame(j, w, frames[i]);
	jsonw_array_end(j);
}

void json_stack(struct jsonw *j, const struct world *w, uint32_t id)
{
	unsigned n = 0;

	if (!id || !world_get_stack(w, id, &n) || !n)
		return;
	jsonw_key(j, "stack");
	json_frames(j, w, id);
}

void json_op(struct jsonw *j, const struct op_def *op, uint16_t number)
{
	char unknown[16];

	if (op) {
		jsonw_key_str(j, "source", op->source_name);
		jsonw_key_str(j, "op", op->name);
		return;
	}
	snprintf(unknown, sizeof(unknown), "op 0x%04x", number);
	jsonw_key_str(j, "source", "?");
	jsonw_key_str(j, "op", unknown);
}
