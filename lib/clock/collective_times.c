/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the times of collectives: when each was called and done. A wait for the device that begins
 * after the call of a collective, in the same thread or for the same stream, ends when the
 * collective is done. Collectives that are captured into a graph are left out.
 */
#include "lib/clock/collective_times.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/ige/index.h"
#include "lib/ige/seek.h"

#define MEETINGS_MAX 16384 /* of one recording: enough for a bound, wherever they lie */
#define WAITING_MAX  256   /* collectives of all its processes that nobody has waited for yet */
#define EVENTS_MAX   (64u << 20) /* looked at for them */

struct waiting {
	size_t at; /* in the meetings */
	uint32_t process, thread;
	int64_t end_ns;
	uint64_t stream;
	bool has_stream;
	bool grouped; /* not a collective: a communicator, made when the group is over that it was
			 asked for in */
};

struct meeting_reader {
	struct collective_time_list *m;
	struct world *w;
	uint32_t machine;
	int64_t shift_ns;
	size_t first;	      /* of this recording's */
	struct map comms;     /* by process and handle: the communicator's id */
	struct map capturing; /* by process: how many captures are open */
	struct map groups;    /* by thread: how many of its groups of calls are open */
	struct waiting waiting[WAITING_MAX];
	unsigned nwaiting;
};

static bool makes_comm(uint16_t op)
{
	return op == OP_NCCL_COMM_INIT_RANK || op == OP_NCCL_COMM_INIT_RANK_CONFIG ||
	       op == OP_NCCL_COMM_INIT_RANK_SCALABLE;
}

/* Needs something of every rank before it is done on any. */
static bool waits_for_all(uint16_t op)
{
	return op == OP_NCCL_ALL_REDUCE || op == OP_NCCL_ALL_GATHER ||
	       op == OP_NCCL_REDUCE_SCATTER || op == OP_NCCL_ALLTO_ALL;
}

/* 1: the op begins a stream capture; -1: it ends one; else 0. */
static int capture_step(uint16_t op)
{
	switch (op) {
	case OP_CUDA_STREAM_BEGIN_CAPTURE:
	case OP_CUDA_STREAM_BEGIN_CAPTURE_TO_GRAPH:
	case OP_CU_STREAM_BEGIN_CAPTURE:
	case OP_CU_STREAM_BEGIN_CAPTURE_TO_GRAPH:
		return 1;
	case OP_CUDA_STREAM_END_CAPTURE:
	case OP_CU_STREAM_END_CAPTURE:
		return -1;
	default:
		return 0;
	}
}

static uint64_t wanted_ops(bool all)
{
	static const uint16_t made[] = { OP_NCCL_COMM_INIT_RANK, OP_NCCL_COMM_INIT_RANK_CONFIG,
					 OP_NCCL_COMM_INIT_RANK_SCALABLE };
	static const uint16_t others[] = {
		OP_NCCL_ALL_REDUCE,
		OP_NCCL_ALL_GATHER,
		OP_NCCL_REDUCE_SCATTER,
		OP_NCCL_ALLTO_ALL,
		OP_CUDA_STREAM_SYNC,
		OP_CUDA_DEVICE_SYNC,
		OP_CU_STREAM_SYNC,
		OP_CU_CTX_SYNC,
		OP_CUDA_STREAM_BEGIN_CAPTURE,
		OP_CUDA_STREAM_BEGIN_CAPTURE_TO_GRAPH,
		OP_CU_STREAM_BEGIN_CAPTURE,
		OP_CU_STREAM_BEGIN_CAPTURE_TO_GRAPH,
		OP_CUDA_STREAM_END_CAPTURE,
		OP_CU_STREAM_END_CAPTURE,
		OP_NCCL_GROUP_START,
		OP_NCCL_GROUP_END,
	};
	uint64_t ops = 0;

	for (unsigned i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		ops |= ige_op_bit(made[i]);
	for (unsigned i = 0; all && i < sizeof(others) / sizeof(others[0]); i++)
		ops |= ige_op_bit(others[i]);
	return ops;
}

static uint64_t handle_key(uint32_t process, uint64_t handle)
{
	return hash_u64(handle) ^ hash_u64((uint64_t)process << 20 | 1);
}

static bool add_time(struct meeting_reader *r, const struct event *ev, uint64_t comm,
		     uint64_t sequence, uint64_t rank, int64_t done_ns)
{
	struct collective_time one = { .comm = comm,
				       .sequence = sequence,
				       .rank = (uint32_t)rank,
				       .machine = r->machine,
				       .op = ev->op,
				       .called_ns = event_start(ev) + r->shift_ns,
				       .done_ns = done_ns };

	return vec_push(&r->m->all, one);
}

/* Adds a collective whose end is not known yet. */
static void add_waiting(struct meeting_reader *r, struct waiting w)
{
	w.at = r->m->all.n;
	/* Drop the oldest: a program that has not waited for it so far never will. */
	if (r->nwaiting == WAITING_MAX)
		memmove(r->waiting, r->waiting + 1, --r->nwaiting * sizeof(r->waiting[0]));
	r->waiting[r->nwaiting++] = w;
}

static bool on_collective(struct meeting_reader *r, const struct event *ev, const struct op_def *op,
			  uint32_t process, uint32_t thread)
{
	struct waiting w = { .process = process, .thread = thread, .end_ns = ev->end_ns };
	uint64_t handle, sequence, comm, open;

	if (!event_get(ev, op, COL_COMM, &handle) || !event_get(ev, op, COL_SEQUENCE, &sequence) ||
	    sequence == COLLECTIVE_TIMES_MADE ||
	    !map_get(&r->comms, handle_key(process, handle), &comm) ||
	    (map_get(&r->capturing, process, &open) && open))
		return true;
	w.has_stream = event_get(ev, op, COL_STREAM, &w.stream);
	add_waiting(r, w);
	return add_time(r, ev, comm, sequence, 0, INT64_MAX);
}

static void on_wait(struct meeting_reader *r, const struct event *ev, const struct op_def *op,
		    uint32_t process, uint32_t thread)
{
	uint64_t stream = 0;
	bool has_stream = event_get(ev, op, COL_STREAM, &stream);
	bool whole = ev->op == OP_CUDA_DEVICE_SYNC || ev->op == OP_CU_CTX_SYNC;
	unsigned kept = 0;

	for (unsigned i = 0; i < r->nwaiting; i++) {
		const struct waiting *w = &r->waiting[i];
		bool seen = !w->grouped && w->process == process && event_start(ev) >= w->end_ns &&
			    (whole ? w->thread == thread
				   : has_stream && w->has_stream && w->stream == stream);

		if (seen)
			r->m->all.v[w->at].done_ns = ev->end_ns + r->shift_ns;
		else
			r->waiting[kept++] = *w;
	}
	r->nwaiting = kept;
}

/* In a group, calls that make a communicator return at once; the end of the group waits for the
 * other ranks. */
static bool on_group(struct meeting_reader *r, const struct event *ev, uint32_t thread)
{
	const uint64_t key = handle_key(thread, 0);
	uint64_t open = 0;
	unsigned kept = 0;

	map_get(&r->groups, key, &open);
	if (ev->op == OP_NCCL_GROUP_START)
		return ev->ret || map_put(&r->groups, key, open + 1);
	for (unsigned i = 0; i < r->nwaiting && open <= 1; i++) {
		const struct waiting *w = &r->waiting[i];

		if (!w->grouped || w->thread != thread)
			r->waiting[kept++] = *w;
		else if (!ev->ret)
			r->m->all.v[w->at].done_ns = ev->end_ns + r->shift_ns;
	}
	if (open <= 1)
		r->nwaiting = kept;
	return map_put(&r->groups, key, open > 1 ? open - 1 : 0);
}

/* Enters a communicator of this rank, and when it was made. */
static bool on_comm_made(struct meeting_reader *r, const struct event *ev, const struct op_def *op,
			 uint32_t process, uint32_t thread)
{
	uint64_t handle, id, rank, open;
	bool grouped = map_get(&r->groups, handle_key(thread, 0), &open) && open;

	if (!event_get(ev, op, COL_COMM, &handle) || !event_get(ev, op, COL_COMM_ID, &id) ||
	    !event_get(ev, op, COL_RANK, &rank))
		return true;
	if (grouped)
		add_waiting(r, (struct waiting){ .thread = thread, .grouped = true });
	return map_put(&r->comms, handle_key(process, handle), id) &&
	       add_time(r, ev, id, COLLECTIVE_TIMES_MADE, rank,
			grouped ? INT64_MAX : ev->end_ns + r->shift_ns);
}

static bool on_event(struct meeting_reader *r, const struct event *ev)
{
	const struct op_def *op = world_op(r->w, ev->op);
	const struct world_ctx *ctx = world_get_ctx(r->w, ev->ctx);
	const struct world_image *image = ctx ? world_get_image(r->w, ctx->image) : NULL;
	uint32_t process = image ? image->process : 0, thread = ctx ? ctx->thread : 0;
	uint64_t open = 0;

	/* Ignore impossible times. */
	if (!op || !process || ev->dur_ns > INT64_MAX / 4 || ev->end_ns < INT64_MIN / 4 ||
	    ev->end_ns > INT64_MAX / 4)
		return true;
	if (ev->op == OP_NCCL_GROUP_START || ev->op == OP_NCCL_GROUP_END)
		return on_group(r, ev, thread);
	if (ev->ret)
		return true;
	if (makes_comm(ev->op))
		return on_comm_made(r, ev, op, process, thread);
	if (waits_for_all(ev->op))
		return on_collective(r, ev, op, process, thread);
	if (capture_step(ev->op)) {
		map_get(&r->capturing, process, &open);
		open += capture_step(ev->op) > 0 ? 1 : open ? UINT64_MAX : 0;
		return map_put(&r->capturing, process, open);
	}
	if (ev->op == OP_CUDA_STREAM_SYNC || ev->op == OP_CU_STREAM_SYNC ||
	    ev->op == OP_CUDA_DEVICE_SYNC || ev->op == OP_CU_CTX_SYNC)
		on_wait(r, ev, op, process, thread);
	return true;
}

/* Reads the events of these ops. < 0: out of memory, or damaged. */
static int read_events(struct meeting_reader *r, struct ige_seek *s, uint64_t ops, bool only_made,
		       struct err *e)
{
	struct event_stream *in = ige_seek_stream(s, INT64_MIN, INT64_MAX, IGE_SEEK_EVENTS, ops);
	struct stream_item item;
	uint64_t events = 0;
	int rc;

	while ((rc = in->next(in, &item, e)) > 0) {
		for (size_t i = 0; i < item.n; i++) {
			if (only_made && !makes_comm(item.events[i].op))
				continue;
			if (!on_event(r, &item.events[i]))
				return err_nomem(e);
		}
		events += item.n;
		if (r->m->all.n - r->first >= MEETINGS_MAX || events > EVENTS_MAX)
			return 0;
	}
	return rc;
}

int collective_times_read(struct collective_time_list *m, int fd, const char *name,
			  uint32_t machine, int64_t shift_ns, struct err *e)
{
	struct meeting_reader r = {
		.m = m, .machine = machine, .shift_ns = shift_ns, .first = m->all.n
	};
	struct ige_seek *s = NULL;
	int rc = 0;

	r.w = world_new();
	if (!r.w)
		return err_nomem(e);
	/* Whatever is wrong with it, reading it for its events will say so. */
	if (ige_seek_open(&s, r.w, fd, name, NULL))
		goto out;
	rc = read_events(&r, s, wanted_ops(false), true, e);
	if (!rc && m->all.n > r.first) {
		m->all.n = r.first;
		map_clear(&r.comms);
		rc = read_events(&r, s, wanted_ops(true), false, e);
	}
out:
	if (rc == ERR_DAMAGED || rc == ERR_TOO_NEW)
		rc = 0;
	ige_seek_free(s);
	map_free(&r.comms);
	map_free(&r.capturing);
	map_free(&r.groups);
	world_free(r.w);
	return rc;
}
