/* SPDX-License-Identifier: Apache-2.0 */
/* Names come in records before the first event that needs them; many connections lead to one address. */
#include "lib/cause/peers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

#define UNKNOWN UINT32_MAX
#define ALONE	0.95 /* of the waits at a place: the others are not worth a word */

bool cause_peers_event(struct cause_peers *p, const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);
	const struct world_thread *th = ctx ? world_get_thread(w, ctx->thread) : NULL;
	struct cause_peer_wait fresh = { .process = th ? th->process : 0, .peer = UNKNOWN };
	uint64_t id = 0, key, at;

	if (op)
		event_get(ev, op, COL_SOCKET, &id);
	if (map_get(&p->sockets, id, &at))
		fresh.peer = (uint32_t)at;
	fresh.frame = cause_frame(&p->frames, w, ev->stack);
	key = hash_u64(((uint64_t)fresh.process << 32 | fresh.frame) ^ hash_u64(fresh.peer));
	if (!map_get(&p->by, key, &at)) {
		if (p->v.n >= CAUSE_PEERS)
			return true;
		at = p->v.n;
		if (!vec_push(&p->v, fresh) || !map_put(&p->by, key, at))
			return false;
	}
	p->v.v[at].ns += ev->dur_ns;
	return true;
}

/* Position of the name; UNKNOWN: there are too many, or (*nomem) no memory is left. */
static uint32_t name_at(struct cause_peers *p, struct bytes remote, bool *nomem)
{
	uint64_t key = hash_bytes(remote.p, remote.n, 0), at;
	struct cause_peer fresh = { 0 };

	if (map_get(&p->names, key, &at))
		return (uint32_t)at;
	if (p->name.n >= CAUSE_PEERS)
		return UNKNOWN;
	fresh.text = strndup(remote.p, remote.n);
	*nomem = !fresh.text || !vec_push(&p->name, fresh);
	if (*nomem) {
		free(fresh.text);
		return UNKNOWN;
	}
	*nomem = !map_put(&p->names, key, p->name.n - 1);
	return (uint32_t)p->name.n - 1;
}

/* Workers of one server are several processes of one command. */
static void who(struct cause_peers *p, const struct rec_PEER *said)
{
	struct cause_peer fresh = { .known = true, .pid = said->pid }, *was;
	uint64_t at;

	if (!map_get(&p->sockets, said->socket, &at))
		return;
	memcpy(fresh.comm, said->comm.n ? said->comm.p : "",
	       said->comm.n < sizeof(fresh.comm) ? said->comm.n : sizeof(fresh.comm) - 1);
	was = &p->name.v[at];
	fresh.text = was->text;
	if (was->known && was->pid != fresh.pid)
		fresh.pid = 0;
	fresh.several = was->several || (was->known && strcmp(was->comm, fresh.comm) != 0);
	*was = fresh;
}

bool cause_peers_record(struct cause_peers *p, const struct record *r)
{
	const struct rec_SOCKET *said = &r->u.SOCKET;
	bool nomem = false;
	uint32_t at;

	if (r->kind == RECORD_PEER) {
		who(p, &r->u.PEER);
		return true;
	}
	if (!REC_HAS(r, SOCKET, remote) || !said->remote.n || map_get(&p->sockets, said->id, NULL))
		return true;
	at = name_at(p, said->remote, &nomem);
	return !nomem && (at == UNKNOWN || map_put(&p->sockets, said->id, at));
}

const char *cause_peers_name(const struct cause_peers *p, uint64_t socket)
{
	uint64_t at;

	return map_get(&p->sockets, socket, &at) ? p->name.v[at].text : NULL;
}

static const struct cause_peer *top_of(const struct cause_peers *p, uint32_t process,
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
	return top ? &p->name.v[top->peer] : NULL;
}

const char *cause_peers_top(const struct cause_peers *p, uint32_t process, uint32_t frame,
			    uint32_t *pid)
{
	double share;
	const struct cause_peer *top = top_of(p, process, frame, &share);

	*pid = top && !top->several ? top->pid : 0;
	return top ? top->text : NULL;
}

void cause_peers_text(const struct cause_peers *p, uint32_t process, uint32_t frame,
		      struct buf *out)
{
	double share;
	const struct cause_peer *top = top_of(p, process, frame, &share);

	if (!top)
		return;
	buf_printf(out, share >= ALONE ? " to %s" : ", longest to %s", top->text);
	if (top->known && top->several)
		buf_puts(out, " (several processes)");
	else if (top->known && top->pid)
		buf_printf(out, " (%s, pid %" PRIu32 ")", top->comm, top->pid);
	else if (top->known)
		buf_printf(out, " (%s)", top->comm);
	if (share < ALONE)
		buf_puts(out, ",");
}

void cause_peers_free(struct cause_peers *p)
{
	for (size_t i = 0; i < p->name.n; i++)
		free(p->name.v[i].text);
	map_free(&p->frames.by);
	map_free(&p->by);
	map_free(&p->sockets);
	map_free(&p->names);
	vec_free(&p->v);
	vec_free(&p->name);
}
