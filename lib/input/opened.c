/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls that are open where a part of a recording begins or ends. A thread's calls nest,
 * so an event of the call's depth or less that ends after the OPEN record shows that the call has
 * returned. Calls that return after the part are read with it, since they began before its end.
 */
#include "lib/input/input_internal.h"

#include <stdlib.h>

#include "lib/base/vec.h"
#include "lib/input/about.h"

struct opened {
	struct event_stream stream, *inner;
	const struct world *world;
	int64_t from_ns, since_ns, until_ns;
	VEC(struct record) calls, outlasting; /* open where the part begins; where it ends */
	size_t told, outlasting_told;	      /* of them */
	bool telling, ended;		      /* at the end of inner, too */
	struct stream_item item;	      /* that comes behind them */
};

/* A process ends with the exit of its first thread. */
static bool is_exit_of(const struct world *w, uint32_t thread, const struct world_ctx *ctx)
{
	const struct world_thread *t = world_get_thread(w, thread),
				  *by = world_get_thread(w, ctx->thread);
	const struct world_process *p = by ? world_get_process(w, by->process) : NULL;

	return thread == ctx->thread || (t && p && t->process == by->process && by->tid == p->tgid);
}

/* Drops the calls that ev shows to have returned, or never to return. */
static void on_event(struct opened *o, const struct event *ev)
{
	const struct world_ctx *ctx = world_get_ctx(o->world, ev->ctx);
	const struct op_def *op = ctx && ctx->thread ? world_op(o->world, ev->op) : NULL;
	size_t left = 0;

	if (!op || !(op->flags & OP_CALL || ev->op == OP_PROC_EXIT))
		return;
	for (size_t i = 0; i < o->calls.n; i++) {
		const struct rec_OPEN *call = &o->calls.v[i].u.OPEN;
		bool over = ev->op == OP_PROC_EXIT
				    ? is_exit_of(o->world, call->thread, ctx)
				    : call->thread == ctx->thread && ev->depth <= call->depth &&
					      ev->end_ns > call->time_ns;

		if (!over)
			o->calls.v[left++] = o->calls.v[i];
	}
	o->calls.n = left;
}

/* Another recording begins: what was open in the one before it is not known to be. */
static void on_session(struct opened *o, const struct record *r)
{
	uint32_t node = about_node(o->world, r);
	size_t left = 0;

	for (size_t i = 0; i < o->calls.n; i++) {
		const struct record *call = &o->calls.v[i];

		if (r->u.SESSION.start_ns <= call->u.OPEN.time_ns ||
		    (node && node != about_node(o->world, call)))
			o->calls.v[left++] = *call;
	}
	o->calls.n = left;
}

/* Whether item has an event that ends at since_ns or later. */
static bool has_reached_part(struct opened *o, const struct stream_item *item)
{
	for (size_t i = 0; item->events && i < item->n; i++) {
		if (item->events[i].end_ns >= o->since_ns)
			return true;
		on_event(o, &item->events[i]);
	}
	return false;
}

/* Lowers item's floor to the earliest start of the open calls, which may still end after it. */
static void lower_floor(const struct opened *o, struct stream_item *item)
{
	for (size_t i = 0; i < o->calls.n; i++)
		if (o->calls.v[i].u.OPEN.start_ns < item->floor_ns)
			item->floor_ns = o->calls.v[i].u.OPEN.start_ns;
}

static bool is_open_before_part(const struct opened *o, const struct record *r)
{
	const struct rec_OPEN *call = &r->u.OPEN;

	return r->kind == RECORD_OPEN && !call->at_end && call->time_ns >= o->from_ns &&
	       call->time_ns < o->since_ns;
}

static int emit_open_calls(struct opened *o, struct stream_item *item)
{
	if (o->told < o->calls.n) {
		struct record *r = &o->calls.v[o->told++];

		r->u.OPEN.time_ns = o->since_ns;
		*item = (struct stream_item){ .kind = STREAM_RECORD,
					      .record = r,
					      .watermark_ns = INT64_MIN,
					      .floor_ns = INT64_MIN };
		return 1;
	}
	o->telling = false;
	o->calls.n = o->told = 0;
	*item = o->item;
	return !o->ended;
}

static int next(struct opened *o, struct stream_item *item, struct err *e)
{
	int rc;

	while (!o->telling) {
		rc = o->ended ? 0 : o->inner->next(o->inner, item, e);
		if (rc < 0)
			return rc;
		o->ended = rc == 0;
		if (rc && item->kind == STREAM_RECORD && is_open_before_part(o, item->record)) {
			if (!vec_push(&o->calls, *item->record))
				return err_nomem(e);
			continue;
		}
		if (rc && item->kind == STREAM_RECORD && item->record->kind == RECORD_SESSION)
			on_session(o, item->record);
		o->telling = o->calls.n && (!rc || has_reached_part(o, item));
		o->item = *item;
		if (!o->telling) {
			lower_floor(o, item);
			return rc;
		}
	}
	return emit_open_calls(o, item);
}

#define LONG_NS 5000000000 /* as record --hung */

/* Whether it says something that it is open at the end of the part. Of others the next part says
 * all, and a few of them are open at any time. */
static bool is_reportable(const struct opened *o, int64_t start_ns)
{
	return start_ns < o->since_ns || o->until_ns - start_ns >= LONG_NS;
}

/* The calls of item that are open where the part ends. */
static bool collect_outlasting(struct opened *o, const struct stream_item *item)
{
	for (size_t i = 0; item->events && i < item->n; i++) {
		const struct event *ev = &item->events[i];
		const struct op_def *op;
		const struct world_ctx *ctx;
		struct record r = { .kind = RECORD_OPEN };

		if (ev->end_ns < o->until_ns || event_start(ev) >= o->until_ns ||
		    !is_reportable(o, event_start(ev)))
			continue;
		op = world_op(o->world, ev->op);
		ctx = world_get_ctx(o->world, ev->ctx);
		if (!op || !(op->flags & OP_CALL) || !ctx || !ctx->thread)
			continue;
		REC_SET(&r, OPEN, time_ns, o->until_ns);
		REC_SET(&r, OPEN, thread, ctx->thread);
		REC_SET(&r, OPEN, op, ev->op);
		REC_SET(&r, OPEN, start_ns, event_start(ev));
		REC_SET(&r, OPEN, depth, ev->depth);
		if (ev->stack)
			REC_SET(&r, OPEN, stack, ev->stack);
		REC_SET(&r, OPEN, at_end, 1);
		if (!vec_push(&o->outlasting, r))
			return false;
	}
	return true;
}

static int opened_next(struct event_stream *stream, struct stream_item *item, struct err *e)
{
	struct opened *o = (struct opened *)stream;
	int rc;

	if (o->outlasting_told < o->outlasting.n) {
		*item = (struct stream_item){ .kind = STREAM_RECORD,
					      .record = &o->outlasting.v[o->outlasting_told++],
					      .watermark_ns = INT64_MIN,
					      .floor_ns = INT64_MIN };
		return 1;
	}
	o->outlasting.n = o->outlasting_told = 0;
	rc = next(o, item, e);
	if (rc > 0 && item->kind == STREAM_EVENTS && !collect_outlasting(o, item))
		return err_nomem(e);
	return rc;
}

static void opened_close(struct event_stream *stream)
{
	struct opened *o = (struct opened *)stream;

	vec_free(&o->calls);
	vec_free(&o->outlasting);
	free(o);
}

struct event_stream *input_opened(const struct world *w, struct event_stream *inner,
				  int64_t from_ns, int64_t since_ns, int64_t until_ns)
{
	struct opened *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->stream = (struct event_stream){ opened_next, opened_close };
	o->inner = inner;
	o->world = w;
	o->from_ns = from_ns;
	o->since_ns = since_ns;
	o->until_ns = until_ns;
	return &o->stream;
}
