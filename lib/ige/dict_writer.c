/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues definitions for a segment and mints their ids. An id is minted only after everything it
 * refers to, so that within a DICT block kinds in ascending order, and within a kind ids in
 * ascending order, never point forward.
 */
#include <string.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/dict_writer.h"

#define PENDING_BYTES (1u << 20) /* definitions are written when so many bytes of them wait */

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
	if (d->lanes.v)
		memset(d->lanes.v, 0, d->lanes.n * sizeof(d->lanes.v[0]));
	d->full = false;
	d->generation++;
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
	vec_free(&d->lanes);
	vec_free(&d->named);
}

bool ige_dict_due(const struct ige_dict_writer *d)
{
	return d->pending_bytes > PENDING_BYTES || d->full;
}

void ige_dict_queue(struct ige_dict_writer *d, enum ige_dict_kind kind, uint32_t id,
		    const struct buf *entry)
{
	if (!d->count[kind])
		d->first[kind] = id;
	d->count[kind]++;
	varint_put(&d->pending[kind], entry->n);
	buf_add(&d->pending[kind], entry->p, entry->n);
	d->pending_bytes += entry->n + 1;
	/* What one event or record may still add is far below the other half. */
	if (id > IGE_IDS_MAX / 2)
		d->full = true;
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
	ige_dict_queue(d, IGE_D_SYMBOL, 1, &entry);
	buf_free(&entry);
}

#define REF(kind, id) ige_dict_id(d, WORLD_##kind, id)

/* The fields of one subject, references as file ids. Minting those may define more. */
static void define_subject(struct ige_dict_writer *d, enum world_kind kind, uint32_t id,
			   struct buf *b)
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
		if (world_stack_end(w, id))
			varint_put(b, world_stack_end(w, id));
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

uint32_t ige_dict_define(struct ige_dict_writer *d, enum world_kind kind, uint32_t world_id)
{
	struct buf entry = { 0 };
	uint32_t id;

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
	define_subject(d, kind, world_id, &entry);
	id = ++d->kind[kind].n;
	d->kind[kind].ids.v[world_id] = id;
	ige_dict_queue(d, (enum ige_dict_kind)(kind + 1), id, &entry);
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
