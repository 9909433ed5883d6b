/* SPDX-License-Identifier: Apache-2.0 */
/* A dictionary by id each. */
#include "lib/ask/things.h"

#include <inttypes.h>

#define THINGS_MAX 65536

static uint32_t string_of(struct world *w, struct bytes text)
{
	return text.n ? world_string(w, text) : 0;
}

static bool file(struct ask_things *t, struct world *w, const struct record *rec)
{
	const struct rec_FILE *r = &rec->u.FILE;
	struct thing_file new = { .path = string_of(w, r->path),
				  .fstype = string_of(w, r->fstype),
				  .mount = string_of(w, r->mount),
				  .origin = string_of(w, r->origin),
				  .has_device = REC_HAS(rec, FILE, device),
				  .device = r->device };

	if (map_get(&t->file_by, r->id, NULL) || t->files.n >= THINGS_MAX)
		return true;
	return vec_push(&t->files, new) && map_put(&t->file_by, r->id, t->files.n - 1);
}

static bool sock(struct ask_things *t, struct world *w, const struct record *rec)
{
	const struct rec_SOCKET *r = &rec->u.SOCKET;
	struct thing_socket new = { string_of(w, r->protocol), string_of(w, r->local),
				    string_of(w, r->remote) };

	if (map_get(&t->socket_by, r->id, NULL) || t->sockets.n >= THINGS_MAX)
		return true;
	return vec_push(&t->sockets, new) && map_put(&t->socket_by, r->id, t->sockets.n - 1);
}

static bool peer(struct ask_things *t, struct world *w, const struct record *rec)
{
	const struct rec_PEER *r = &rec->u.PEER;
	struct thing_peer new = { r->pid, string_of(w, r->comm) };

	if (map_get(&t->peer_by, r->socket, NULL) || t->peers.n >= THINGS_MAX)
		return true;
	return vec_push(&t->peers, new) && map_put(&t->peer_by, r->socket, t->peers.n - 1);
}

bool ask_things_record(struct ask_things *t, struct world *w, const struct record *rec)
{
	switch (rec->kind) {
	case RECORD_FILE:
		return file(t, w, rec);
	case RECORD_SOCKET:
		return sock(t, w, rec);
	case RECORD_PEER:
		return peer(t, w, rec);
	default:
		return true;
	}
}

const struct thing_file *ask_things_file(const struct ask_things *t, uint64_t id)
{
	uint64_t at;

	return map_get(&t->file_by, id, &at) ? &t->files.v[at] : NULL;
}

const struct thing_socket *ask_things_socket(const struct ask_things *t, uint64_t id)
{
	uint64_t at;

	return map_get(&t->socket_by, id, &at) ? &t->sockets.v[at] : NULL;
}

const struct thing_peer *ask_things_peer(const struct ask_things *t, uint64_t socket)
{
	uint64_t at;

	return map_get(&t->peer_by, socket, &at) ? &t->peers.v[at] : NULL;
}

const struct thing_file *ask_things_on(const struct ask_things *t, uint64_t device)
{
	for (size_t i = 0; i < t->files.n; i++)
		if (t->files.v[i].has_device && t->files.v[i].device == device)
			return &t->files.v[i];
	return NULL;
}

static void put(struct buf *out, const char *before, struct bytes text)
{
	if (text.n) {
		buf_puts(out, before);
		buf_add(out, text.p, text.n);
	}
}

void ask_things_file_text(const struct ask_things *t, const struct world *w, uint64_t id,
			  struct buf *out)
{
	const struct thing_file *f = ask_things_file(t, id);

	if (!f || !f->path) {
		buf_putc(out, '?');
		return;
	}
	put(out, "", world_text(w, f->path));
	put(out, " (", world_text(w, f->fstype));
	if (f->fstype) {
		put(out, ", ", world_text(w, f->origin));
		buf_putc(out, ')');
	}
}

void ask_things_socket_text(const struct ask_things *t, const struct world *w, uint64_t id,
			    struct buf *out)
{
	const struct thing_socket *s = ask_things_socket(t, id);
	const struct thing_peer *p = ask_things_peer(t, id);

	if (!s || !s->protocol) {
		buf_putc(out, '?');
		return;
	}
	put(out, "", world_text(w, s->protocol));
	put(out, " ", world_text(w, s->remote ? s->remote : s->local));
	if (!p)
		return;
	put(out, " (", p->comm ? world_text(w, p->comm) : bytes_of("?"));
	buf_printf(out, ", pid %" PRIu32 ")", p->pid);
}

void ask_things_free(struct ask_things *t)
{
	vec_free(&t->files);
	vec_free(&t->sockets);
	vec_free(&t->peers);
	map_free(&t->file_by);
	map_free(&t->socket_by);
	map_free(&t->peer_by);
}
