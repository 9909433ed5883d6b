/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids are translated when they are first met, and with them all that they refer to.
 */
#include "lib/input/anonymize.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/ige/dict.h"
#include "lib/input/pseudonym.h"
#include "lib/input/anonymize_finding.h"
#include "lib/input/anonymize_names.h"

struct input_anonymize {
	struct event_stream stream, *inner;
	struct world *from, *to;
	struct keyhash key;
	VEC(uint32_t) ids[WORLD_KINDS];	  /* by id in from; 0 not met. Strings have their own: */
	VEC(uint32_t) texts[ALIAS_KINDS]; /* a text may be a path here and a program there */
	VEC(struct event) events;
	uint8_t ops[1 << 13]; /* a bit per op: `to` knows it */
	struct record record;
	struct buf record_texts, text;
	uint32_t symbols_seen;
	uint64_t left_out;
	struct map chains; /* those that were left out */
	struct anonymize_names names;
	struct anonymize_finding_texts finding;
	bool failed;
};

void input_anonymize_identity(const struct keyhash *key, uint8_t uuid[16], uint64_t *boot)
{
	static const uint8_t none[16];
	uint64_t half[2];

	if (memcmp(uuid, none, 16) != 0) {
		half[0] = keyhash_bytes(key, uuid, 16);
		half[1] = pseudonym_u64(key, half[0]);
		memcpy(uuid, half, 16);
	}
	*boot = pseudonym_u64(key, *boot);
}

/* ---- subjects ---- */

#define REMEMBERED(ids) ((ids)->n > id && (ids)->v[id])
#define REMEMBER(ids, new)                         \
	do {                                       \
		while ((ids)->n <= id)             \
			if (!vec_push((ids), 0)) { \
				m->failed = true;  \
				return 0;          \
			}                          \
		(ids)->v[id] = (new);              \
	} while (0)

static uint32_t text_id(struct input_anonymize *m, enum pseudonym_kind kind, uint32_t id)
{
	uint32_t new;

	if (!id || REMEMBERED(&m->texts[kind]))
		return id ? m->texts[kind].v[id] : 0;
	buf_reset(&m->text);
	pseudonym_text(&m->key, kind, world_text(m->from, id), &m->text);
	m->failed |= m->text.failed;
	new = world_string(m->to, buf_bytes(&m->text));
	REMEMBER(&m->texts[kind], new);
	return new;
}

static uint32_t translate_id(struct input_anonymize *m, enum world_kind kind, uint32_t id);
#define REF(KIND, id) translate_id(m, WORLD_##KIND, (id))

static void name_frame(struct input_anonymize *m, uint32_t frame, uint32_t new)
{
	const struct world_symbol *s = world_get_symbol(m->from, frame);
	struct world_symbol named;

	if (!s)
		return;
	named = *s;
	named.name = text_id(m, ALIAS_FUNCTION, s->name);
	named.file = text_id(m, ALIAS_PATH, s->file);
	world_symbol(m->to, new, &named);
}

static uint32_t copy_stack(struct input_anonymize *m, uint32_t id)
{
	uint32_t frames[WORLD_STACK_MAX];
	unsigned n;
	const uint32_t *old = world_get_stack(m->from, id, &n);

	if (!old)
		return 0;
	for (unsigned i = 0; i < n; i++)
		frames[i] = REF(FRAME, old[i]);
	return world_stack_with_end(m->to, frames, n, world_stack_end(m->from, id));
}

#define COPY(KIND, kind)                                                \
	const struct world_##kind *old = world_get_##kind(m->from, id); \
	struct world_##kind v;                                          \
	if (!old)                                                       \
		return 0;                                               \
	v = *old

static uint32_t copy_entity(struct input_anonymize *m, enum world_kind kind, uint32_t id)
{
	switch (kind) {
	case WORLD_NODE: {
		COPY(NODE, node);
		input_anonymize_identity(&m->key, v.uuid, &v.boot);
		v.name = text_id(m, ALIAS_HOST, v.name);
		return world_node(m->to, &v);
	}
	case WORLD_PROCESS: {
		COPY(PROCESS, process);
		v.node = REF(NODE, v.node);
		v.uid = pseudonym_uid(&m->key, v.uid);
		return world_process(m->to, &v);
	}
	case WORLD_IMAGE: {
		COPY(IMAGE, image);
		v.process = REF(PROCESS, v.process);
		v.exe = text_id(m, ALIAS_PATH, v.exe);
		v.cmdline = text_id(m, ALIAS_COMMAND, v.cmdline);
		v.comm = text_id(m, ALIAS_PROGRAM, v.comm);
		return world_image(m->to, &v);
	}
	case WORLD_THREAD: {
		COPY(THREAD, thread);
		v.process = REF(PROCESS, v.process);
		v.comm = text_id(m, ALIAS_PROGRAM, v.comm);
		return world_thread(m->to, &v);
	}
	case WORLD_CGROUP: {
		COPY(CGROUP, cgroup);
		v.node = REF(NODE, v.node);
		v.path = text_id(m, ALIAS_PATH, v.path);
		return world_cgroup(m->to, &v);
	}
	case WORLD_GPU: {
		COPY(GPU, gpu);
		v.node = REF(NODE, v.node);
		v.uuid = text_id(m, ALIAS_GPU, v.uuid);
		v.name = text_id(m, ALIAS_KEEP, v.name);
		return world_gpu(m->to, &v);
	}
	case WORLD_MODULE: {
		COPY(MODULE, module);
		v.path = text_id(m, ALIAS_PATH, v.path);
		v.build_id = text_id(m, ALIAS_KEEP, v.build_id);
		return world_module(m->to, &v);
	}
	case WORLD_FRAME: {
		COPY(FRAME, frame);
		v.module = REF(MODULE, v.module);
		v.name = text_id(m, ALIAS_FUNCTION, v.name);
		v.file = text_id(m, ALIAS_PATH, v.file);
		return world_frame(m->to, &v);
	}
	case WORLD_STACK:
		return copy_stack(m, id);
	case WORLD_CTX: {
		COPY(CTX, ctx);
		v.node = REF(NODE, v.node);
		v.image = REF(IMAGE, v.image);
		v.thread = REF(THREAD, v.thread);
		v.cgroup = REF(CGROUP, v.cgroup);
		v.gpu = REF(GPU, v.gpu);
		return world_ctx(m->to, &v);
	}
	default:
		return 0;
	}
}

static uint32_t translate_id(struct input_anonymize *m, enum world_kind kind, uint32_t id)
{
	uint32_t new;

	if (!id || REMEMBERED(&m->ids[kind]))
		return id ? m->ids[kind].v[id] : 0;
	new = copy_entity(m, kind, id);
	REMEMBER(&m->ids[kind], new);
	if (kind == WORLD_FRAME)
		name_frame(m, id, new);
	return new;
}

/* Names that came since, of frames that went before. */
static void late_names(struct input_anonymize *m)
{
	while (m->symbols_seen < world_symbols(m->from)) {
		uint32_t id = world_symbol_frame(m->from, ++m->symbols_seen);

		if (REMEMBERED(&m->ids[WORLD_FRAME]))
			name_frame(m, id, m->ids[WORLD_FRAME].v[id]);
	}
}

/* ---- events ---- */

static const struct op_def *known_op(struct input_anonymize *m, uint16_t op)
{
	const struct op_def *def = world_op(m->from, op);

	if (def && !(m->ops[op >> 3] >> (op & 7) & 1)) {
		m->ops[op >> 3] |= (uint8_t)(1u << (op & 7));
		for (unsigned i = 0; i < def->ncols; i++)
			if (world_column(m->from, def->cols[i]))
				world_column_define(m->to, world_column(m->from, def->cols[i]));
		world_op_define(m->to, def);
	}
	return def;
}

/* Ids of files, sockets and words are made of what they stand for, and so lead back to it; a
 * communicator's begin with the network address of a rank where NCCL is old. */
static bool leads_back(uint16_t column)
{
	return column == COL_FILE || column == COL_SOCKET || column == COL_NAME ||
	       column == COL_TEXT || column == COL_UUID_HEAD || column == COL_UUID_TAIL ||
	       column == COL_COMM_ID;
}

static void mask_event(struct input_anonymize *m, struct event *ev)
{
	const struct op_def *def = known_op(m, ev->op);

	ev->ctx = REF(CTX, ev->ctx);
	ev->stack = REF(STACK, ev->stack);
	for (unsigned i = 0; i < OP_COLUMNS_MAX; i++) {
		const struct column_def *c;
		int kind;

		if (!(ev->present >> i & 1))
			continue;
		c = def && i < def->ncols ? column_builtin(def->cols[i]) : NULL;
		kind = c ? world_kind_of_role(c->role) : -1;
		if (!c)
			ev->present &= ~(1u << i);
		else if (kind >= 0)
			ev->x[i] = translate_id(m, (enum world_kind)kind, (uint32_t)ev->x[i]);
		else if (leads_back(c->id))
			ev->x[i] = pseudonym_u64(&m->key, ev->x[i]);
	}
}

static int mask_events(struct input_anonymize *m, struct stream_item *item, struct err *e)
{
	m->events.n = 0;
	if (!vec_reserve(&m->events, item->n))
		return err_nomem(e);
	memcpy(m->events.v, item->events, item->n * sizeof(m->events.v[0]));
	for (size_t i = 0; i < item->n; i++)
		mask_event(m, &m->events.v[i]);
	item->events = m->events.v;
	return 1;
}

/* ---- records ---- */

static bool is_id(const struct record *r, unsigned number)
{
	return (r->kind == RECORD_FILE && number == REC_FILE_id) ||
	       (r->kind == RECORD_SOCKET && number == REC_SOCKET_id) ||
	       (r->kind == RECORD_PEER && number == REC_PEER_socket) ||
	       (r->kind == RECORD_READY && number == REC_READY_socket) ||
	       (r->kind == RECORD_WORD && number == REC_WORD_id) ||
	       (r->kind == RECORD_ASLEEP &&
		(number == REC_ASLEEP_file || number == REC_ASLEEP_socket));
}

static void mask_field(struct input_anonymize *m, struct record *r, const struct record_field *f)
{
	char *at = (char *)&r->u + f->offset;
	int kind = ige_record_role_kind(f->role);
	struct bytes text;
	uint32_t id;
	uint64_t number;

	if (f->type == REC_TEXT) {
		size_t before = m->record_texts.n;

		memcpy(&text, at, sizeof(text));
		anonymize_names_add_field(&m->names, r, f, text);
		pseudonym_text(&m->key,
			       (enum pseudonym_kind)input_anonymize_field(r->kind, f->number), text,
			       &m->record_texts);
		/* Where it stands, until all are there and the bytes do not move any more. */
		text = (struct bytes){ (const char *)before, m->record_texts.n - before };
		memcpy(at, &text, sizeof(text));
	} else if (kind >= 0 && f->type == REC_U32) {
		memcpy(&id, at, sizeof(id));
		id = translate_id(m, (enum world_kind)kind, id);
		memcpy(at, &id, sizeof(id));
	} else if (is_id(r, f->number)) {
		memcpy(&number, at, sizeof(number));
		number = pseudonym_u64(&m->key, number);
		memcpy(at, &number, sizeof(number));
	}
}

static void mask_record(struct input_anonymize *m, const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);
	struct bytes text;

	m->record = *r;
	buf_reset(&m->record_texts);
	for (unsigned i = 0; def && i < def->nfields; i++)
		if (record_has(r, def->fields[i].number))
			mask_field(m, &m->record, &def->fields[i]);
	for (unsigned i = 0; def && i < def->nfields; i++) {
		char *at = (char *)&m->record.u + def->fields[i].offset;

		if (def->fields[i].type != REC_TEXT || !record_has(r, def->fields[i].number))
			continue;
		memcpy(&text, at, sizeof(text));
		text.p = buf_bytes(&m->record_texts).p + (size_t)text.p;
		memcpy(at, &text, sizeof(text));
	}
	m->failed |= m->record_texts.failed;
}

static void count_left_out(struct input_anonymize *m, const struct record *r)
{
	uint64_t id;

	if (r->kind == RECORD_CHAIN) {
		id = hash_bytes(r->u.CHAIN.id.n ? r->u.CHAIN.id.p : "", r->u.CHAIN.id.n, 0);
		m->left_out += !map_get(&m->chains, id, NULL);
		m->failed |= !map_put(&m->chains, id, 1);
	} else {
		m->left_out += r->kind == RECORD_ANALYSIS;
	}
}

/* 0: nothing is known of what it says, and it is left out. */
static int mask_known_record(struct input_anonymize *m, const struct record *r, struct err *e)
{
	int rc = record_builtin(r->kind) != NULL;

	if (r->kind == RECORD_CHAIN)
		rc = anonymize_finding(&m->names, r, &m->record, &m->finding, e);
	else if (r->kind == RECORD_ANALYSIS)
		rc = anonymize_analysis(&m->names, r, &m->record, &m->finding, e);
	else if (rc)
		mask_record(m, r);
	if (!rc)
		count_left_out(m, r);
	return rc;
}

/* ---- the stream ---- */

static int mask_next(struct event_stream *stream, struct stream_item *item, struct err *e)
{
	struct input_anonymize *m = (struct input_anonymize *)stream;
	int rc;

	do {
		rc = m->inner->next(m->inner, item, e);
		if (rc <= 0)
			return rc;
		late_names(m);
		if (item->kind == STREAM_EVENTS && item->n)
			rc = mask_events(m, item, e);
		if (item->kind == STREAM_RECORD) {
			rc = mask_known_record(m, item->record, e);
			item->record = &m->record;
		}
	} while (!rc);
	return m->failed || m->names.known.failed || m->names.programs.failed || world_failed(m->to)
		       ? err_nomem(e)
		       : rc;
}

static void mask_close(struct event_stream *stream)
{
	(void)stream;
}

struct input_anonymize *input_anonymize_new(struct event_stream *inner, struct world *from,
					    struct world *to, const struct keyhash *key)
{
	struct input_anonymize *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->stream = (struct event_stream){ mask_next, mask_close };
	m->inner = inner;
	m->from = from;
	m->to = to;
	m->key = *key;
	m->names = (struct anonymize_names){ .from = from, .key = *key };
	return m;
}

void input_anonymize_free(struct input_anonymize *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < WORLD_KINDS; i++)
		vec_free(&m->ids[i]);
	for (unsigned i = 0; i < ALIAS_KINDS; i++)
		vec_free(&m->texts[i]);
	vec_free(&m->events);
	buf_free(&m->record_texts);
	buf_free(&m->text);
	map_free(&m->chains);
	anonymize_names_free(&m->names);
	anonymize_finding_texts_free(&m->finding);
	free(m);
}

struct event_stream *input_anonymize_stream(struct input_anonymize *m)
{
	return &m->stream;
}

uint64_t input_anonymize_left_out(const struct input_anonymize *m)
{
	return m->left_out;
}
