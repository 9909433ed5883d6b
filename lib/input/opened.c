/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's calls nest: whatever of its own depth or less ends behind the record ended the call, or came after it. */
#include "lib/input/opened.h"

#include "lib/input/about.h"

int input_opened_add(struct input_opened *o, const struct record *r, struct err *e)
{
	return vec_push(&o->calls, *r) ? 0 : err_nomem(e);
}

/* A process ends with the exit of its first thread. */
static bool ended(const struct world *w, uint32_t thread, const struct world_ctx *ctx)
{
	const struct world_thread *t = world_get_thread(w, thread),
				  *by = world_get_thread(w, ctx->thread);
	const struct world_process *p = by ? world_get_process(w, by->process) : NULL;

	return thread == ctx->thread || (t && p && t->process == by->process && by->tid == p->tgid);
}

static void event(struct input_opened *o, const struct world *w, const struct event *ev)
{
	const struct world_ctx *ctx = o->calls.n ? world_get_ctx(w, ev->ctx) : NULL;
	const struct op_def *op = ctx && ctx->thread ? world_op(w, ev->op) : NULL;
	size_t left = 0;

	if (!op || !(op->flags & OP_CALL || ev->op == OP_PROC_EXIT))
		return;
	for (size_t i = 0; i < o->calls.n; i++) {
		const struct rec_OPEN *call = &o->calls.v[i].u.OPEN;
		bool over = ev->op == OP_PROC_EXIT
				    ? ended(w, call->thread, ctx)
				    : call->thread == ctx->thread && ev->depth <= call->depth &&
					      ev->end_ns > call->time_ns;

		if (!over)
			o->calls.v[left++] = o->calls.v[i];
	}
	o->calls.n = left;
}

bool input_opened_ends(struct input_opened *o, const struct world *w,
		       const struct stream_item *item, const struct select *sel)
{
	for (size_t i = 0; item->kind == STREAM_EVENTS && i < item->n; i++) {
		if (item->events[i].end_ns >= sel->since_ns)
			return true;
		event(o, w, &item->events[i]);
	}
	return false;
}

void input_opened_session(struct input_opened *o, const struct world *w, const struct record *r)
{
	uint32_t node = about_node(w, r);
	size_t left = 0;

	for (size_t i = 0; i < o->calls.n; i++) {
		const struct record *call = &o->calls.v[i];

		if (r->u.SESSION.start_ns <= call->u.OPEN.time_ns ||
		    (node && node != about_node(w, call)))
			o->calls.v[left++] = *call;
	}
	o->calls.n = left;
}

int64_t input_opened_floor(const struct input_opened *o, int64_t floor_ns)
{
	for (size_t i = 0; i < o->calls.n; i++)
		if (o->calls.v[i].u.OPEN.start_ns < floor_ns)
			floor_ns = o->calls.v[i].u.OPEN.start_ns;
	return floor_ns;
}

void input_opened_free(struct input_opened *o)
{
	vec_free(&o->calls);
}
