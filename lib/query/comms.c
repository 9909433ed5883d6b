/* SPDX-License-Identifier: Apache-2.0 */
/* A handle that is destroyed and given out again is a new communicator's: the rank said last holds.
 */
#include "lib/query/sections_internal.h"

#include "lib/base/hash.h"

#define COMMS_MAX 4096

bool query_comms_event(struct query_comms *c, const struct event *ev, const struct op_def *op,
		       uint32_t process)
{
	struct view_comm new = { .process = process }, *m;
	uint64_t key, at, x;

	if (op->source != SOURCE_NCCL || !event_get(ev, op, COL_COMM, &new.handle))
		return true;
	key = hash_u64(new.handle ^ hash_u64(process));
	if (!map_get(&c->by, key, &at)) {
		if (c->v.n >= COMMS_MAX)
			return true;
		at = c->v.n;
		if (!vec_push(&c->v, new) || !map_put(&c->by, key, at))
			return false;
	}
	m = &c->v.v[at];
	if (event_get(ev, op, COL_RANK, &x)) {
		m->has_rank = true;
		m->rank = (uint32_t)x;
	}
	if (event_get(ev, op, COL_RANKS, &x))
		m->ranks = (uint32_t)x;
	if (event_get(ev, op, COL_ASYNC_ERROR, &x) && x)
		m->async_errors++;
	m->errors += event_failed(ev->op, ev->ret);
	if (!event_get(ev, op, COL_BYTES, &x))
		return true;
	m->calls++;
	m->bytes += x;
	m->ns += ev->dur_ns;
	m->max_ns = ev->dur_ns > m->max_ns ? ev->dur_ns : m->max_ns;
	return true;
}

static int compare_by_process(const void *a, const void *b)
{
	const struct view_comm *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->handle > y->handle) - (x->handle < y->handle);
}

bool query_comms_rows(const struct query_comms *c, struct view *v)
{
	v->comms.n = 0;
	for (size_t i = 0; i < c->v.n; i++)
		if (!vec_push(&v->comms, c->v.v[i]))
			return false;
	if (v->comms.n)
		qsort(v->comms.v, v->comms.n, sizeof(*v->comms.v), compare_by_process);
	return true;
}

void query_comms_free(struct query_comms *c)
{
	vec_free(&c->v);
	map_free(&c->by);
}
