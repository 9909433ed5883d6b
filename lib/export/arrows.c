/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the arrows of a timeline: from a submitting call to the call that waits for its stream, and
 * through the calls of one collective. Events come in the order of their ends, so all work
 * submitted before a wait is known when the wait comes.
 */
#include "lib/export/arrows.h"

#include "lib/base/hash.h"

/* Of collectives: not among the small numbers of the others. */
#define COLLECTIVE_BIT (UINT64_C(1) << 63)

static struct arrows_process *process_of(struct arrows *a, uint32_t process, bool *nomem)
{
	uint64_t at;

	if (a->last_at && a->last == process)
		return &a->processes.v[a->last_at - 1];
	if (!map_get(&a->by_process, process, &at)) {
		if (a->processes.n >= ARROWS_PROCESSES)
			return NULL;
		at = a->processes.n + 1;
		if (!vec_push(&a->processes, (struct arrows_process){ 0 }) ||
		    !map_put(&a->by_process, process, at)) {
			*nomem = true;
			return NULL;
		}
	}
	a->last = process;
	a->last_at = (uint32_t)at;
	return &a->processes.v[at - 1];
}

static uint64_t begin_stream_arrow(struct arrows *a, struct arrows_process *p, uint64_t stream,
				   int64_t end_ns)
{
	struct arrows_stream *s = NULL;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->v[i].stream == stream)
			s = &p->v[i];
	if (s && s->id)
		return 0;
	if (!s && p->n < ARROWS_STREAMS)
		s = &p->v[p->n++];
	else if (!s)
		s = &p->v[p->next++ % ARROWS_STREAMS];
	*s = (struct arrows_stream){ stream, ++a->made, end_ns };
	return s->id;
}

static void end_stream_arrows(struct arrows_process *p, const uint64_t *stream, int64_t start_ns,
			      struct arrows_of *out)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct arrows_stream *s = &p->v[i];

		if (!s->id || s->end_ns > start_ns || (stream && s->stream != *stream))
			continue;
		out->ends[out->nends++] = s->id;
		s->id = 0;
	}
}

static bool find_collective(struct arrows *a, uint32_t process, const struct event *ev,
			    const struct op_def *op, struct arrows_of *out)
{
	uint64_t id, sequence;
	bool known;

	if (!comm_ids_event(&a->comms, process, ev, op, &id, &known))
		return false;
	if (known && event_get(ev, op, COL_SEQUENCE, &sequence))
		out->collective = hash_u64(id ^ hash_u64(sequence + 1)) | COLLECTIVE_BIT;
	return true;
}

bool arrows_event(struct arrows *a, uint32_t process, const struct event *ev,
		  const struct op_def *op, struct arrows_of *out)
{
	bool all = ev->op == OP_CUDA_DEVICE_SYNC || ev->op == OP_CU_CTX_SYNC, nomem = false;
	struct arrows_process *p;
	uint64_t stream;
	bool has_stream = event_get(ev, op, COL_STREAM, &stream);

	*out = (struct arrows_of){ 0 };
	if (op->source == SOURCE_NCCL && !find_collective(a, process, ev, op, out))
		return false;
	if (!process || (!has_stream && !all))
		return true;
	p = process_of(a, process, &nomem);
	if (!p)
		return !nomem;
	if (op->flags & OP_SYNC)
		end_stream_arrows(p, all ? NULL : &stream, event_start(ev), out);
	else if (op->flags & OP_SUBMIT)
		out->begins = begin_stream_arrow(a, p, stream, ev->end_ns);
	return true;
}

void arrows_free(struct arrows *a)
{
	map_free(&a->by_process);
	vec_free(&a->processes);
	map_free(&a->comms.of);
}
