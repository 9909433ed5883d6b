/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the collectives of a communicator's ranks. Its members are those that made it while
 * recording; that call returns on no rank before all have joined, so all members are known when the
 * first collective is entered.
 */
#include "lib/gpustate/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

static uint64_t handle_key(uint32_t process, uint64_t handle)
{
	return hash_u64(handle) ^ hash_u64((uint64_t)process << 20 | 1);
}

static struct collective_comm *comm_of(struct collectives *c, uint64_t id, bool *nomem)
{
	struct collective_comm *comm;
	uint64_t at;

	if (map_get(&c->by_id, id, &at))
		return c->comms.v[at];
	if (c->comms.n >= COLLECTIVES_COMMS)
		return NULL;
	comm = calloc(1, sizeof(*comm));
	if (!comm || !map_put(&c->by_id, id, c->comms.n) || !vec_push(&c->comms, comm)) {
		map_del(&c->by_id, id);
		free(comm);
		*nomem = true;
		return NULL;
	}
	comm->id = id;
	return comm;
}

/* A rank joined. */
static bool add_rank(struct collectives *c, const struct event *ev, const struct op_def *op,
		     uint32_t process, uint32_t thread)
{
	struct collective_rank r = { .process = process,
				     .thread = thread,
				     .joined_ns = ev->end_ns };
	uint64_t id, at, rank = 0, ranks = 0;
	struct collective_comm *comm;
	bool nomem = false;

	if (ev->ret != 0 || !event_get(ev, op, COL_COMM, &r.handle) ||
	    !event_get(ev, op, COL_COMM_ID, &id) || !event_get(ev, op, COL_RANK, &rank))
		return true;
	event_get(ev, op, COL_RANKS, &ranks);
	comm = comm_of(c, id, &nomem);
	if (!comm || comm->members.n >= COLLECTIVES_RANKS)
		return !nomem;
	r.rank = (uint32_t)rank;
	comm->ranks = (uint32_t)ranks;
	if (!vec_push(&comm->members, r))
		return false;
	return map_get(&c->by_id, id, &at) && map_put(&c->by_handle, handle_key(process, r.handle),
						      at << 32 | (comm->members.n - 1));
}

static struct collective_pending *slot_of(struct collective_comm *comm, uint64_t sequence)
{
	struct collective_pending *p = &comm->pending[sequence % COLLECTIVES_PENDING];
	uint32_t n = (uint32_t)comm->members.n;

	if (p->used && p->sequence > sequence) /* long past */
		return NULL;
	if (p->used && p->sequence == sequence && p->room >= n)
		return p;
	if (p->used && p->sequence < sequence && p->entered < n)
		comm->given_up++;
	if (p->room < n) {
		struct collective_entry *more = realloc(p->entries, n * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + p->room, 0, (n - p->room) * sizeof(*more));
		p->entries = more;
		p->room = n;
		if (p->used && p->sequence == sequence)
			return p;
	}
	memset(p->entries, 0, p->room * sizeof(*p->entries));
	p->used = true;
	p->sequence = sequence;
	p->entered = p->done = 0;
	return p;
}

static bool is_same(const struct collective_entry *a, const struct collective_entry *b)
{
	return a->op == b->op && a->bytes == b->bytes;
}

/* What all ranks entered before that, as far as it is still known. */
static void note_before(struct collective_comm *comm, uint64_t sequence)
{
	const struct collective_pending *p =
		sequence ? &comm->pending[(sequence - 1) % COLLECTIVES_PENDING] : NULL;

	if (!p || !p->used || p->sequence != sequence - 1 || p->entered < comm->members.n)
		return;
	comm->before_op = p->entries[p->first].op;
	comm->before_bytes = p->entries[p->first].bytes;
}

/* Holds an entry against the first one of the same number. False: out of memory. */
static bool compare_entry(struct collective_comm *comm, struct collective_pending *p,
			  uint32_t member)
{
	if (p->entered == 1)
		p->first = member;
	if (comm->differs) {
		if (comm->differs_at == p->sequence && member < comm->differs_n)
			comm->differs[member] = p->entries[member];
		return true;
	}
	if (comm->pairs || is_same(&p->entries[p->first], &p->entries[member]))
		return true;
	comm->differs = malloc(p->room * sizeof(*comm->differs));
	if (!comm->differs)
		return false;
	memcpy(comm->differs, p->entries, p->room * sizeof(*comm->differs));
	comm->differs_n = p->room;
	comm->differs_at = p->sequence;
	note_before(comm, p->sequence);
	return true;
}

bool collectives_event(struct collectives *c, const struct event *ev, const struct op_def *op,
		       uint32_t process, uint32_t thread, struct collective_comm **comm,
		       struct collective_pending **done)
{
	uint64_t handle, sequence, at;
	struct collective_rank *m;
	struct collective_pending *p;
	struct collective_entry *e;

	*done = NULL;
	if (op->source != SOURCE_NCCL)
		return true;
	if (ev->op == OP_NCCL_COMM_INIT_RANK || ev->op == OP_NCCL_COMM_INIT_RANK_CONFIG ||
	    ev->op == OP_NCCL_COMM_INIT_RANK_SCALABLE)
		return add_rank(c, ev, op, process, thread);
	if (!event_get(ev, op, COL_COMM, &handle) || !event_get(ev, op, COL_SEQUENCE, &sequence) ||
	    !map_get(&c->by_handle, handle_key(process, handle), &at))
		return true;
	*comm = c->comms.v[at >> 32];
	m = &(*comm)->members.v[at & 0xffffffff];
	(*comm)->pairs |= ev->op == OP_NCCL_SEND || ev->op == OP_NCCL_RECV;
	if (!vec_reach(&c->device_ns, thread))
		return false;
	m->entered = true;
	m->sequence = sequence;
	m->enter_ns = event_start(ev);
	m->thread = thread;
	m->op = ev->op;
	m->stack = ev->stack;
	p = slot_of(*comm, sequence);
	e = p ? &p->entries[at & 0xffffffff] : NULL;
	if (e && !e->entered) {
		*e = (struct collective_entry){ .device_ns = c->device_ns.v[thread] };
		e->entered = true;
		e->enter_ns = m->enter_ns;
		e->return_ns = ev->end_ns;
		e->thread = thread;
		e->op = ev->op;
		e->stack = ev->stack;
		event_get(ev, op, COL_BYTES, &e->bytes);
		p->entered++;
		if (!compare_entry(*comm, p, (uint32_t)at))
			return false;
		if (p->entered == (*comm)->members.n)
			*done = p;
	}
	c->device_ns.v[thread] = 0;
	return true;
}

struct collective_comm *collectives_rank(const struct collectives *c, uint32_t process,
					 uint64_t handle, uint32_t *member)
{
	uint64_t at;

	if (!map_get(&c->by_handle, handle_key(process, handle), &at))
		return NULL;
	*member = (uint32_t)at;
	return c->comms.v[at >> 32];
}

bool collectives_waited(struct collectives *c, uint32_t thread, uint64_t ns)
{
	if (c->comms.n == 0 || ns == 0)
		return true;
	if (!vec_reach(&c->device_ns, thread))
		return false;
	c->device_ns.v[thread] += ns;
	return true;
}

const struct collective_pending *collectives_before(const struct collective_comm *comm,
						    const struct collective_pending *done)
{
	const struct collective_pending *p;

	if (done->sequence == 0)
		return NULL;
	p = &comm->pending[(done->sequence - 1) % COLLECTIVES_PENDING];
	return p->used && p->sequence == done->sequence - 1 && p->entered == comm->members.n &&
			       p->room >= comm->members.n
		       ? p
		       : NULL;
}

void collectives_free(struct collectives *c)
{
	for (size_t i = 0; i < c->comms.n; i++) {
		for (unsigned k = 0; k < COLLECTIVES_PENDING; k++)
			free(c->comms.v[i]->pending[k].entries);
		vec_free(&c->comms.v[i]->members);
		free(c->comms.v[i]->differs);
		free(c->comms.v[i]);
	}
	vec_free(&c->comms);
	map_free(&c->by_id);
	map_free(&c->by_handle);
	vec_free(&c->device_ns);
}
