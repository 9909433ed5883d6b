/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two cursors, each in the order in which its rows are stored: calls by their beginning, what the kernel did by its end. A
 * call waits in a heap until nothing can end before it any more, so memory grows with calls that overlap, not with rows.
 */
#include "lib/archive/legacy.h"

#include <stdlib.h>
#include <string.h>

#include "lib/archive/legacy_state.h"

#define BATCH	 1024
#define HEAP_MAX (1 << 18) /* calls that overlap: more of them come late */
/* A thread that sleeps for its request has issued it shortly before, and runs shortly after it is done. */
#define REQUEST_SLACK_NS 200000
/* Between the end of a timer's slack and running again; a sleep is entered a little after its time began. */
#define TIMER_LATE_MIN_NS 20000
#define TIMER_LATE_MAX_NS 150000
#define ALIKE_NS	  100000
#define ALIKE_MIN	  3
#define RAN_MIN_NS	  100000

/* ---- one row ---- */

static struct legacy_thread *thread_of(struct archive_legacy *l, sqlite3_stmt *row)
{
	uint64_t tid = (uint64_t)sqlite3_column_int64(row, LEGACY_TID), at;

	if (!map_get(&l->thread_by, tid, &at)) {
		at = l->threads.n;
		if (!vec_push(&l->threads, (struct legacy_thread){ .request.end_ns = INT64_MIN }) ||
		    !map_put(&l->thread_by, tid, at))
			return NULL;
	}
	return &l->threads.v[at];
}

/* How many calls of the thread are around a span; those that ended before anything still to come are forgotten. */
static unsigned depth_of(struct legacy_thread *th, int64_t start_ns, int64_t end_ns,
			 int64_t past_ns)
{
	unsigned depth = 0;
	size_t left = 0;

	for (size_t i = 0; i < th->calls.n; i++) {
		struct legacy_span s = th->calls.v[i];

		if (s.end_ns < past_ns)
			continue;
		th->calls.v[left++] = s;
		depth += s.start_ns <= start_ns && s.end_ns >= end_ns;
	}
	th->calls.n = left;
	return depth;
}

/* Nor that it slept by the clock; but waits outside calls that are whole milliseconds and what the kernel lets a timer run
 * late by default (50 us), several in a row as long as each other, are. One that runs out and is taken up again at once is a wait for something
 * else, with a timeout. */
static bool paced(struct legacy_thread *th, const struct event *ev)
{
	int64_t ns = (int64_t)ev->dur_ns, past = ns % 1000000, apart = ns - th->wait_ns,
		ran = event_start(ev) - th->waited_ns;

	if (ev->depth)
		return false;
	th->wait_ns = ns;
	th->waited_ns = ev->end_ns;
	if (ns < 1000000 || ran < RAN_MIN_NS || past < TIMER_LATE_MIN_NS ||
	    past > TIMER_LATE_MAX_NS || apart < -ALIKE_NS || apart > ALIKE_NS)
		th->alike = 0;
	else
		th->alike++;
	return th->alike >= ALIKE_MIN;
}

static void fill(struct archive_legacy *l, sqlite3_stmt *row, struct event *ev,
		 struct legacy_thread *th)
{
	const struct op_def *op = world_op(l->w, ev->op);
	uint64_t arg0 = (uint64_t)sqlite3_column_int64(row, LEGACY_ARG0),
		 arg1 = (uint64_t)sqlite3_column_int64(row, LEGACY_ARG1),
		 code = (uint64_t)sqlite3_column_int64(row, LEGACY_OP);

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
		th->request.start_ns = event_start(ev);
		th->request.end_ns = ev->end_ns;
		break;
	case OP_PROC_FORK:
		if (arg1 && arg1 <= UINT32_MAX)
			event_set(ev, op, COL_CHILD,
				  legacy_thread_id(l, world_get_ctx(l->w, ev->ctx)->node,
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
		/* Why a thread was off its CPU was not recorded; that it slept until its own request was done shows. */
		if (th->request.end_ns <= ev->end_ns &&
		    th->request.end_ns >= ev->end_ns - REQUEST_SLACK_NS &&
		    th->request.start_ns >= event_start(ev) - REQUEST_SLACK_NS)
			event_set(ev, op, COL_OBJECT_KIND, OBJECT_DISK);
		else if (paced(th, ev))
			event_set(ev, op, COL_OBJECT_KIND, OBJECT_TIMER);
		break;
	default:
		if (op->flags & OP_ALLOC)
			event_set(ev, op, COL_BYTES, arg0);
		break;
	}
}

/* 1: *ev is the row's; 0: it has none here. */
static int take(struct archive_legacy *l, sqlite3_stmt *row, struct event *ev, struct err *e)
{
	int64_t ns = sqlite3_column_int64(row, LEGACY_TIME),
		dur = sqlite3_column_int64(row, LEGACY_DURATION),
		source = sqlite3_column_int64(row, LEGACY_SOURCE),
		tid = sqlite3_column_int64(row, LEGACY_TID),
		pid = sqlite3_column_int64(row, LEGACY_PID);
	struct legacy_thread *th;
	const struct op_def *op;

	*ev = (struct event){ .op = legacy_op(source, sqlite3_column_int64(row, LEGACY_OP)) };
	op = world_op(l->w, ev->op);
	if (!ev->op || !op) {
		l->told.unmapped++;
		return 0;
	}
	/* Twice as long would not fit beside itself: clocks run from 1970, and nothing took a century. */
	if (ns <= 0 || ns > INT64_MAX / 2 || dur < 0 || dur > ns || tid < 0 || tid > INT32_MAX ||
	    pid < 0 || pid > INT32_MAX) {
		l->told.impossible++;
		return 0;
	}
	th = thread_of(l, row);
	if (!th)
		return err_nomem(e);
	ev->dur_ns = op->track == TRACK_INSTANT ? 0 : (uint64_t)dur;
	ev->end_ns = legacy_is_call(source) ? ns + dur : ns;
	ev->ctx = legacy_ctx(l, row, legacy_is_call(source));
	ev->stack = legacy_stack(l, sqlite3_column_int64(row, LEGACY_STACK));
	if (op->track == TRACK_THREAD)
		ev->depth = (uint16_t)depth_of(th, event_start(ev), ev->end_ns, l->emitted_ns);
	if (op->flags & OP_CALL) {
		ev->ret = (int32_t)sqlite3_column_int64(row, LEGACY_RET);
		if (!vec_push(&th->calls, (struct legacy_span){ ns, ev->end_ns }))
			return err_nomem(e);
	}
	fill(l, row, ev, th);
	return world_failed(l->w) ? err_nomem(e) : 1;
}

/* ---- in order of ends ---- */

static bool before(const struct event *a, const struct event *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->depth > b->depth;
}

static bool heap_push(struct archive_legacy *l, const struct event *ev)
{
	size_t at = l->heap.n;

	if (!vec_push(&l->heap, *ev))
		return false;
	for (struct event *h = l->heap.v; at && before(&h[at], &h[(at - 1) / 2]);
	     at = (at - 1) / 2) {
		struct event swap = h[at];

		h[at] = h[(at - 1) / 2];
		h[(at - 1) / 2] = swap;
	}
	return true;
}

static struct event heap_pop(struct archive_legacy *l)
{
	struct event *h = l->heap.v, top = h[0];
	size_t n = --l->heap.n;

	h[0] = h[n];
	for (size_t at = 0;;) {
		size_t least = at;
		struct event swap = h[at];

		for (size_t k = 2 * at + 1; k <= 2 * at + 2; k++) {
			if (k < n && before(&h[k], &h[least]))
				least = k;
		}
		if (least == at)
			return top;
		h[at] = h[least];
		h[least] = swap;
		at = least;
	}
}

/* Reads calls until all that begin by ns have begun. */
static int read_calls(struct archive_legacy *l, int64_t ns, struct err *e)
{
	struct event ev;
	int rc;

	while (!l->calls_end && l->calls_ns <= ns && l->heap.n < HEAP_MAX) {
		rc = archive_database_next(l->db, l->path, l->calls, e);
		if (rc < 0)
			return rc;
		l->calls_end = rc == 0;
		if (rc == 0)
			break;
		rc = take(l, l->calls, &ev, e);
		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		l->calls_ns = event_start(&ev);
		if (!heap_push(l, &ev))
			return err_nomem(e);
	}
	return 0;
}

static int read_host(struct archive_legacy *l, struct err *e)
{
	int rc = 0;

	while (!l->has_host && !l->host_end) {
		rc = archive_database_next(l->db, l->path, l->host, e);
		if (rc < 0)
			return rc;
		l->host_end = rc == 0;
		if (rc == 0)
			break;
		/* A wait lies in calls that begin before its end. */
		rc = read_calls(l, sqlite3_column_int64(l->host, LEGACY_TIME), e);
		if (rc == 0)
			rc = take(l, l->host, &l->next_host, e);
		if (rc < 0)
			return rc;
		l->has_host = rc > 0;
	}
	return 0;
}

/* 1: the next event; 0: no more. */
static int next_event(struct archive_legacy *l, struct event *ev, struct err *e)
{
	int rc;

	if (l->stashed) {
		*ev = l->stash;
		l->stashed = false;
		return 1;
	}
	rc = read_host(l, e);
	if (rc == 0 && l->heap.n == 0)
		rc = read_calls(l, l->calls_ns, e);
	if (rc == 0 && l->heap.n)
		rc = read_calls(l, l->heap.v[0].end_ns, e);
	if (rc)
		return rc;
	if (l->heap.n == 0 && !l->has_host)
		return 0;
	if (l->heap.n && (!l->has_host || !before(&l->next_host, &l->heap.v[0]))) {
		*ev = heap_pop(l);
		return 1;
	}
	*ev = l->next_host;
	l->has_host = false;
	return 1;
}

static int stream_next(struct event_stream *s, struct stream_item *item, struct err *e)
{
	struct archive_legacy *l = (struct archive_legacy *)s;
	struct event ev;
	int rc = legacy_facts_before(l, item, e);

	if (rc || l->ended)
		return rc;
	l->batch.n = 0;
	*item = (struct stream_item){ .kind = STREAM_EVENTS, .floor_ns = INT64_MIN };
	while (!item->late && l->batch.n < BATCH && (rc = next_event(l, &ev, e)) > 0) {
		if (ev.end_ns < l->emitted_ns && l->batch.n) {
			l->stash = ev;
			l->stashed = true;
			break;
		}
		item->late = ev.end_ns < l->emitted_ns;
		if (!item->late)
			l->emitted_ns = ev.end_ns;
		if (!vec_push(&l->batch, ev))
			return err_nomem(e);
	}
	if (rc < 0)
		return rc;
	if (l->batch.n == 0) {
		l->ended = true;
		legacy_facts_end(l, item);
		return 1;
	}
	item->events = l->batch.v;
	item->n = l->batch.n;
	item->watermark_ns = l->emitted_ns;
	return 1;
}

static void stream_close(struct event_stream *s)
{
	/* The recording's own. */
}

static int prepare(struct archive_legacy *l, struct err *e)
{
	static const char *const row[LEGACY_COLUMNS] = {
		"timestamp", "pid",	 "tid",	       "source",    "op",   "duration", "arg0",
		"arg1",	     "ret_code", "stack_hash", "cgroup_id", "node", "comm"
	};
	static const char *const needed[] = {
		"timestamp", "pid", "tid", "source", "op", "duration"
	};
	static const char *const name[] = { "name" }, *const path[] = { "cgroup_path" };
	sqlite3_stmt *any = NULL;
	int rc;

	if (!archive_database_table(l->db, "events") || !archive_database_table(l->db, "sessions"))
		return err_set(e, ERR_CANNOT,
			       "%s is an SQLite database, but not a recording of ingero trace",
			       l->path);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (!archive_database_column(l->db, "events", needed[i]))
			return err_set(
				e, ERR_CANNOT,
				"%s is not a recording of ingero trace: its events have no %s",
				l->path, needed[i]);
	}
	/* By the index of times, where there is one: the plus keeps other indices out. */
	rc = archive_database_select(l->db, l->path, &l->calls, "events", row, LEGACY_COLUMNS,
				     "WHERE +source IN (1, 4, 8) ORDER BY timestamp, duration DESC",
				     e);
	if (rc == 0)
		rc = archive_database_select(l->db, l->path, &l->host, "events", row,
					     LEGACY_COLUMNS,
					     "WHERE +source NOT IN (1, 4, 8) ORDER BY timestamp",
					     e);
	if (rc == 0)
		rc = legacy_stacks_open(l, e);
	if (rc == 0)
		rc = archive_database_select(l->db, l->path, &l->name_of, "process_names", name, 1,
					     "WHERE pid = ?1", e);
	if (rc == 0)
		rc = archive_database_select(l->db, l->path, &l->cgroup_of, "cgroup_metadata", path,
					     1, "WHERE cgroup_id = ?1", e);
	if (rc == 0)
		rc = archive_database_select(l->db, l->path, &any, "events", needed, 1,
					     "WHERE source = 3 AND op = 1 LIMIT 1", e);
	if (rc == 0) {
		rc = archive_database_next(l->db, l->path, any, e);
		l->off_cpu = rc > 0;
		rc = rc < 0 ? rc : 0;
	}
	sqlite3_finalize(any);
	return rc;
}

int archive_legacy_open(struct archive_legacy **out, struct world *w, const char *path,
			struct err *e)
{
	struct archive_legacy *l = calloc(1, sizeof(*l));
	const struct world_node *node;
	int rc = l && (l->path = strdup(path)) ? 0 : err_nomem(e);

	*out = NULL;
	if (rc == 0) {
		l->w = w;
		l->calls_ns = l->emitted_ns = INT64_MIN;
		l->stream = (struct event_stream){ stream_next, stream_close };
		rc = archive_database_open(&l->db, path, e);
	}
	if (rc == 0)
		rc = prepare(l, e);
	if (rc == 0)
		rc = legacy_owners(l, e);
	if (rc == 0)
		rc = legacy_facts_open(l, e);
	if (rc == 0 && world_failed(w))
		rc = err_nomem(e);
	if (rc) {
		archive_legacy_free(l);
		return rc;
	}
	node = world_get_node(w, l->node);
	memcpy(l->told.node_uuid, node->uuid, sizeof(l->told.node_uuid));
	l->told.boot = node->boot;
	*out = l;
	return 0;
}

void archive_legacy_free(struct archive_legacy *l)
{
	if (!l)
		return;
	legacy_facts_close(l);
	sqlite3_finalize(l->calls);
	sqlite3_finalize(l->host);
	sqlite3_finalize(l->stack_of);
	sqlite3_finalize(l->name_of);
	sqlite3_finalize(l->cgroup_of);
	sqlite3_close(l->db);
	for (size_t i = 0; i < l->threads.n; i++)
		vec_free(&l->threads.v[i].calls);
	vec_free(&l->threads);
	vec_free(&l->heap);
	vec_free(&l->batch);
	map_free(&l->thread_by);
	map_free(&l->owner_by);
	map_free(&l->stack_by);
	free(l->path);
	free(l);
}

struct event_stream *archive_legacy_stream(struct archive_legacy *l)
{
	return &l->stream;
}

const struct archive_legacy_told *archive_legacy_told(const struct archive_legacy *l)
{
	return &l->told;
}
