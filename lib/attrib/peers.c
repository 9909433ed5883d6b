/* SPDX-License-Identifier: Apache-2.0 */
/* Names of peers by socket, and the waits for them. Names come in records before the first event
 * that needs them; many connections lead to one address. */
#include "lib/attrib/peers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

#define UNKNOWN UINT32_MAX
#define ALONE	0.95 /* of the waits at a place: the others are not worth a word */

static void add_socket(struct cause_peer_wait *v, uint64_t id)
{
	for (unsigned i = 0; i < v->nsockets; i++) {
		if (v->socket[i] == id)
			return;
	}
	if (v->nsockets < CAUSE_PEER_SOCKETS)
		v->socket[v->nsockets++] = id;
}

bool cause_peers_event(struct cause_peers *p, const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);
	struct cause_peer_wait fresh = { .process = world_ctx_process_id(w, ev->ctx),
					 .peer = UNKNOWN };
	uint64_t id = 0, key, at;

	fresh.pid = world_process_pid(w, fresh.process);
	if (op)
		event_get(ev, op, COL_SOCKET, &id);
	if (map_get(&p->sockets, id, &at))
		fresh.peer = (uint32_t)at;
	fresh.frame = site_frames_get(&p->frames, w, ev->stack);
	key = hash_u64(((uint64_t)fresh.process << 32 | fresh.frame) ^ hash_u64(fresh.peer));
	if (!map_get(&p->by, key, &at)) {
		if (p->v.n >= CAUSE_PEERS)
			return true;
		at = p->v.n;
		if (!vec_push(&p->v, fresh) || !map_put(&p->by, key, at))
			return false;
	}
	add_socket(&p->v.v[at], id);
	p->v.v[at].ns += ev->dur_ns;
	return true;
}

/* Position of the name; UNKNOWN: there are too many, or (*nomem) no memory is left. */
static uint32_t name_at(struct cause_peers *p, struct bytes remote, bool *nomem)
{
	uint64_t key = hash_bytes(remote.p, remote.n, 0), at;
	char *text;

	if (map_get(&p->names, key, &at))
		return (uint32_t)at;
	if (p->name.n >= CAUSE_PEERS)
		return UNKNOWN;
	text = strndup(remote.p, remote.n);
	*nomem = !text || !vec_push(&p->name, text);
	if (*nomem) {
		free(text);
		return UNKNOWN;
	}
	*nomem = !map_put(&p->names, key, p->name.n - 1);
	return (uint32_t)p->name.n - 1;
}

static bool add_peer(struct cause_peers *p, const struct rec_PEER *said)
{
	struct cause_peer fresh = { .pid = said->pid }, *before;
	uint64_t at;

	if (said->comm.n)
		memcpy(fresh.comm, said->comm.p,
		       said->comm.n < sizeof(fresh.comm) ? said->comm.n : sizeof(fresh.comm) - 1);
	if (map_get(&p->peer_by, said->socket, &at)) {
		before = &p->peer.v[at];
		/* Of another machine, or gone since: what is so of both. */
		if (before->pid != fresh.pid && strcmp(before->comm, fresh.comm) != 0)
			before->comm[0] = 0;
		if (before->pid != fresh.pid)
			before->pid = 0;
		return true;
	}
	if (p->peer.n >= CAUSE_PEERS)
		return true;
	return vec_push(&p->peer, fresh) && map_put(&p->peer_by, said->socket, p->peer.n - 1);
}

bool cause_peers_record(struct cause_peers *p, const struct record *r)
{
	const struct rec_SOCKET *said = &r->u.SOCKET;
	bool nomem = false;
	uint32_t at;

	if (r->kind == RECORD_PEER)
		return add_peer(p, &r->u.PEER);
	if (!REC_HAS(r, SOCKET, remote) || !said->remote.n || map_get(&p->sockets, said->id, NULL))
		return true;
	at = name_at(p, said->remote, &nomem);
	return !nomem && (at == UNKNOWN || map_put(&p->sockets, said->id, at));
}

const char *cause_peers_name(const struct cause_peers *p, uint64_t socket)
{
	uint64_t at;

	return map_get(&p->sockets, socket, &at) ? p->name.v[at] : NULL;
}

static const struct cause_peer_wait *top_of(const struct cause_peers *p, uint32_t process,
					    uint32_t frame, double *share)
{
	const struct cause_peer_wait *top = NULL;
	uint64_t all = 0;

	for (size_t i = 0; i < p->v.n; i++) {
		const struct cause_peer_wait *v = &p->v.v[i];

		if (v->process != process || v->frame != frame)
			continue;
		all += v->ns;
		if (v->peer != UNKNOWN && (!top || v->ns > top->ns))
			top = v;
	}
	*share = top ? (double)top->ns / (double)(all ? all : 1) : 0;
	return top;
}

/* The process at the other end. False: not known for one of the connections. pid is 0 for several
 * processes; comm is "" for several commands, too. Workers of one server are several processes of
 * one command. */
static bool find_peer(const struct cause_peers *p, const struct cause_peer_wait *v,
		      struct cause_peer *out)
{
	uint64_t at;

	for (unsigned i = 0; i < v->nsockets; i++) {
		const struct cause_peer *x;

		if (!map_get(&p->peer_by, v->socket[i], &at))
			return false;
		x = &p->peer.v[at];
		/* It has both ends, perhaps since a fork: who uses the other one is not known. */
		if (x->pid && x->pid == v->pid)
			return false;
		if (i == 0)
			*out = *x;
		if (x->pid != out->pid)
			out->pid = 0;
		if (strcmp(x->comm, out->comm) != 0)
			out->comm[0] = 0;
	}
	return v->nsockets > 0;
}

const char *cause_peers_top(const struct cause_peers *p, uint32_t process, uint32_t frame,
			    uint32_t *pid)
{
	double share;
	const struct cause_peer_wait *top = top_of(p, process, frame, &share);
	struct cause_peer peer;

	*pid = top && find_peer(p, top, &peer) ? peer.pid : 0;
	return top ? p->name.v[top->peer] : NULL;
}

bool cause_peers_is_name_server(const char *peer)
{
	const char *port = peer ? strrchr(peer, ':') : NULL;

	return port && !strcmp(port, ":53");
}

void cause_peers_text(const struct cause_peers *p, uint32_t process, uint32_t frame,
		      struct buf *out)
{
	double share;
	const struct cause_peer_wait *top = top_of(p, process, frame, &share);
	struct cause_peer peer;

	if (!top)
		return;
	buf_printf(out, "%s to %s%s", share >= ALONE ? "" : ", longest",
		   cause_peers_is_name_server(p->name.v[top->peer]) ? "the name server " : "",
		   p->name.v[top->peer]);
	if (find_peer(p, top, &peer)) {
		if (peer.pid)
			buf_printf(out, " (%s, pid %" PRIu32 ")", peer.comm, peer.pid);
		else
			buf_printf(out, " (%s)", peer.comm[0] ? peer.comm : "several processes");
	}
	if (share < ALONE)
		buf_puts(out, ",");
}

void cause_peers_free(struct cause_peers *p)
{
	for (size_t i = 0; i < p->name.n; i++)
		free(p->name.v[i]);
	map_free(&p->frames.by);
	map_free(&p->by);
	map_free(&p->sockets);
	map_free(&p->names);
	map_free(&p->peer_by);
	vec_free(&p->v);
	vec_free(&p->name);
	vec_free(&p->peer);
}
