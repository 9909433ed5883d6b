/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects names that arrive in records of their own. The first name of an id is kept; of a
 * socket's peer only what all records agree on, because connections of two machines may look the
 * same.
 */
#include "lib/world/late_names.h"

static bool is_full(const struct late_names *t)
{
	return t->files.n + t->sockets.n + t->peers.n + t->words.n + t->kernels.v.n >=
	       LATE_NAMES_MAX;
}

/* 0 for an empty text. */
static uint32_t optional_string(struct world *w, struct bytes text)
{
	return text.n ? world_string(w, text) : 0;
}

static bool add_file(struct late_names *t, struct world *w, const struct record *rec)
{
	const struct rec_FILE *r = &rec->u.FILE;
	struct late_names_file f = { .path = optional_string(w, r->path),
				     .fstype = optional_string(w, r->fstype),
				     .mount = optional_string(w, r->mount),
				     .origin = optional_string(w, r->origin),
				     .has_device = REC_HAS(rec, FILE, device),
				     .device = r->device };

	if (map_get(&t->file_ids, r->id, NULL))
		return true;
	return vec_push(&t->files, f) && map_put(&t->file_ids, r->id, t->files.n);
}

static bool add_socket(struct late_names *t, struct world *w, const struct rec_SOCKET *r)
{
	struct late_names_socket s = { optional_string(w, r->protocol),
				       optional_string(w, r->local),
				       optional_string(w, r->remote) };

	if (map_get(&t->socket_ids, r->id, NULL))
		return true;
	return vec_push(&t->sockets, s) && map_put(&t->socket_ids, r->id, t->sockets.n);
}

static bool add_peer(struct late_names *t, struct world *w, const struct rec_PEER *r)
{
	struct late_names_peer p = { r->pid, optional_string(w, r->comm) }, *before;
	uint64_t at;

	if (map_get(&t->peer_ids, r->socket, &at)) {
		before = &t->peers.v[at - 1];
		if (before->pid != p.pid && before->comm != p.comm)
			before->comm = 0;
		if (before->pid != p.pid)
			before->pid = 0;
		return true;
	}
	return vec_push(&t->peers, p) && map_put(&t->peer_ids, r->socket, t->peers.n);
}

bool late_names_record(struct late_names *t, struct world *w, const struct record *r)
{
	switch (r->kind) {
	case RECORD_SESSION:
		if (!t->has_start) {
			t->has_start = true;
			t->start_ns = r->u.SESSION.start_ns;
		}
		return true;
	case RECORD_CLOCK:
		if (record_tells_time(r)) {
			t->has_real = true;
			t->real_minus_mono_ns = r->u.CLOCK.real_ns - r->u.CLOCK.mono_ns;
		}
		return true;
	case RECORD_FILE:
		return is_full(t) || add_file(t, w, r);
	case RECORD_SOCKET:
		return is_full(t) || add_socket(t, w, &r->u.SOCKET);
	case RECORD_PEER:
		return is_full(t) || add_peer(t, w, &r->u.PEER);
	case RECORD_WORD:
		return is_full(t) || map_get(&t->words, r->u.WORD.id, NULL) ||
		       map_put(&t->words, r->u.WORD.id, optional_string(w, r->u.WORD.text));
	case RECORD_KERNEL:
		return is_full(t) || kernel_names_add(&t->kernels, w, &r->u.KERNEL);
	case RECORD_NAME:
		world_rename(w, r->u.NAME.thread, r->u.NAME.time_ns,
			     optional_string(w, r->u.NAME.comm));
		return !world_failed(w);
	default:
		return true;
	}
}

const struct late_names_file *late_names_file(const struct late_names *t, uint64_t id)
{
	uint64_t at;

	return map_get(&t->file_ids, id, &at) ? &t->files.v[at - 1] : NULL;
}

struct late_names_file late_names_on(const struct late_names *t, const struct world *w,
				     uint64_t device)
{
	const bool several = world_count(w, WORLD_NODE) > 1;
	struct late_names_file on = { 0 };

	for (size_t i = 0; i < t->files.n; i++) {
		const struct late_names_file *f = &t->files.v[i];

		if (!f->has_device || f->device != device)
			continue;
		if (!on.has_device)
			on = *f;
		if (!several)
			break;
		/* Each machine numbers its devices, and files do not say whose they are. */
		on.origin = f->origin == on.origin ? on.origin : 0;
		on.mount = f->mount == on.mount ? on.mount : 0;
	}
	return on;
}

const struct late_names_socket *late_names_socket(const struct late_names *t, uint64_t id)
{
	uint64_t at;

	return map_get(&t->socket_ids, id, &at) ? &t->sockets.v[at - 1] : NULL;
}

const struct late_names_peer *late_names_peer(const struct late_names *t, uint64_t socket)
{
	uint64_t at;

	return map_get(&t->peer_ids, socket, &at) ? &t->peers.v[at - 1] : NULL;
}

uint32_t late_names_word(const struct late_names *t, uint64_t id)
{
	uint64_t string_id;

	return map_get(&t->words, id, &string_id) ? (uint32_t)string_id : 0;
}

uint32_t late_names_kernel(const struct late_names *t, uint32_t process, uint64_t func,
			   int64_t at_ns)
{
	return kernel_names_text(&t->kernels, kernel_names_find(&t->kernels, process, func, at_ns));
}

void late_names_free(struct late_names *t)
{
	map_free(&t->file_ids);
	map_free(&t->socket_ids);
	map_free(&t->peer_ids);
	vec_free(&t->files);
	vec_free(&t->sockets);
	vec_free(&t->peers);
	map_free(&t->words);
	kernel_names_free(&t->kernels);
	*t = (struct late_names){ 0 };
}
