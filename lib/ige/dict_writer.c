/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions on their way into a segment. An id is minted only after everything it refers to, so
 * that within a DICT block kinds in ascending order, and within a kind ids in ascending order, never
 * point forward.
 */
#include <string.h>

#include "lib/base/deflate.h"
#include "lib/base/hash.h"
#include "lib/base/wirebytes.h"
#include "lib/ige/dict.h"

#define DEFLATE_FROM  512	   /* bytes: below it zlib's own overhead eats the gain */
#define PENDING_BYTES (1u << 20)   /* definitions are written when so many bytes of them wait */
#define RUN_BYTES     (256u << 10) /* a run of entries is cut here, far below the block limit */

int ige_role_kind(enum column_role role)
{
	switch (role) {
	case ROLE_THREAD:
		return WORLD_THREAD;
	case ROLE_PROCESS:
		return WORLD_PROCESS;
	case ROLE_CGROUP:
		return WORLD_CGROUP;
	case ROLE_GPU:
		return WORLD_GPU;
	case ROLE_STACK:
		return WORLD_STACK;
	default:
		return -1;
	}
}

int ige_record_role_kind(enum record_role role)
{
	switch (role) {
	case RROLE_NODE:
		return WORLD_NODE;
	case RROLE_PROCESS:
		return WORLD_PROCESS;
	case RROLE_THREAD:
		return WORLD_THREAD;
	case RROLE_CGROUP:
		return WORLD_CGROUP;
	case RROLE_GPU:
		return WORLD_GPU;
	case RROLE_STACK:
		return WORLD_STACK;
	default:
		return -1;
	}
}

void ige_dict_writer_init(struct ige_dict_writer *d, struct world *w)
{
	memset(d, 0, sizeof(*d));
	d->world = w;
}

void ige_dict_writer_reset(struct ige_dict_writer *d)
{
	for (int k = 0; k < WORLD_KINDS; k++) {
		if (d->kind[k].ids.v)
			memset(d->kind[k].ids.v, 0, d->kind[k].ids.n * sizeof(uint32_t));
		d->kind[k].n = 0;
	}
	for (int k = 0; k < IGE_D_KINDS; k++) {
		buf_reset(&d->pending[k]);
		d->count[k] = d->first[k] = 0;
	}
	ige_sites_clear(&d->sites);
	if (d->named.v)
		memset(d->named.v, 0, d->named.n);
	d->bytes = d->pending_bytes = 0;
	/* Names of frames are written with the frame again. */
	d->symbols_seen = world_symbols(d->world);
}

void ige_dict_writer_free(struct ige_dict_writer *d)
{
	for (int k = 0; k < WORLD_KINDS; k++)
		vec_free(&d->kind[k].ids);
	for (int k = 0; k < IGE_D_KINDS; k++)
		buf_free(&d->pending[k]);
	ige_sites_free(&d->sites);
	vec_free(&d->named);
}

bool ige_dict_due(const struct ige_dict_writer *d)
{
	return d->pending_bytes > PENDING_BYTES || ige_dict_full(d);
}

bool ige_dict_full(const struct ige_dict_writer *d)
{
	/* What one event or record may still add is far below the other half. */
	for (int k = 0; k < WORLD_KINDS; k++)
		if (d->kind[k].n > IGE_IDS_MAX / 2)
			return true;
	return d->sites.list.n > IGE_IDS_MAX / 2;
}

/* One entry: its length, then its bytes, so that a reader may pass over fields it does not know. */
static void queue(struct ige_dict_writer *d, enum ige_dict_kind kind, uint32_t id,
		  const struct buf *entry)
{
	if (!d->count[kind])
		d->first[kind] = id;
	d->count[kind]++;
	varint_put(&d->pending[kind], entry->n);
	buf_add(&d->pending[kind], entry->p, entry->n);
	d->pending_bytes += entry->n + 1;
	if (d->pending[kind].failed || entry->failed)
		d->failed = true;
}

static void queue_symbol(struct ige_dict_writer *d, uint32_t frame)
{
	const struct world_symbol *s = world_get_symbol(d->world, frame);
	uint32_t name = ige_dict_id(d, WORLD_STRING, s->name),
		 file = ige_dict_id(d, WORLD_STRING, s->file);
	struct buf entry = { 0 };

	while (d->named.n <= frame)
		if (!vec_push(&d->named, 0)) {
			d->failed = true;
			return;
		}
	if (d->named.v[frame])
		return;
	d->named.v[frame] = 1;
	varint_put(&entry, ige_dict_id(d, WORLD_FRAME, frame));
	varint_put(&entry, name);
	varint_put(&entry, file);
	varint_put(&entry, s->line);
	varint_put(&entry, s->delta);
	queue(d, IGE_D_SYMBOL, 1, &entry);
	buf_free(&entry);
}

#define REF(kind, id) ige_dict_id(d, WORLD_##kind, id)

/* The fields of one subject, references as file ids. Minting those may define more. */
static void define(struct ige_dict_writer *d, enum world_kind kind, uint32_t id, struct buf *b)
{
	const struct world *w = d->world;

	switch (kind) {
	case WORLD_STRING: {
		struct bytes text = world_text(w, id);

		buf_add(b, text.p, text.n < IGE_TEXT_MAX ? text.n : IGE_TEXT_MAX);
		break;
	}
	case WORLD_NODE: {
		const struct world_node *v = world_get_node(w, id);

		buf_add(b, v->uuid, 16);
		varint_put(b, v->boot);
		varint_put(b, REF(STRING, v->name));
		break;
	}
	case WORLD_PROCESS: {
		const struct world_process *v = world_get_process(w, id);

		varint_put(b, REF(NODE, v->node));
		varint_put(b, v->tgid);
		varint_put(b, v->start_ns);
		varint_put(b, v->parent);
		varint_put(b, v->ns_tgid);
		varint_put(b, v->uid);
		break;
	}
	case WORLD_IMAGE: {
		const struct world_image *v = world_get_image(w, id);

		varint_put(b, REF(PROCESS, v->process));
		varint_put(b, v->exec);
		varint_put(b, REF(STRING, v->exe));
		varint_put(b, REF(STRING, v->cmdline));
		varint_put(b, REF(STRING, v->comm));
		break;
	}
	case WORLD_THREAD: {
		const struct world_thread *v = world_get_thread(w, id);

		varint_put(b, REF(PROCESS, v->process));
		varint_put(b, v->tid);
		varint_put(b, v->start_ns);
		varint_put(b, REF(STRING, v->comm));
		break;
	}
	case WORLD_CGROUP: {
		const struct world_cgroup *v = world_get_cgroup(w, id);

		varint_put(b, REF(NODE, v->node));
		varint_put(b, v->id);
		varint_put(b, REF(STRING, v->path));
		break;
	}
	case WORLD_GPU: {
		const struct world_gpu *v = world_get_gpu(w, id);

		varint_put(b, REF(NODE, v->node));
		varint_put(b, REF(STRING, v->uuid));
		varint_put(b, REF(STRING, v->name));
		varint_put(b, v->index);
		break;
	}
	case WORLD_MODULE: {
		const struct world_module *v = world_get_module(w, id);

		varint_put(b, REF(STRING, v->path));
		varint_put(b, REF(STRING, v->build_id));
		break;
	}
	case WORLD_FRAME: {
		const struct world_frame *v = world_get_frame(w, id);

		varint_put(b, v->kind);
		varint_put(b, REF(MODULE, v->module));
		varint_put(b, v->offset);
		varint_put(b, REF(STRING, v->name));
		varint_put(b, REF(STRING, v->file));
		break;
	}
	case WORLD_STACK: {
		unsigned n;
		const uint32_t *frames = world_get_stack(w, id, &n);

		varint_put(b, n);
		for (unsigned i = 0; i < n; i++)
			varint_put(b, REF(FRAME, frames[i]));
		break;
	}
	case WORLD_CTX: {
		const struct world_ctx *v = world_get_ctx(w, id);

		varint_put(b, REF(NODE, v->node));
		varint_put(b, REF(IMAGE, v->image));
		varint_put(b, REF(THREAD, v->thread));
		varint_put(b, REF(CGROUP, v->cgroup));
		varint_put(b, REF(GPU, v->gpu));
		break;
	}
	default:
		break;
	}
}

uint32_t ige_dict_id(struct ige_dict_writer *d, enum world_kind kind, uint32_t world_id)
{
	struct buf entry = { 0 };
	uint32_t id;

	if (world_id < d->kind[kind].ids.n && d->kind[kind].ids.v[world_id])
		return d->kind[kind].ids.v[world_id];
	if (world_id == 0 || world_id > world_count(d->world, kind))
		return 0;
	if (world_id >= d->kind[kind].ids.n) {
		size_t more = world_id + 1 - d->kind[kind].ids.n;

		if (!vec_reserve(&d->kind[kind].ids, more)) {
			d->failed = true;
			return 0;
		}
		memset(d->kind[kind].ids.v + d->kind[kind].ids.n, 0, more * sizeof(uint32_t));
		d->kind[kind].ids.n += more;
	}
	define(d, kind, world_id, &entry);
	id = ++d->kind[kind].n;
	d->kind[kind].ids.v[world_id] = id;
	queue(d, (enum ige_dict_kind)(kind + 1), id, &entry);
	buf_free(&entry);
	if (kind == WORLD_FRAME && world_get_symbol(d->world, world_id))
		queue_symbol(d, world_id);
	return id;
}

void ige_dict_symbols(struct ige_dict_writer *d)
{
	uint32_t n = world_symbols(d->world);

	/* Frames met later bring their name along; only those already written need it now. */
	while (d->symbols_seen < n) {
		uint32_t frame = world_symbol_frame(d->world, ++d->symbols_seen);

		if (frame < d->kind[WORLD_FRAME].ids.n && d->kind[WORLD_FRAME].ids.v[frame])
			queue_symbol(d, frame);
	}
}

static void define_site(struct ige_dict_writer *d, const struct ige_site *s,
			const struct op_def *def, uint32_t id)
{
	struct buf entry = { 0 };

	varint_put(&entry, s->op);
	varint_put(&entry, ige_dict_id(d, WORLD_STACK, s->stack));
	varint_put(&entry, zigzag(s->ret));
	varint_put(&entry, s->args);
	if (s->args) {
		varint_put(&entry, s->present);
		for (unsigned i = 0, k = 0; i < def->ncols; i++) {
			if (s->present >> i & 1)
				varint_put(&entry, s->x[k]);
			k += s->args >> i & 1;
		}
	}
	queue(d, IGE_D_SITE, id, &entry);
	buf_free(&entry);
}

/* Kernel, stream and direction repeat from call to call; pointers and sizes do not. Subjects never stand in sites. */
static uint32_t repeating(struct ige_dict_writer *d, const struct op_def *def)
{
	unsigned slot = (def->id ^ def->id >> 6) & 63, n = 0;

	if (d->repeat[slot].op == def->id)
		return d->repeat[slot].args;
	d->repeat[slot].op = def->id;
	d->repeat[slot].args = 0;
	for (unsigned i = 0; i < def->ncols; i++)
		if (n < IGE_SITE_COLUMNS &&
		    (def->cols[i] == COL_FUNC || def->cols[i] == COL_STREAM ||
		     def->cols[i] == COL_DIRECTION)) {
			d->repeat[slot].args |= (uint16_t)(1u << i);
			n++;
		}
	return d->repeat[slot].args;
}

void ige_dict_prepare(struct ige_dict_writer *d, const struct event *ev, const struct op_def *def,
		      struct ige_next *next)
{
	struct ige_site *s = &next->site;
	uint32_t args =
		d->sites.list.n < IGE_SITE_ARGS_MAX - IGE_PREPARED_MAX ? repeating(d, def) : 0;

	*s = (struct ige_site){ .op = ev->op,
				.ret = ev->ret,
				.stack = ev->stack,
				.args = (uint16_t)args,
				.present = ev->present & args };
	for (uint32_t left = args, k = 0; left; left &= left - 1, k++) {
		unsigned i = (unsigned)__builtin_ctz(left);

		s->x[k] = ev->present >> i & 1 ? ev->x[i] : 0;
	}
	next->hash = ige_sites_hash(s);
	ige_sites_fetch_slot(&d->sites, next->hash);
}

uint32_t ige_dict_site(struct ige_dict_writer *d, const struct op_def *def,
		       const struct ige_next *next, uint32_t *args)
{
	bool added;
	uint32_t at = ige_sites_find(&d->sites, &next->site, next->hash, &added);

	*args = next->site.args;
	if (at == UINT32_MAX) {
		d->failed = true;
		return 0;
	}
	if (added)
		define_site(d, &next->site, def, at + 1);
	return at + 1;
}

/* A run: {first id, entries}; deflated when that pays. */
static int add_run(struct ige_builder *b, enum ige_dict_kind kind, uint32_t first, uint32_t count,
		   const struct buf *entries, struct err *e)
{
	struct ige_directory d = { .id = kind, .encoding = IGE_ENTRIES, .width = 1, .count = count };
	struct buf run = { 0 }, packed = { 0 };
	unsigned char head[8];
	int rc = 0;

	varint_put(&run, first);
	buf_add(&run, entries->p, entries->n);
	if (run.failed) {
		rc = err_nomem(e);
		goto out;
	}
	if (run.n > DEFLATE_FROM) {
		le_put(head, 4, run.n);
		le_put(head + 4, 4, 0);
		buf_add(&packed, head, 8);
		rc = deflate_bytes(&packed, run.p, run.n, 1, e);
		if (rc)
			goto out;
		if (packed.n < run.n && run.n <= packed.n * IGE_INFLATE_MAX) {
			d.compressor = IGE_ZLIB;
			ige_builder_column(b, d, packed.p, packed.n);
			goto out;
		}
	}
	ige_builder_column(b, d, run.p, run.n);
out:
	buf_free(&run);
	buf_free(&packed);
	return rc;
}

static int seal(struct ige_builder *b, enum ige_block_type type, uint64_t *seq, struct buf *out,
		struct err *e)
{
	struct ige_header h = { .type = (uint8_t)type,
				.seq = (*seq)++,
				.start_floor_us = IGE_FLOOR_UNKNOWN };
	int rc = b->ncol ? ige_builder_seal(b, &h, out, e) : 0;

	ige_builder_reset(b);
	return rc;
}

int ige_dict_seal(struct ige_dict_writer *d, struct ige_builder *b, uint64_t *seq, struct buf *out,
		  struct err *e)
{
	size_t before = out->n;
	int rc = 0;

	if (d->failed)
		return err_nomem(e);
	for (int k = 1; k < IGE_D_KINDS && !rc; k++) {
		if (!d->count[k])
			continue;

		struct cursor at = { (const unsigned char *)d->pending[k].p,
				     (const unsigned char *)d->pending[k].p + d->pending[k].n,
				     false };
		uint32_t first = d->first[k];

		/* Cut at whole entries: each begins with its length. */
		while (d->count[k] && !rc) {
			const unsigned char *from = at.p;
			struct buf part = { 0 };
			uint32_t n = 0;

			while (n < d->count[k] && (size_t)(at.p - from) < RUN_BYTES) {
				cursor_take(&at, varint_get(&at));
				n++;
			}
			part.p = (char *)(uintptr_t)from;
			part.n = (size_t)(at.p - from);
			rc = add_run(b, (enum ige_dict_kind)k, first, n, &part, e);
			first += n;
			d->count[k] -= n;
			if (!rc && b->data.n > RUN_BYTES)
				rc = seal(b, IGE_DICT, seq, out, e);
		}
		buf_reset(&d->pending[k]);
	}
	d->pending_bytes = 0;
	if (!rc && b->ncol)
		rc = seal(b, IGE_DICT, seq, out, e);
	d->bytes += out->n - before;
	return rc;
}

static void put_text(struct buf *b, const char *text)
{
	varint_put(b, strlen(text));
	buf_puts(b, text);
}

static void define_column(struct buf *entry, const struct column_def *c)
{
	varint_put(entry, c->id);
	put_text(entry, c->name);
	varint_put(entry, c->role);
	put_text(entry, c->unit);
	varint_put(entry, 0); /* not critical */
}

static void define_op(struct buf *entry, const struct op_def *op)
{
	varint_put(entry, op->id);
	put_text(entry, op->source_name);
	put_text(entry, op->name);
	varint_put(entry, op->track);
	varint_put(entry, op->flags);
	varint_put(entry, op->ncols);
	for (unsigned i = 0; i < op->ncols; i++)
		varint_put(entry, op->cols[i]);
}

int ige_schema_seal(const struct world *w, struct ige_builder *b, uint64_t *seq, struct buf *out,
		    struct err *e)
{
	struct buf ops = { 0 }, columns = { 0 }, entry = { 0 };
	uint32_t nops = 0, ncolumns = 0;
	int rc;

	for (uint32_t i = 0; i <= UINT16_MAX; i++) {
		const struct op_def *op = world_op(w, (uint16_t)i);
		const struct column_def *column = world_column(w, (uint16_t)i);

		if (column) {
			buf_reset(&entry);
			define_column(&entry, column);
			varint_put(&columns, entry.n);
			buf_add(&columns, entry.p, entry.n);
			ncolumns++;
		}
		if (op) {
			buf_reset(&entry);
			define_op(&entry, op);
			varint_put(&ops, entry.n);
			buf_add(&ops, entry.p, entry.n);
			nops++;
		}
	}
	rc = ops.failed || columns.failed || entry.failed ? err_nomem(e) : 0;
	if (!rc)
		rc = add_run(b, IGE_D_COLUMN, 1, ncolumns, &columns, e);
	if (!rc)
		rc = add_run(b, IGE_D_OP, 1, nops, &ops, e);
	if (!rc)
		rc = seal(b, IGE_SCHEMA, seq, out, e);
	buf_free(&ops);
	buf_free(&columns);
	buf_free(&entry);
	return rc;
}
