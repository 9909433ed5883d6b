/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions on their way out of a file: every entry is bounded, every reference is checked
 * against what was defined before it, and a reference to nothing becomes 0 and is counted.
 */
#include <string.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/dict.h"

void ige_dict_reader_init(struct ige_dict_reader *d, struct world *w)
{
	memset(d, 0, sizeof(*d));
	d->world = w;
}

void ige_dict_reader_reset(struct ige_dict_reader *d)
{
	for (int k = 0; k < IGE_D_KINDS; k++)
		d->kind[k].ids.n = 0;
	d->sites.n = 0;
	d->ops.n = 0;
	map_clear(&d->op_index);
}

void ige_dict_reader_free(struct ige_dict_reader *d)
{
	for (int k = 0; k < IGE_D_KINDS; k++)
		vec_free(&d->kind[k].ids);
	vec_free(&d->sites);
	vec_free(&d->ops);
	map_free(&d->op_index);
	buf_free(&d->scratch);
}

static uint32_t lookup(struct ige_dict_reader *d, enum ige_dict_kind kind, uint64_t id)
{
	if (id == 0)
		return 0;
	if (id < d->kind[kind].ids.n && d->kind[kind].ids.v[id])
		return d->kind[kind].ids.v[id];
	d->unknown++;
	return 0;
}

uint32_t ige_dict_world_id(struct ige_dict_reader *d, enum world_kind kind, uint64_t file_id)
{
	return lookup(d, (enum ige_dict_kind)(kind + 1), file_id);
}

const struct ige_site *ige_dict_get_site(struct ige_dict_reader *d, uint64_t file_id)
{
	if (file_id < d->sites.n && d->sites.v[file_id].op)
		return &d->sites.v[file_id];
	d->unknown++;
	return NULL;
}

/* Ids grow without gaps; a lost DICT block leaves one, whose ids stay undefined. */
#define GAP_MAX (1u << 20)

static bool remember(struct ige_dict_reader *d, enum ige_dict_kind kind, uint64_t id,
		     uint32_t world_id)
{
	while (d->kind[kind].ids.n <= id)
		if (!vec_push(&d->kind[kind].ids, 0))
			return false;
	d->kind[kind].ids.v[id] = world_id;
	return true;
}

static struct bytes take_text(struct cursor *c)
{
	uint64_t n = varint_get(c);
	const char *p = cursor_take(c, n);

	return (struct bytes){ p ? p : "", p ? (size_t)n : 0 };
}

#define REF(kind) lookup(d, IGE_D_##kind, varint_get(c))

static uint32_t take_subject(struct ige_dict_reader *d, enum ige_dict_kind kind, struct cursor *c)
{
	struct world *w = d->world;

	switch (kind) {
	case IGE_D_STRING:
		return world_string(w,
				    (struct bytes){ (const char *)c->p, (size_t)(c->end - c->p) });
	case IGE_D_NODE: {
		struct world_node v = { .boot = 0 };
		const void *uuid = cursor_take(c, 16);

		if (uuid)
			memcpy(v.uuid, uuid, 16);
		v.boot = varint_get(c);
		v.name = REF(STRING);
		return world_node(w, &v);
	}
	case IGE_D_PROCESS: {
		struct world_process v = { .node = REF(NODE) };

		v.tgid = (uint32_t)varint_get(c);
		v.start_ns = varint_get(c);
		v.parent = (uint32_t)varint_get(c);
		v.ns_tgid = (uint32_t)varint_get(c);
		v.uid = (uint32_t)varint_get(c);
		return world_process(w, &v);
	}
	case IGE_D_IMAGE: {
		struct world_image v = { .process = REF(PROCESS) };

		v.exec = (uint32_t)varint_get(c);
		v.exe = REF(STRING);
		v.cmdline = REF(STRING);
		v.comm = REF(STRING);
		return world_image(w, &v);
	}
	case IGE_D_THREAD: {
		struct world_thread v = { .process = REF(PROCESS) };

		v.tid = (uint32_t)varint_get(c);
		v.start_ns = varint_get(c);
		v.comm = REF(STRING);
		return world_thread(w, &v);
	}
	case IGE_D_CGROUP: {
		struct world_cgroup v = { .node = REF(NODE) };

		v.id = varint_get(c);
		v.path = REF(STRING);
		return world_cgroup(w, &v);
	}
	case IGE_D_GPU: {
		struct world_gpu v = { .node = REF(NODE) };

		v.uuid = REF(STRING);
		v.name = REF(STRING);
		v.index = (uint32_t)varint_get(c);
		return world_gpu(w, &v);
	}
	case IGE_D_MODULE: {
		struct world_module v = { .path = REF(STRING) };

		v.build_id = REF(STRING);
		return world_module(w, &v);
	}
	case IGE_D_FRAME: {
		struct world_frame v = { .kind = (uint8_t)varint_get(c) };

		v.module = REF(MODULE);
		v.offset = varint_get(c);
		v.name = REF(STRING);
		v.file = REF(STRING);
		return world_frame(w, &v);
	}
	case IGE_D_STACK: {
		uint32_t frames[WORLD_STACK_MAX];
		uint64_t n = varint_get(c);

		if (n > WORLD_STACK_MAX)
			c->failed = true;
		for (uint64_t i = 0; i < n && !c->failed; i++)
			frames[i] = REF(FRAME);
		return c->failed ? 0 : world_stack(w, frames, (unsigned)n);
	}
	case IGE_D_CTX: {
		struct world_ctx v = { .node = REF(NODE) };

		v.image = REF(IMAGE);
		v.thread = REF(THREAD);
		v.cgroup = REF(CGROUP);
		v.gpu = REF(GPU);
		return world_ctx(w, &v);
	}
	default:
		return 0;
	}
}

static void take_symbol(struct ige_dict_reader *d, struct cursor *c)
{
	uint32_t frame = REF(FRAME);
	struct world_symbol v = { .name = REF(STRING) };

	v.file = REF(STRING);
	v.line = (uint32_t)varint_get(c);
	v.delta = varint_get(c);
	if (frame && !c->failed)
		world_symbol(d->world, frame, &v);
}

static bool take_site(struct ige_dict_reader *d, struct cursor *c, uint64_t id)
{
	struct ige_site s = { .op = (uint16_t)varint_get(c) };
	const struct ige_file_op *op = ige_dict_op(d, s.op);
	uint64_t present;

	s.stack = REF(STACK);
	s.ret = (int32_t)unzigzag(varint_get(c));
	s.args = varint_get(c) != 0;
	if (s.args && op) {
		present = varint_get(c);
		for (unsigned i = 0; i < op->ncols; i++) {
			uint64_t value;

			if (!(present >> i & 1))
				continue;
			value = varint_get(c);
			if (op->to[i] >= 0) {
				s.x[op->to[i]] = value;
				s.present |= 1u << op->to[i];
			}
		}
	}
	if (c->failed)
		return true;
	while (d->sites.n <= id)
		if (!vec_push(&d->sites, (struct ige_site){ 0 }))
			return false;
	d->sites.v[id] = s;
	return true;
}

/* Text of a definition as a C string: without zero bytes, cut at the buffer's size. */
static const char *take_name(struct cursor *c, char *out, size_t size)
{
	struct bytes text = take_text(c);
	size_t n = text.n < size - 1 ? text.n : size - 1;

	memcpy(out, text.p, n);
	out[n] = '\0';
	return out;
}

static void take_column(struct ige_dict_reader *d, struct cursor *c)
{
	char name[64], unit[16];
	struct column_def def = { .id = (uint16_t)varint_get(c) };

	def.name = take_name(c, name, sizeof(name));
	def.role = (enum column_role)varint_get(c);
	def.unit = take_name(c, unit, sizeof(unit));
	if (!c->failed && def.id >= IGE_EXTRA && name[0])
		world_column_define(d->world, &def);
}

/* An op may have more columns in the file than this program knows for it: both layouts are kept. */
static bool learn_op(struct ige_dict_reader *d, const struct op_def *in_file)
{
	const struct op_def *own = world_op(d->world, in_file->id);
	struct ige_file_op op = { .id = in_file->id, .ncols = in_file->ncols };

	if (!own || own->ncols > OP_COLUMNS_MAX)
		return true;
	for (unsigned i = 0; i < op.ncols; i++) {
		op.cols[i] = in_file->cols[i];
		op.to[i] = (int8_t)op_column(own, op.cols[i]);
	}
	return vec_push(&d->ops, op) && map_put(&d->op_index, op.id, d->ops.n);
}

static bool take_op(struct ige_dict_reader *d, struct cursor *c)
{
	char source[64], name[64];
	struct op_def def = { .id = (uint16_t)varint_get(c) };
	uint64_t ncols;

	def.source = (uint8_t)(def.id >> 8);
	def.source_name = take_name(c, source, sizeof(source));
	def.name = take_name(c, name, sizeof(name));
	def.track = (enum op_track)varint_get(c);
	def.flags = (uint32_t)varint_get(c);
	ncols = varint_get(c);
	if (ncols > OP_COLUMNS_MAX)
		c->failed = true;
	for (uint64_t i = 0; i < ncols && !c->failed; i++)
		def.cols[i] = (uint16_t)varint_get(c);
	if (c->failed || !def.id || !name[0] || def.track > TRACK_INSTANT)
		return true;
	def.ncols = (uint8_t)ncols;
	if (!world_op(d->world, def.id))
		world_op_define(d->world, &def);
	return learn_op(d, &def);
}

const struct ige_file_op *ige_dict_op(struct ige_dict_reader *d, uint16_t op)
{
	const struct op_def *own;
	uint64_t at;

	if (!map_get(&d->op_index, op, &at)) {
		/* The schema was lost: ops keep their numbers, so the built-in layout is the best guess. */
		own = world_op(d->world, op);
		if (!own || !learn_op(d, own) || !map_get(&d->op_index, op, &at))
			return NULL;
	}
	return &d->ops.v[at - 1];
}

static int take_run(struct ige_dict_reader *d, const struct ige_directory *dir, struct cursor c,
		    struct err *e)
{
	enum ige_dict_kind kind = (enum ige_dict_kind)dir->id;
	uint64_t id = varint_get(&c);

	if (id == 0 || id > IGE_IDS_MAX - dir->count ||
	    id > d->kind[kind].ids.n + d->sites.n + GAP_MAX)
		return err_set(e, ERR_DAMAGED, "dictionary kind %d: first id %llu", kind,
			       (unsigned long long)id);
	for (uint32_t i = 0; i < dir->count; i++, id++) {
		uint64_t n = varint_get(&c);
		const unsigned char *p = cursor_take(&c, n);
		struct cursor entry = { p, p ? p + n : p, false };
		bool room = true;

		if (!p)
			return err_set(e, ERR_DAMAGED,
				       "dictionary kind %d: entry %u leaves its run", kind, i);
		switch (kind) {
		case IGE_D_SYMBOL:
			take_symbol(d, &entry);
			break;
		case IGE_D_SITE:
			room = take_site(d, &entry, id);
			break;
		case IGE_D_COLUMN:
			take_column(d, &entry);
			break;
		case IGE_D_OP:
			room = take_op(d, &entry);
			break;
		default: {
			uint32_t world_id = take_subject(d, kind, &entry);

			room = remember(d, kind, id, entry.failed ? 0 : world_id);
		}
		}
		if (!room || world_failed(d->world))
			return err_nomem(e);
		if (entry.failed)
			return err_set(e, ERR_DAMAGED, "dictionary kind %d: entry %u is cut short",
				       kind, i);
	}
	return 0;
}

int ige_dict_take(struct ige_dict_reader *d, const struct ige_view *v, struct err *e)
{
	int result = 0;

	for (unsigned i = 0; i < v->header.ncol; i++) {
		struct ige_directory dir;
		const unsigned char *data, *p;
		size_t n;
		int rc;

		ige_view_column(v, i, &dir, &data);
		if (dir.id == 0 || dir.id >= IGE_D_KINDS || dir.encoding != IGE_ENTRIES) {
			if (dir.critical)
				return err_set(e, ERR_TOO_NEW, "dictionary kind %u", dir.id);
			continue;
		}
		/* A damaged run costs its own ids; the others are used. */
		rc = ige_column_bytes(&dir, data, &d->scratch, &p, &n, e);
		if (!rc)
			rc = take_run(d, &dir, (struct cursor){ p, p + n, false }, e);
		if (rc == ERR_NOMEM)
			return rc;
		if (rc)
			result = rc;
	}
	return result;
}
