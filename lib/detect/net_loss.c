/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net-loss: threads wait for a connection on which the network loses segments. Proven by segments
 * the kernel sent again on a socket while a thread of the process waited for that same socket; the
 * wait is lost at most as a whole. Not this: segments sent again that nobody waits for, and waits
 * for a peer that is merely slow.
 */
#include <inttypes.h>

#include "lib/base/shell.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/finding_details.h"
#include "lib/account/tolls.h"

#define SOCKETS_MAX 65536
#define RECENT	    16 /* retransmissions remembered of a socket, for waits that end after them */

struct connection {
	uint64_t id;
	int64_t at[RECENT];
	uint64_t n; /* retransmissions ever */
};

struct lossy {
	struct toll_row row;
	uint64_t segments; /* sent again, whether or not somebody waited */
	uint64_t worst_socket, worst_ns;
};

struct net_loss {
	struct tolls tolls;
	struct map by; /* socket id -> position */
	VEC(struct connection) sockets;
};

static unsigned subscribe_op(const struct op_def *op)
{
	return op && (op->id == OP_NET_RETRANSMIT || op->id == OP_NET_SOCKET) ? SUBSCRIBE_EVENTS
									      : 0;
}

/* NULL and *nomem unset: there are too many. */
static struct connection *connection_of(struct net_loss *s, uint64_t id, bool *nomem)
{
	uint64_t at;

	if (map_get(&s->by, id, &at))
		return &s->sockets.v[at];
	if (s->sockets.n >= SOCKETS_MAX)
		return NULL;
	if (!vec_push(&s->sockets, (struct connection){ .id = id }) ||
	    !map_put(&s->by, id, s->sockets.n - 1)) {
		*nomem = true;
		return NULL;
	}
	return &s->sockets.v[s->sockets.n - 1];
}

static uint32_t process_of(const struct cause *c, const struct event *ev, uint32_t *thread)
{
	const struct world_ctx *ctx = world_get_ctx(c->w, ev->ctx);

	*thread = ctx ? ctx->thread : 0;
	return world_ctx_process_id(c->w, ev->ctx);
}

static bool add_retransmit(struct net_loss *s, struct connection *k, const struct event *ev,
			   const struct op_def *op, uint32_t process)
{
	uint64_t segments = 1;
	struct lossy *l = tolls_row(&s->tolls, process, 0, NULL);

	if (!l)
		return false;
	event_get(ev, op, COL_SEGMENTS, &segments);
	l->segments += segments;
	k->at[k->n++ % RECENT] = ev->end_ns;
	return true;
}

static bool add_wait(struct net_loss *s, struct cause *c, const struct connection *k,
		     const struct event *ev, uint32_t process, uint32_t thread)
{
	int64_t start = event_start(ev);
	uint64_t n = k->n < RECENT ? k->n : RECENT, within = 0;
	struct lossy *l;

	for (uint64_t i = 0; i < n; i++)
		within += k->at[i] >= start && k->at[i] <= ev->end_ns;
	if (within == 0)
		return true;
	l = tolls_row(&s->tolls, process, 0, NULL);
	if (!l)
		return false;
	if (ev->dur_ns > l->worst_ns) {
		l->worst_ns = ev->dur_ns;
		l->worst_socket = k->id;
	}
	return where_add(&s->tolls.where, l->row.at, 0, ev->stack, ev->dur_ns, ev->dur_ns) &&
	       toll_add(c, &l->row.toll, thread, ev->op, start, ev->end_ns, ev->dur_ns);
}

static bool on_event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	struct net_loss *s = state;
	struct connection *k;
	uint32_t thread, process = process_of(c, ev, &thread);
	bool nomem = false;
	uint64_t id;

	if (!process || !event_get(ev, op, COL_SOCKET, &id) || !id)
		return true;
	/* Of a socket nothing was said of, nothing can have been sent again. */
	if (ev->op == OP_NET_SOCKET && !map_get(&s->by, id, NULL))
		return true;
	k = connection_of(s, id, &nomem);
	if (!k)
		return !nomem;
	return ev->op == OP_NET_RETRANSMIT ? add_retransmit(s, k, ev, op, process)
					   : add_wait(s, c, k, ev, process, thread);
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct lossy *l = (struct lossy *)r;
	const char *known = cause_peers_name(&c->peers, l->worst_socket),
		   *remote = known ? known : "a peer without address";
	struct buf command = { 0 };

	f->upper_bound = true;
	f->culprit.kind = "peer";
	f->culprit.text = details_print(&f->found, "the network to %s", remote);
	fact_lost(f, c, " waited ");
	buf_printf(&f->summary,
		   " for connections that lost segments, longest for %s; %" PRIu64
		   " segments were sent again",
		   remote, l->segments);
	if (f->nsites && f->sites[0].stack) {
		buf_puts(&f->summary, ", mostly ");
		fact_place(c, &f->sites[0], &f->summary);
	}
	fact_evidence(f, "segments sent again", (double)l->segments, "");
	fact_evidence(f, "longest wait", (double)l->worst_ns, "ns");
	buf_puts(&command, "ss -tin");
	if (known) {
		buf_puts(&command, " dst ");
		shell_word(&command, bytes_of(known));
	}
	fact_fix(f,
		 "Look for what drops segments on the way: errors and drops of the interfaces, a "
		 "full queue",
		 details_text(&f->found, &command), 0, r->toll.ns,
		 "of a wait only what came after the loss is the network's fault");
}

static const struct tolls_def losing = {
	.kind = "net-loss", .counted = "waits", .row = sizeof(struct lossy), .tell = fill_finding
};

static void free_state(void *state)
{
	struct net_loss *s = state;

	map_free(&s->by);
	vec_free(&s->sockets);
}

const struct detector detector_net_loss = {
	.size = sizeof(struct net_loss),
	.tolls = { &losing },
	.subscribe_op = subscribe_op,
	.on_event = on_event,
	.free = free_state,
};
