/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the difference of clocks by collectives and the waits that cover them. Covers pass on as
 * in the libraries: a stream's to the events recorded on it, an event's to the streams that wait
 * for it. A wait that began before its handle covered something says nothing about it.
 */
#include "lib/gpustate/clocks.h"

#include <stdlib.h>

#define WAITED_NS                                                                                \
	20000 /* a wait of less found the device done: it says when the host came, not when that \
		 was */

static struct clocks_cover *cover_of(struct clocks_process *p, uint64_t handle, bool event)
{
	for (unsigned i = 0; i < CLOCKS_COVERS; i++) {
		if (p->v[i].comm && p->v[i].handle == handle && p->v[i].event == event)
			return &p->v[i];
	}
	return NULL;
}

static void cover_set(struct clocks_process *p, const struct clocks_cover *v)
{
	struct clocks_cover *old = cover_of(p, v->handle, v->event);

	if (!old)
		old = &p->v[p->next++ % CLOCKS_COVERS];
	*old = *v;
}

/* What can be said of no rank's data but its own ends nothing. */
static bool all_to_all(uint16_t op)
{
	return op == OP_NCCL_ALL_REDUCE || op == OP_NCCL_ALL_GATHER ||
	       op == OP_NCCL_REDUCE_SCATTER || op == OP_NCCL_ALLTO_ALL;
}

bool clocks_entered(struct clocks *c, const struct collectives *all, const struct line_piece *p)
{
	struct clocks_cover v = { .since_ns = p->end_ns };
	uint64_t handle;

	if (p->ev->ret != 0 || !all_to_all(p->ev->op) ||
	    !event_get(p->ev, p->op, COL_STREAM, &v.handle) ||
	    !event_get(p->ev, p->op, COL_SEQUENCE, &v.sequence) ||
	    !event_get(p->ev, p->op, COL_COMM, &handle) ||
	    !(v.comm = collectives_rank(all, p->process, handle, &v.member)))
		return true;
	if (!vec_reach(&c->processes, p->process))
		return false;
	if (!c->processes.v[p->process])
		c->processes.v[p->process] = calloc(1, sizeof(struct clocks_process));
	if (!c->processes.v[p->process])
		return false;
	cover_set(c->processes.v[p->process], &v);
	return true;
}

/* ---- fitting ---- */

/* What one collective says of one node: its last entry and its first end. */
struct side {
	uint32_t node;
	int64_t entered_ns, done_ns;
	bool waited; /* the first end was waited for */
};

static struct clocks_pair *pair_of(struct clocks *c, uint32_t reference, uint32_t node)
{
	struct clocks_pair fresh = {
		.reference = reference,
		.node = node,
		.now = { INT64_MIN, INT64_MAX, 0 },
		.before = { INT64_MIN, INT64_MAX, 0 },
	};

	for (size_t i = 0; i < c->pairs.n; i++) {
		if (c->pairs.v[i].reference == reference && c->pairs.v[i].node == node)
			return &c->pairs.v[i];
	}
	return c->pairs.n < CLOCKS_PAIRS && vec_push(&c->pairs, fresh) ? &c->pairs.v[c->pairs.n - 1]
								       : NULL;
}

static void add_bounds(struct clocks_pair *p, const struct side *ref, const struct side *node)
{
	int64_t low = node->entered_ns - ref->done_ns, high = node->done_ns - ref->entered_ns;

	p->n++;
	if (p->now.n == CLOCKS_WINDOW) {
		p->before = p->now;
		p->now = (struct clocks_bounds){ INT64_MIN, INT64_MAX, 0 };
	}
	if (low > p->now.high_ns || high < p->now.low_ns) {
		p->breaks++;
		p->now = p->before = (struct clocks_bounds){ INT64_MIN, INT64_MAX, 0 };
		p->nends = 0;
	}
	p->now.n++;
	if (low > p->now.low_ns)
		p->now.low_ns = low;
	if (high < p->now.high_ns)
		p->now.high_ns = high;
	if (ref->waited && node->waited)
		p->end_ns[p->nends++ % CLOCKS_ENDS] = node->done_ns - ref->done_ns;
}

/* All have entered this collective, and of all it is known when it was done. */
static void add_collective(struct clocks *c, const struct world *w,
			   const struct collective_comm *comm, const struct collective_pending *p)
{
	struct side side[CLOCKS_NODES];
	unsigned n = 0;

	for (uint32_t i = 0; i < comm->members.n; i++) {
		const struct collective_entry *e = &p->entries[i];
		uint32_t node = world_process_node(w, comm->members.v[i].process);
		unsigned k = 0;

		while (k < n && side[k].node != node)
			k++;
		if (k == CLOCKS_NODES)
			continue;
		if (k == n)
			side[n++] = (struct side){ node, e->enter_ns, e->done_ns, e->waited };
		if (e->enter_ns > side[k].entered_ns)
			side[k].entered_ns = e->enter_ns;
		if (e->done_ns < side[k].done_ns) {
			side[k].done_ns = e->done_ns;
			side[k].waited = e->waited;
		}
	}
	for (unsigned k = 1; k < n; k++) {
		struct clocks_pair *pair = pair_of(c, side[0].node, side[k].node);

		if (pair)
			add_bounds(pair, &side[0], &side[k]);
	}
}

/* Up to this sequence the rank's collectives are done by the end of p. */
static void mark_done(struct clocks *c, const struct world *w, const struct clocks_cover *v,
		      const struct line_piece *p)
{
	bool waited = parts_get(p->parts, PART_DEVICE) >= WAITED_NS;

	for (unsigned i = 0; i < COLLECTIVES_PENDING; i++) {
		struct collective_pending *slot = &v->comm->pending[i];
		struct collective_entry *e;

		if (!slot->used || slot->sequence > v->sequence || v->member >= slot->room)
			continue;
		e = &slot->entries[v->member];
		if (!e->entered || e->done_ns)
			continue;
		e->done_ns = p->end_ns;
		e->waited = waited && slot->sequence == v->sequence;
		if (++slot->done == v->comm->members.n && slot->entered == slot->done)
			add_collective(c, w, v->comm, slot);
	}
}

/* A wait for the whole device, of a process with one rank of each communicator and thus one
 * device. */
static void device_done(struct clocks *c, const struct world *w, struct clocks_process *of,
			const struct line_piece *p)
{
	for (unsigned i = 0; i < CLOCKS_COVERS; i++) {
		const struct clocks_cover *v = &of->v[i];
		bool several = false;

		for (unsigned k = 0; k < CLOCKS_COVERS && v->comm; k++)
			several |= of->v[k].comm == v->comm && of->v[k].member != v->member;
		if (v->comm && !several && v->since_ns <= p->start_ns)
			mark_done(c, w, v, p);
	}
}

void clocks_call(struct clocks *c, const struct world *w, const struct line_piece *p)
{
	struct clocks_process *of = p->process < c->processes.n ? c->processes.v[p->process] : NULL;
	uint64_t stream = 0, event = 0;
	bool has_stream, has_event;
	struct clocks_cover *from, to;

	if (!of || p->ev->ret != 0 || p->open || p->op->source == SOURCE_NCCL)
		return;
	has_stream = event_get(p->ev, p->op, COL_STREAM, &stream);
	has_event = event_get(p->ev, p->op, COL_EVENT, &event);
	if (p->op->flags & OP_SYNC) {
		if (!has_stream && !has_event && !(p->op->flags & OP_COPY)) {
			device_done(c, w, of, p);
			return;
		}
		from = has_stream  ? cover_of(of, stream, false)
		       : has_event ? cover_of(of, event, true)
				   : NULL;
		if (from && from->since_ns <= p->start_ns)
			mark_done(c, w, from, p);
		return;
	}
	if (!has_stream || !has_event)
		return;
	/* A recording covers what its stream does, and nothing else; a stream covers what it waits
	 * for besides. */
	switch (p->ev->op) {
	case OP_CUDA_EVENT_RECORD:
	case OP_CUDA_EVENT_RECORD_WITH_FLAGS:
	case OP_CU_EVENT_RECORD:
	case OP_CU_EVENT_RECORD_WITH_FLAGS:
		from = cover_of(of, stream, false);
		to = from ? *from : (struct clocks_cover){ 0 };
		to.handle = event;
		to.event = true;
		break;
	case OP_CUDA_STREAM_WAIT_EVENT:
	case OP_CU_STREAM_WAIT_EVENT:
		from = cover_of(of, event, true);
		if (!from)
			return;
		to = *from;
		to.handle = stream;
		to.event = false;
		break;
	default:
		return;
	}
	to.since_ns = p->end_ns;
	if (from)
		cover_set(of, &to);
	else if ((from = cover_of(of, event, true)))
		from->comm = NULL; /* recorded anew, behind something else */
}

/* ---- what is known ---- */

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

bool clocks_fit(const struct clocks_pair *p, struct clocks_fit *fit)
{
	int64_t ends[CLOCKS_ENDS];
	unsigned n = p->nends < CLOCKS_ENDS ? (unsigned)p->nends : CLOCKS_ENDS;

	if (p->now.n + p->before.n < CLOCKS_ENOUGH || p->breaks * 20 > p->n)
		return false;
	fit->low_ns = p->now.low_ns > p->before.low_ns ? p->now.low_ns : p->before.low_ns;
	fit->high_ns = p->now.high_ns < p->before.high_ns ? p->now.high_ns : p->before.high_ns;
	if (fit->low_ns > fit->high_ns) { /* it drifts that fast */
		const struct clocks_bounds *b = p->now.n >= CLOCKS_ENOUGH ? &p->now : &p->before;

		fit->low_ns = b->low_ns;
		fit->high_ns = b->high_ns;
	}
	fit->ahead_ns = fit->low_ns + (fit->high_ns - fit->low_ns) / 2;
	if (n >= CLOCKS_ENOUGH) {
		for (unsigned i = 0; i < n; i++)
			ends[i] = p->end_ns[i];
		qsort(ends, n, sizeof(ends[0]), by_size);
		fit->ahead_ns = ends[n / 2];
	}
	if (fit->ahead_ns < fit->low_ns)
		fit->ahead_ns = fit->low_ns;
	if (fit->ahead_ns > fit->high_ns)
		fit->ahead_ns = fit->high_ns;
	return true;
}

int64_t clocks_ahead(const struct clocks *c, uint32_t reference, uint32_t node)
{
	struct clocks_fit fit;

	for (size_t i = 0; i < c->pairs.n; i++) {
		const struct clocks_pair *p = &c->pairs.v[i];

		if (p->reference == reference && p->node == node)
			return clocks_fit(p, &fit) ? fit.ahead_ns : 0;
	}
	return 0;
}

void clocks_free(struct clocks *c)
{
	for (size_t i = 0; i < c->processes.n; i++)
		free(c->processes.v[i]);
	vec_free(&c->processes);
	vec_free(&c->pairs);
}
