/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what a stream's items mean for a path.
 */
#include "lib/path/path_feed.h"

#include <stdlib.h>
#include <string.h>

#include "lib/event/ongoing_wait.h"
#include "lib/path/path_state.h"

void path_feed_free(struct path_feed *f)
{
	open_calls_free(&f->open);
	vec_free(&f->asleep);
	map_free(&f->asleep_by);
}

static void extend_end(struct path_feed *f, int64_t ns)
{
	if (!f->begun || ns > f->end_ns)
		f->end_ns = ns;
	f->begun = true;
}

static int feed_events(struct path_feed *f, const struct stream_item *item, struct err *e)
{
	int64_t previous = f->has_events ? f->previous_ns : INT64_MIN, last = INT64_MIN;

	if (item->lost)
		path_lost(f->path, previous,
			  item->n && !item->late ? item->events[0].end_ns : item->watermark_ns,
			  item->lost);
	for (size_t i = 0; i < item->n && item->late; i++) {
		int rc = path_late(f->path, &item->events[i], e);

		if (rc)
			return rc;
	}
	for (size_t i = 0; i < item->n && !item->late; i++) {
		const struct event *ev = &item->events[i];
		int rc;

		if (i + PATH_EVENTS_AHEAD < item->n)
			path_event_ahead(f->path, &ev[PATH_EVENTS_AHEAD]);
		rc = path_event(f->path, ev, e);
		if (rc == 0 && f->unended && unended_wants(ev->op) &&
		    !unended_event(f->unended, ev))
			rc = err_nomem(e);
		if (rc)
			return rc;
		last = ev->end_ns > last ? ev->end_ns : last;
	}
	if (!item->n || item->late)
		return 0;
	f->previous_ns = item->events[item->n - 1].end_ns;
	f->has_events = true;
	extend_end(f, last);
	return 0;
}

static bool feed_asleep(struct path_feed *f, const struct record *r)
{
	uint64_t at;

	if (!map_get(&f->asleep_by, r->u.ASLEEP.thread, &at))
		return vec_push(&f->asleep, *r) &&
		       map_put(&f->asleep_by, r->u.ASLEEP.thread, f->asleep.n - 1);
	if (r->u.ASLEEP.time_ns >= f->asleep.v[at].u.ASLEEP.time_ns)
		f->asleep.v[at] = *r;
	return true;
}

static int feed_socket(struct path_feed *f, const struct record *r, struct err *e)
{
	enum unended_role role =
		REC_HAS(r, SOCKET, role) ? unended_role_of(r->u.SOCKET.role) : UNENDED_ROLE_UNKNOWN;

	int rc = role ? path_socket(f->path, r->u.SOCKET.id, role == UNENDED_ROLE_DEMAND, e) : 0;

	if (rc || !REC_HAS(r, SOCKET, local) || !REC_HAS(r, SOCKET, remote))
		return rc;
	return path_socket_ends(f->path, r->u.SOCKET.id, r->u.SOCKET.local, r->u.SOCKET.remote, e);
}

/* The recording of a machine ended: its last sleeps came as intervals. node 0: the only machine. */
static void feed_end(struct path_feed *f, uint32_t node, int64_t time_ns)
{
	for (size_t i = 0; i < f->asleep.n; i++) {
		struct rec_ASLEEP *r = &f->asleep.v[i].u.ASLEEP;
		const struct world_process *p = world_thread_process(f->path->w, r->thread);

		if (r->time_ns <= time_ns && (!node || (p && p->node == node)))
			r->thread = 0;
	}
}

static int feed_record(struct path_feed *f, const struct record *r, struct err *e)
{
	switch (r->kind) {
	case RECORD_SESSION:
		if (REC_HAS(r, SESSION, cpu_samples_hz))
			path_sampled(f->path, r->u.SESSION.cpu_samples_hz);
		return 0;
	case RECORD_CLOCK:
		if (f->has_events)
			extend_end(f, r->u.CLOCK.mono_ns);
		if (REC_HAS(r, CLOCK, source) && bytes_equal(r->u.CLOCK.source, bytes_of("end")))
			feed_end(f, REC_HAS(r, CLOCK, node) ? r->u.CLOCK.node : 0,
				 r->u.CLOCK.mono_ns);
		return 0;
	case RECORD_LOSS:
		path_lost(f->path, REC_HAS(r, LOSS, since_ns) ? r->u.LOSS.since_ns : INT64_MIN,
			  REC_HAS(r, LOSS, until_ns) ? r->u.LOSS.until_ns : f->end_ns,
			  r->u.LOSS.count);
		return 0;
	case RECORD_OPEN:
		if (!r->u.OPEN.at_end)
			return 0;
		extend_end(f, r->u.OPEN.time_ns);
		return open_calls_add(&f->open, &r->u.OPEN) ? 0 : err_nomem(e);
	case RECORD_SOCKET:
		return feed_socket(f, r, e);
	case RECORD_PEER:
		return path_peer(f->path, r->u.PEER.socket, r->u.PEER.pid, e);
	case RECORD_READY:
		if (!REC_HAS(r, READY, socket))
			return 0;
		return path_ready(f->path, r->u.READY.thread, r->u.READY.socket, r->u.READY.time_ns,
				  e);
	case RECORD_ASLEEP:
		return feed_asleep(f, r) ? 0 : err_nomem(e);
	default:
		return 0;
	}
}

int path_feed_item(struct path_feed *f, const struct stream_item *item, struct err *e)
{
	if (item->kind == STREAM_EVENTS)
		return feed_events(f, item, e);
	if (item->kind != STREAM_RECORD)
		return 0;
	if (f->unended && !unended_record(f->unended, item->record))
		return err_nomem(e);
	return feed_record(f, item->record, e);
}

/* Innermost first. */
static int compare_open(const void *a, const void *b)
{
	const struct rec_OPEN *x = a, *y = b;

	return x->depth < y->depth ? 1 : x->depth > y->depth ? -1 : 0;
}

int path_feed_finish(struct path_feed *f, struct err *e)
{
	const struct op_def *offcpu = op_builtin(OP_SCHED_OFFCPU);
	int rc = 0;

	for (size_t i = 0; !rc && i < f->asleep.n; i++) {
		struct record *r = &f->asleep.v[i];
		struct event ev;

		if (!r->u.ASLEEP.thread ||
		    path_known_until(f->path, r->u.ASLEEP.thread) > r->u.ASLEEP.since_ns)
			continue;
		extend_end(f, r->u.ASLEEP.time_ns);
		r->u.ASLEEP.time_ns = f->end_ns;
		if (asleep_event(r, offcpu, &ev))
			rc = path_asleep(f->path, r->u.ASLEEP.thread, &ev, e);
	}
	if (f->open.v.n)
		qsort(f->open.v.v, f->open.v.n, sizeof(f->open.v.v[0]), compare_open);
	for (size_t i = 0; !rc && i < f->open.v.n; i++) {
		const struct rec_OPEN *c = &f->open.v.v[i];

		/* It returned in a later file of the same recording. */
		if (c->time_ns < f->end_ns && path_known_until(f->path, c->thread) > c->time_ns)
			continue;
		if (c->op <= UINT16_MAX)
			rc = path_open(f->path, c->thread, (uint16_t)c->op, c->start_ns, c->depth,
				       c->stack, f->end_ns, e);
	}
	return rc ? rc : path_finish(f->path, f->begun ? f->end_ns : INT64_MIN, e);
}
