/* SPDX-License-Identifier: Apache-2.0 */
/* Counts waits for sockets and retransmitted segments by remote end, when rows are asked for. */
#include "lib/query/sections_internal.h"

#define SOCKETS_MAX  65536
#define SOCKETS_TOLD 64

bool query_sockets_event(struct query_sockets *s, const struct event *ev, const struct op_def *op)
{
	uint64_t id = 0, at, segments = 1;
	struct view_socket *row;

	if (ev->op != OP_NET_SOCKET && ev->op != OP_NET_RETRANSMIT)
		return true;
	event_get(ev, op, COL_SOCKET, &id);
	if (!map_get(&s->by, id, &at)) {
		if (s->v.n >= SOCKETS_MAX)
			id = 0;
		if (!map_get(&s->by, id, &at)) {
			at = s->v.n;
			if (!vec_push(&s->v, (struct query_socket){ .id = id }) ||
			    !map_put(&s->by, id, at))
				return false;
		}
	}
	row = &s->v.v[at].row;
	if (ev->op == OP_NET_RETRANSMIT) {
		event_get(ev, op, COL_SEGMENTS, &segments);
		row->retransmits++;
		row->segments += segments;
		return true;
	}
	row->count++;
	row->ns += ev->dur_ns;
	row->max_ns = ev->dur_ns > row->max_ns ? ev->dur_ns : row->max_ns;
	return true;
}

static bool is_same_socket(const struct view_socket *a, const struct view_socket *b)
{
	return a->protocol == b->protocol && a->remote == b->remote &&
	       (a->remote || a->local == b->local);
}

static int by_end(const void *a, const void *b)
{
	const struct view_socket *x = a, *y = b;

	if (x->protocol != y->protocol)
		return x->protocol < y->protocol ? -1 : 1;
	if (x->remote != y->remote)
		return x->remote < y->remote ? -1 : 1;
	return (x->local > y->local) - (x->local < y->local);
}

static int by_time(const void *a, const void *b)
{
	const struct view_socket *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->retransmits != y->retransmits)
		return x->retransmits > y->retransmits ? -1 : 1;
	return by_end(a, b);
}

/* Of two connections to one end: what is so of both. */
static void same_peer(struct view_socket *into, const struct view_socket *from)
{
	if (into->peer_pid != from->peer_pid)
		into->peer_pid = 0;
	if (into->peer_comm != from->peer_comm)
		into->peer_comm = 0;
}

bool query_sockets_rows(const struct query_sockets *s, const struct late_names *late_names,
			struct view *v)
{
	size_t n = 0;

	v->sockets.n = 0;
	for (size_t i = 0; i < s->v.n; i++) {
		const struct late_names_socket *t = late_names_socket(late_names, s->v.v[i].id);
		const struct late_names_peer *p = late_names_peer(late_names, s->v.v[i].id);
		struct view_socket row = s->v.v[i].row;

		if (t) {
			row.protocol = t->protocol;
			row.local = t->local;
			row.remote = t->remote;
		}
		if (p) {
			row.peer_pid = p->pid;
			row.peer_comm = p->comm;
		}
		if (!vec_push(&v->sockets, row))
			return false;
	}
	if (v->sockets.n == 0)
		return true;
	qsort(v->sockets.v, v->sockets.n, sizeof(*v->sockets.v), by_end);
	for (size_t i = 1; i < v->sockets.n; i++) {
		struct view_socket *into = &v->sockets.v[n], *from = &v->sockets.v[i];

		if (!is_same_socket(into, from)) {
			v->sockets.v[++n] = *from;
			continue;
		}
		if (into->local != from->local)
			into->local = 0; /* several */
		same_peer(into, from);
		into->count += from->count;
		into->ns += from->ns;
		into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
		into->retransmits += from->retransmits;
		into->segments += from->segments;
	}
	v->sockets.n = n + 1;
	qsort(v->sockets.v, v->sockets.n, sizeof(*v->sockets.v), by_time);
	v->sockets.n = v->sockets.n < SOCKETS_TOLD ? v->sockets.n : SOCKETS_TOLD;
	return true;
}

void query_sockets_free(struct query_sockets *s)
{
	vec_free(&s->v);
	map_free(&s->by);
}
