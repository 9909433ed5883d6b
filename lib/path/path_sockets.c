/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sockets are for, and who sent what ended a wait for one. Between two processes of a machine
 * that arrives in a soft interrupt on top of the sender, so that the kernel names a candidate
 * alone: the thread that was in a call on a socket then. It is the sender where its process has the
 * other end or, as long as nobody is known to have that, where both ends are on this machine.
 */
#include <string.h>

#include "lib/path/path_state.h"

#define SOCKET_ROLE (SEGMENT_DEMAND | SEGMENT_REPLY)
#define SOCKET_HERE (UINT64_C(1) << 16) /* both ends are on this machine */
#define LOSSY_MAX   65536 /* connections that lost segments; of more it is not known */

static bool add_fact(struct path *p, uint64_t id, uint64_t fact, uint64_t instead_of)
{
	uint64_t known = 0;

	map_get(&p->sockets, id, &known);
	return map_put(&p->sockets, id, (known & ~instead_of) | fact);
}

int path_socket(struct path *p, uint64_t id, bool demand, struct err *e)
{
	return add_fact(p, id, demand ? SEGMENT_DEMAND : SEGMENT_REPLY, SOCKET_ROLE) ? 0
										     : err_nomem(e);
}

/* The address of an end without its port; empty: it has none. */
static struct bytes host_of(struct bytes end)
{
	const char *colon = end.n ? memrchr(end.p, ':', end.n) : NULL;

	return (struct bytes){ end.p, colon ? (size_t)(colon - end.p) : 0 };
}

int path_socket_ends(struct path *p, uint64_t id, struct bytes local, struct bytes remote,
		     struct err *e)
{
	struct bytes near = host_of(local), far = host_of(remote);

	return !far.n || !bytes_equal(near, far) || add_fact(p, id, SOCKET_HERE, 0) ? 0
										    : err_nomem(e);
}

int path_peer(struct path *p, uint64_t id, uint32_t pid, struct err *e)
{
	uint64_t known;

	if (map_get(&p->peers, id, &known) && known != pid)
		pid = 0;
	return map_put(&p->peers, id, pid) ? 0 : err_nomem(e);
}

uint16_t path_socket_role(const struct path *p, uint64_t id)
{
	uint64_t facts = 0;

	map_get(&p->sockets, id, &facts);
	return facts & SOCKET_ROLE;
}

/* ---- lost segments ---- */

bool path_sockets_lost(struct path *p, const struct event *ev, const struct op_def *def)
{
	uint64_t id, before;

	if (!event_get(ev, def, COL_SOCKET, &id) || !id ||
	    (p->lossy.n >= LOSSY_MAX && !map_get(&p->lossy, id, &before)))
		return true;
	return map_put(&p->lossy, id, (uint64_t)ev->end_ns);
}

/* Whether that happened in a wait, which ended just now. */
static bool is_lossy(const struct path *p, uint64_t id, const struct event *wait)
{
	uint64_t lost_ns;

	return p->lossy.n && map_get(&p->lossy, id, &lost_ns) &&
	       (int64_t)lost_ns >= event_start(wait) && (int64_t)lost_ns <= wait->end_ns;
}

/* ---- who sent ---- */

/* The process at the other end; 0: not known, as where the waiting one has both. */
static uint64_t peer_of(const struct path *p, const struct path_thread *th, uint64_t id)
{
	const struct world_process *own = world_get_process(p->w, th->process);
	uint64_t pid = 0;

	map_get(&p->peers, id, &pid);
	return own && own->tgid == pid ? 0 : pid;
}

bool path_sent(const struct path *p, const struct path_thread *th, uint64_t id)
{
	const struct path_thread *sender = path_thread_known(p, th->sender);
	const struct world_process *process =
		sender ? world_get_process(p->w, sender->process) : NULL;
	uint64_t facts = 0, pid = peer_of(p, th, id);

	if (!th->sender || !process || !sender->log.begun || sender->outside)
		return false;
	map_get(&p->sockets, id, &facts);
	if (pid)
		return process->tgid == pid && sender->node == th->node;
	return facts & SOCKET_HERE;
}

void path_sockets_sent(const struct path *p, const struct path_thread *th, uint64_t id,
		       struct segment *wait)
{
	wait->flags |= path_socket_role(p, id);
	if (wait->state != SEGMENT_BLOCKED || !path_sent(p, th, id))
		return;
	wait->state = SEGMENT_WAITING;
	wait->who = th->sender;
}

void path_sockets_take(struct path *p, struct path_thread *th, const struct event *ev,
		       const struct op_def *def, struct segment *wait)
{
	th->sender = wait->state == SEGMENT_BLOCKED ? offcpu_sender(ev, def) : 0;
	if (th->sender == th->id)
		th->sender = 0;
	th->sender_start = (uint32_t)event_start(ev);
	th->sender_end = (uint32_t)ev->end_ns;
	if (!th->socket || th->socket_since_ns != event_start(ev))
		return;
	if (is_lossy(p, th->socket, ev))
		wait->flags |= path_socket_role(p, th->socket) | SEGMENT_LOSSY;
	else
		path_sockets_sent(p, th, th->socket, wait);
}

bool path_sockets_mark(struct path *p, struct path_thread *th, int64_t since_ns, int64_t end_ns,
		       uint16_t flags, bool sent, bool *done)
{
	uint32_t who = sent ? th->sender : 0;

	path_timed_mark(p, th, end_ns, flags, who);
	return path_thread_mark_wait(th, since_ns, flags, who, done) &&
	       (!who || !*done || releases_add(&p->releases, th->id, who));
}

/* A wait for a socket: its interval comes before this, or behind it. */
bool path_sockets_wait(struct path *p, struct path_thread *th, const struct event *ev,
		       const struct op_def *def)
{
	bool done, lossy;
	uint16_t flags;
	uint64_t id;

	if (!event_get(ev, def, COL_SOCKET, &id))
		return true;
	lossy = is_lossy(p, id, ev);
	flags = path_socket_role(p, id) | (lossy ? SEGMENT_LOSSY : 0);
	/* What ended it was sent again, by nobody's call. */
	if (!path_sockets_mark(p, th, event_start(ev), ev->end_ns, flags,
			       !lossy && th->sender_start == (uint32_t)event_start(ev) &&
				       path_sent(p, th, id),
			       &done))
		return false;
	th->socket_since_ns = event_start(ev);
	th->socket = done ? 0 : id;
	return true;
}
