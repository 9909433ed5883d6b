/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads definitions from DICT and SCHEMA blocks: every entry is bounded, every reference is checked
 * against earlier definitions, and a reference to nothing becomes 0 and is counted.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/dict_reader.h"
#include "lib/ige/index.h"

void ige_dict_reader_init(struct ige_dict_reader *d, struct world *w)
{
	memset(d, 0, sizeof(*d));
	d->world = w;
}

void ige_dict_reader_reset(struct ige_dict_reader *d)
{
	for (int k = 0; k < IGE_D_KINDS; k++)
		d->kind[k].ids.n = 0;
	d->sites.n = d->sites_defined = 0;
	d->generation++;
	d->site_ops = 0;
	d->args.n = 0;
	d->ops.n = 0;
	map_clear(&d->op_index);
}

void ige_dict_reader_free(struct ige_dict_reader *d)
{
	for (int k = 0; k < IGE_D_KINDS; k++)
		vec_free(&d->kind[k].ids);
	vec_free(&d->sites);
	vec_free(&d->args);
	vec_free(&d->ops);
	map_free(&d->op_index);
	buf_free(&d->scratch);
}

static uint32_t lookup_id(struct ige_dict_reader *d, enum ige_dict_kind kind, uint64_t id)
{
	if (id == 0)
		return 0;
	if (id < d->kind[kind].ids.n && d->kind[kind].ids.v[id])
		return d->kind[kind].ids.v[id];
	d->unknown++;
	return 0;
}

/* Ids grow without gaps; a lost DICT block leaves one, whose ids stay undefined. */
#define GAP_MAX (1u << 20)

/* How this segment lays out op, as an index in ops; false if it was never defined. */
static bool find_op(struct ige_dict_reader *d, uint16_t op, uint32_t *at);

static bool store_id(struct ige_dict_reader *d, enum ige_dict_kind kind, uint64_t id,
		     uint32_t world_id)
{
	if (!vec_reach(&d->kind[kind].ids, id))
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

#define REF(kind) lookup_id(d, IGE_D_##kind, varint_get(c))

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
		uint32_t end;

		if (n > WORLD_STACK_MAX)
			c->failed = true;
		for (uint64_t i = 0; i < n && !c->failed; i++)
			frames[i] = REF(FRAME);
		end = !c->failed && c->p < c->end ? (uint32_t)varint_get(c) : 0;
		return c->failed ? 0 : world_stack_with_end(w, frames, (unsigned)n, end);
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

/* Sites up to n, each in a line of its own. */
static bool sites_room(struct ige_dict_reader *d, size_t n)
{
	struct ige_read_site *v;
	size_t cap = d->sites.cap < 64 ? 64 : d->sites.cap;

	while (cap < n)
		cap *= 2;
	if (cap > d->sites.cap) {
		v = aligned_alloc(sizeof(*v), cap * sizeof(*v));
		if (!v)
			return false;
		if (d->sites.n)
			memcpy(v, d->sites.v, d->sites.n * sizeof(*v));
		free(d->sites.v);
		d->sites.v = v;
		d->sites.cap = cap;
	}
	if (d->sites.n < n) {
		memset(d->sites.v + d->sites.n, 0, (n - d->sites.n) * sizeof(*v));
		d->sites.n = n;
	}
	return true;
}

/* The values that stand in a site, as the world's definition of its op has them. */
static void take_args(struct ige_dict_reader *d, struct cursor *c, struct ige_read_site *s,
		      uint64_t x[OP_COLUMNS_MAX])
{
	const struct ige_file_op *op = &d->ops.v[s->layout];
	uint64_t present = varint_get(c) & s->args;

	for (; present; present &= present - 1) {
		unsigned i = (unsigned)__builtin_ctzll(present);
		uint64_t value;
		int to;

		if (i >= op->ncols)
			break;
		value = varint_get(c);
		to = op->to[i];
		if (to < 0)
			continue;
		x[to] = op->kind[i] < 0
				? value
				: lookup_id(d, (enum ige_dict_kind)(op->kind[i] + 1), value);
		s->present |= 1u << to;
		if (s->nargs <= to)
			s->nargs = (uint8_t)(to + 1);
	}
}

static bool take_site(struct ige_dict_reader *d, struct cursor *c, uint64_t id)
{
	uint64_t number = varint_get(c), x[OP_COLUMNS_MAX] = { 0 };
	struct ige_read_site s = { .op = (uint16_t)number, .id = (uint32_t)id };

	/* Without the op's definition its events cannot be decoded, and no reader can use them. */
	if (number > UINT16_MAX || !find_op(d, s.op, &s.layout))
		return !world_failed(d->world);
	s.stack = REF(STACK);
	s.ret = (int32_t)unzigzag(varint_get(c));
	s.args = (uint16_t)varint_get(c);
	if (s.args)
		take_args(d, c, &s, x);
	if (c->failed)
		return true;
	memcpy(s.x, x, sizeof(s.x));
	if (s.nargs > IGE_SITE_X) {
		if (!vec_reserve(&d->args, s.nargs))
			return false;
		s.at = (uint32_t)d->args.n;
		memcpy(d->args.v + d->args.n, x, s.nargs * sizeof(*x));
		d->args.n += s.nargs;
	}
	if (!sites_room(d, id + 1))
		return false;
	/* A file that defines a site twice is wrong about one: a new generation makes users of the
	 * sites forget what they know of them. */
	d->generation += d->sites.v[id].op != 0;
	d->site_ops |= ige_op_bit(s.op);
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

/* False: a critical column this program does not know. */
static bool take_column(struct ige_dict_reader *d, struct cursor *c)
{
	char name[64], unit[16];
	struct column_def def = { .id = (uint16_t)varint_get(c) };

	def.name = take_name(c, name, sizeof(name));
	def.role = (enum column_role)varint_get(c);
	def.unit = take_name(c, unit, sizeof(unit));
	if (varint_get(c) && !c->failed && !column_builtin(def.id))
		return false;
	if (!c->failed && def.id >= IGE_EXTRA && def.id < IGE_PRESENCE && name[0])
		world_column_define(d->world, &def);
	return true;
}

/* An op may have more columns in the file than this program knows for it: both layouts are kept. */
static bool learn_op(struct ige_dict_reader *d, const struct op_def *in_file)
{
	const struct op_def *own = world_op(d->world, in_file->id);
	struct ige_file_op op = { .id = in_file->id, .ncols = in_file->ncols };

	if (!own || own->ncols > OP_COLUMNS_MAX)
		return true;
	for (unsigned i = 0; i < op.ncols; i++) {
		const struct column_def *column = world_column(d->world, in_file->cols[i]);

		op.cols[i] = in_file->cols[i];
		op.to[i] = (int8_t)op_column(own, op.cols[i]);
		op.kind[i] = -1;
		/* A column of an unknown role may hold ids of an unknown kind: its values are not
		 * used. */
		if (!column || column->role > ROLE_STACK)
			op.to[i] = -1;
		else
			op.kind[i] = (int8_t)world_kind_of_role(column->role);
	}
	return vec_push(&d->ops, op) && map_put(&d->op_index, op.id, d->ops.n);
}

static bool take_op(struct ige_dict_reader *d, struct cursor *c)
{
	char source[64], name[64];
	struct op_def def = { .id = (uint16_t)varint_get(c) };
	uint64_t ncols, track;

	def.source = (uint8_t)(def.id >> 8);
	def.source_name = take_name(c, source, sizeof(source));
	def.name = take_name(c, name, sizeof(name));
	track = varint_get(c);
	/* Nothing is known of a newer version's track; async assumes nothing. */
	def.track = track <= TRACK_INSTANT ? (enum op_track)track : TRACK_ASYNC;
	def.flags = (uint32_t)varint_get(c);
	ncols = varint_get(c);
	if (ncols > OP_COLUMNS_MAX)
		c->failed = true;
	for (uint64_t i = 0; i < ncols && !c->failed; i++)
		def.cols[i] = (uint16_t)varint_get(c);
	if (c->failed || !def.id || !name[0])
		return true;
	def.ncols = (uint8_t)ncols;
	if (!world_op(d->world, def.id))
		world_op_define(d->world, &def);
	return learn_op(d, &def);
}

static bool find_op(struct ige_dict_reader *d, uint16_t op, uint32_t *index)
{
	const struct op_def *own;
	uint64_t at;

	if (!map_get(&d->op_index, op, &at)) {
		/* The schema was lost: ops keep their numbers, so the built-in layout is the best
		 * guess. */
		own = world_op(d->world, op);
		if (!own || !learn_op(d, own) || !map_get(&d->op_index, op, &at))
			return false;
	}
	*index = (uint32_t)at - 1;
	return true;
}

static int take_run(struct ige_dict_reader *d, const struct ige_directory *dir, struct cursor c,
		    struct err *e)
{
	enum ige_dict_kind kind = (enum ige_dict_kind)dir->id;
	bool ids = kind < IGE_D_SYMBOL || kind == IGE_D_SITE;
	uint64_t id = varint_get(&c), known = kind == IGE_D_SITE ? d->sites.n : d->kind[kind].ids.n;

	if (ids && (id == 0 || dir->count > IGE_IDS_MAX || id > IGE_IDS_MAX - dir->count ||
		    id > known + GAP_MAX))
		return err_set(e, ERR_DAMAGED, "dictionary kind %d: first id %llu", kind,
			       (unsigned long long)id);
	for (uint32_t i = 0; i < dir->count; i++, id++) {
		uint64_t n = varint_get(&c);
		const unsigned char *p = cursor_take(&c, n);
		struct cursor entry = { p, p ? p + n : p, false };
		bool room = true;

		if (!p || c.failed)
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
			if (!take_column(d, &entry))
				return err_set(e, ERR_TOO_NEW, "a column that must be known");
			break;
		case IGE_D_OP:
			room = take_op(d, &entry);
			break;
		default: {
			uint32_t world_id = take_subject(d, kind, &entry);

			room = store_id(d, kind, id, entry.failed ? 0 : world_id);
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
	struct ige_columns columns;
	struct ige_directory dir;
	const unsigned char *data;
	int result = 0;

	ige_columns_begin(&columns, v);
	while (ige_columns_next(&columns, &dir, &data)) {
		const unsigned char *p;
		size_t n;
		int rc;

		if (dir.id == 0 || dir.id >= IGE_D_KINDS || dir.encoding != IGE_ENTRIES) {
			if (dir.critical)
				return err_set(e, ERR_TOO_NEW, "dictionary kind %u", dir.id);
			continue;
		}
		if (d->no_stacks && !dir.critical &&
		    (dir.id == IGE_D_FRAME || dir.id == IGE_D_STACK || dir.id == IGE_D_SYMBOL))
			continue;
		/* A damaged run costs its own ids; the others are used. */
		rc = ige_column_bytes(&dir, data, &d->scratch, &p, &n, e);
		if (rc == ERR_TOO_NEW && !dir.critical)
			rc = ERR_CANNOT;
		if (!rc)
			rc = take_run(d, &dir, (struct cursor){ p, p + n, false }, e);
		if (rc == ERR_NOMEM || rc == ERR_TOO_NEW)
			return rc;
		if (rc && result != ERR_DAMAGED)
			result = rc;
	}
	return result;
}
