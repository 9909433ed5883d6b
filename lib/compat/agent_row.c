/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a row of the older agent to an event: its times, its thread, how many calls enclose it,
 * and the meaning of its two arguments.
 */
#include "lib/compat/agent_internal.h"

#include <string.h>

#define CALLS_MAX 256 /* of a thread that overlap: no stack of library calls is as deep */

static struct agent_thread *thread_of(struct agent_recording *l, uint32_t node, int64_t tid)
{
	uint64_t key = agent_thread_key(node, (uint64_t)tid), at;

	if (!map_get(&l->thread_by, key, &at)) {
		at = l->threads.n;
		if (!vec_push(&l->threads, (struct agent_thread){ .request.end_ns = INT64_MIN }) ||
		    !map_put(&l->thread_by, key, at))
			return NULL;
	}
	return &l->threads.v[at];
}

/* How many calls of the thread are around a span; those that ended before anything still to come
 * are forgotten. */
static unsigned depth_of(struct agent_thread *th, int64_t start_ns, int64_t end_ns, int64_t past_ns)
{
	unsigned depth = 0;
	size_t left = 0;

	for (size_t i = 0; i < th->calls.n; i++) {
		struct agent_span s = th->calls.v[i];

		if (s.end_ns < past_ns)
			continue;
		th->calls.v[left++] = s;
		depth += s.start_ns <= start_ns && s.end_ns >= end_ns;
	}
	th->calls.n = left;
	return depth;
}

static void fill_columns(struct agent_recording *l, sqlite3_stmt *row, struct event *ev,
			 struct agent_thread *th)
{
	const struct op_def *op = world_op(l->w, ev->op);
	uint64_t arg0 = (uint64_t)sqlite3_column_int64(row, AGENT_ARG0),
		 arg1 = (uint64_t)sqlite3_column_int64(row, AGENT_ARG1),
		 code = (uint64_t)sqlite3_column_int64(row, AGENT_OP);
	int object;

	switch (ev->op) {
	case OP_CUDA_FREE:
		event_set(ev, op, COL_PTR, arg0);
		break;
	case OP_CUDA_LAUNCH:
	case OP_CU_LAUNCH:
		event_set(ev, op, COL_FUNC, arg0);
		break;
	case OP_CUDA_STREAM_SYNC:
		event_set(ev, op, COL_STREAM, arg0);
		break;
	case OP_CUDA_MEMCPY:
	case OP_CUDA_MEMCPY_ASYNC:
		event_set(ev, op, COL_DIRECTION, arg1);
		event_set(ev, op, COL_BYTES, arg0);
		break;
	case OP_IO_BLOCK:
		event_set(ev, op, COL_SECTOR, arg1);
		event_set(ev, op, COL_BYTES, arg0 * 512);
		event_set(ev, op, COL_WRITE, code == 3 ? 3 : code - 1);
		th->request = (struct agent_span){ event_start(ev), ev->end_ns };
		break;
	case OP_PROC_FORK:
		if (arg1 && arg1 <= UINT32_MAX)
			event_set(ev, op, COL_CHILD,
				  agent_thread_id(l, world_get_ctx(l->w, ev->ctx)->node,
						  (uint32_t)arg1));
		break;
	case OP_NET_SOCKET:
		event_set(ev, op, COL_FD, arg0);
		event_set(ev, op, COL_WRITE, code == 1);
		break;
	case OP_NET_RETRANSMIT:
		event_set(ev, op, COL_SEGMENTS, 1);
		break;
	case OP_SCHED_OFFCPU:
		object = agent_waited_for(th, ev);
		if (object)
			event_set(ev, op, COL_OBJECT_KIND, (uint64_t)object);
		break;
	default:
		if (op->flags & OP_ALLOC)
			event_set(ev, op, COL_BYTES, arg0);
		break;
	}
}

int agent_event(struct agent_recording *l, sqlite3_stmt *row, struct event *ev, struct err *e)
{
	int64_t ns = sqlite3_column_int64(row, AGENT_TIME),
		dur = sqlite3_column_int64(row, AGENT_DURATION),
		source = sqlite3_column_int64(row, AGENT_SOURCE),
		tid = sqlite3_column_int64(row, AGENT_TID),
		pid = sqlite3_column_int64(row, AGENT_PID);
	const struct world_ctx *ctx;
	struct agent_thread *th;
	const struct op_def *op;

	*ev = (struct event){ .op = agent_op(source, sqlite3_column_int64(row, AGENT_OP)) };
	op = world_op(l->w, ev->op);
	if (!ev->op || !op) {
		l->told.unmapped++;
		return 0;
	}
	/* Twice as long would not fit beside itself: clocks run from 1970, and nothing took a
	 * century. */
	if (ns <= 0 || ns > INT64_MAX / 2 || dur < 0 || dur > ns || tid < 0 || tid > INT32_MAX ||
	    pid < 0 || pid > INT32_MAX) {
		l->told.impossible++;
		return 0;
	}
	ev->ctx = agent_ctx(l, row, agent_is_call(source));
	ctx = world_get_ctx(l->w, ev->ctx);
	th = ctx ? thread_of(l, ctx->node, tid) : NULL;
	if (!th)
		return err_nomem(e);
	ev->dur_ns = op->track == TRACK_INSTANT ? 0 : (uint64_t)dur;
	ev->end_ns = agent_is_call(source) ? ns + dur : ns;
	ev->stack = agent_stack(l, sqlite3_column_int64(row, AGENT_STACK));
	if (op->track == TRACK_THREAD)
		ev->depth = (uint16_t)depth_of(th, event_start(ev), ev->end_ns, l->emitted_ns);
	if (op->flags & OP_CALL) {
		if (th->calls.n == CALLS_MAX)
			memmove(th->calls.v, th->calls.v + 1, --th->calls.n * sizeof(*th->calls.v));
		ev->ret = (int32_t)sqlite3_column_int64(row, AGENT_RET);
		if (!vec_push(&th->calls, (struct agent_span){ ns, ev->end_ns }))
			return err_nomem(e);
	}
	fill_columns(l, row, ev, th);
	return world_failed(l->w) ? err_nomem(e) : 1;
}
