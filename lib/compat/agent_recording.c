/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the older agent's recordings by two cursors, each in the order in which its rows are
 * stored: calls by their beginning, kernel events by their end. A call waits in a heap until no
 * event can end before it, so memory grows with calls that overlap, not with rows.
 */
#include "lib/compat/agent_recording.h"

#include <stdlib.h>
#include <string.h>

#include "lib/compat/agent_internal.h"

#define BATCH	 1024
#define HEAP_MAX (1 << 18) /* calls that overlap: more of them come late */

/* ---- in order of ends ---- */

static bool is_before(const struct event *a, const struct event *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->depth > b->depth;
}

static bool heap_push(struct agent_recording *l, const struct event *ev)
{
	size_t at = l->heap.n;

	if (!vec_push(&l->heap, *ev))
		return false;
	for (struct event *h = l->heap.v; at && is_before(&h[at], &h[(at - 1) / 2]);
	     at = (at - 1) / 2) {
		struct event swap = h[at];

		h[at] = h[(at - 1) / 2];
		h[(at - 1) / 2] = swap;
	}
	return true;
}

static struct event heap_pop(struct agent_recording *l)
{
	struct event *h = l->heap.v, top = h[0];
	size_t n = --l->heap.n;

	h[0] = h[n];
	for (size_t at = 0;;) {
		size_t least = at;
		struct event swap = h[at];

		for (size_t k = 2 * at + 1; k <= 2 * at + 2; k++) {
			if (k < n && is_before(&h[k], &h[least]))
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
static int read_calls(struct agent_recording *l, int64_t ns, struct err *e)
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
		rc = agent_event(l, l->calls, &ev, e);
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

static int read_host(struct agent_recording *l, struct err *e)
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
		rc = read_calls(l, sqlite3_column_int64(l->host, AGENT_TIME), e);
		if (rc == 0)
			rc = agent_event(l, l->host, &l->next_host, e);
		if (rc < 0)
			return rc;
		l->has_host = rc > 0;
	}
	return 0;
}

/* 1: the next event; 0: no more. */
static int next_event(struct agent_recording *l, struct event *ev, struct err *e)
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
	if (rc < 0)
		return rc;
	if (l->heap.n == 0 && !l->has_host)
		return 0;
	if (l->heap.n && (!l->has_host || !is_before(&l->next_host, &l->heap.v[0]))) {
		*ev = heap_pop(l);
		return 1;
	}
	*ev = l->next_host;
	l->has_host = false;
	return 1;
}

static int stream_next(struct event_stream *s, struct stream_item *item, struct err *e)
{
	struct agent_recording *l = (struct agent_recording *)s;
	struct event ev;
	int rc = agent_facts_before(l, item, e);

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
		agent_facts_end(l, item);
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

static int prepare_statements(struct agent_recording *l, struct err *e)
{
	static const char *const row[AGENT_COLUMNS] = {
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
	rc = archive_database_select(l->db, l->path, &l->calls, "events", row, AGENT_COLUMNS,
				     "WHERE +source IN (1, 4, 8) ORDER BY timestamp, duration DESC",
				     e);
	if (rc == 0)
		rc = archive_database_select(l->db, l->path, &l->host, "events", row, AGENT_COLUMNS,
					     "WHERE +source NOT IN (1, 4, 8) ORDER BY timestamp",
					     e);
	if (rc == 0)
		rc = agent_stacks_open(l, e);
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

int agent_recording_open(struct agent_recording **out, struct world *w, const char *path,
			 const char *machine, struct err *e)
{
	struct agent_recording *l = calloc(1, sizeof(*l));
	const struct world_node *node;
	int rc = l && (l->path = strdup(path)) ? 0 : err_nomem(e);

	*out = NULL;
	if (rc == 0) {
		l->w = w;
		l->machine = machine ? machine : "unknown";
		l->calls_ns = l->emitted_ns = INT64_MIN;
		l->stream = (struct event_stream){ stream_next, stream_close };
		rc = archive_database_open(&l->db, path, e);
	}
	if (rc == 0)
		rc = archive_database_bound(l->db, path, e);
	if (rc == 0)
		rc = prepare_statements(l, e);
	if (rc == 0)
		rc = agent_facts_open(l, e);
	if (rc == 0)
		rc = agent_owners(l, e);
	if (rc == 0 && world_failed(w))
		rc = err_nomem(e);
	if (rc) {
		agent_recording_free(l);
		return rc;
	}
	node = world_get_node(w, l->node);
	memcpy(l->told.node_uuid, node->uuid, sizeof(l->told.node_uuid));
	l->told.boot = node->boot;
	*out = l;
	return 0;
}

void agent_recording_free(struct agent_recording *l)
{
	if (!l)
		return;
	agent_facts_close(l);
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

struct event_stream *agent_recording_stream(struct agent_recording *l)
{
	return &l->stream;
}

const struct agent_recording_facts *agent_recording_facts(const struct agent_recording *l)
{
	return &l->told;
}
