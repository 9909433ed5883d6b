/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports one of several nested calls that do the same thing. The common call lies in no other: it
 * passes through without being kept.
 */
#include "lib/attrib/layer_dedup.h"

#include <stdlib.h>
#include <string.h>

static struct once_thread *thread_of(struct once *o, uint32_t thread)
{
	if (!vec_reach(&o->by_thread, thread))
		return NULL;
	if (!o->by_thread.v[thread]) {
		if (!vec_push(&o->order, thread))
			return NULL;
		o->by_thread.v[thread] = calloc(1, sizeof(struct once_thread));
		if (!o->by_thread.v[thread])
			o->order.n--;
	}
	return o->by_thread.v[thread];
}

static bool emit_call(struct once *o, struct once_thread *th, unsigned i)
{
	struct once_call call = th->v[i];

	th->n--;
	o->waiting--;
	memmove(&th->v[i], &th->v[i + 1], (th->n - i) * sizeof(th->v[0]));
	return o->told(o->ctx, &call);
}

bool once_event(struct once *o, const struct event *ev, const struct op_def *op, unsigned class)
{
	const struct world_ctx *ctx = world_get_ctx(o->w, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(o->w, ctx->thread) : NULL;
	struct once_thread *th =
		t && ctx->thread < o->by_thread.n ? o->by_thread.v[ctx->thread] : NULL;
	struct once_call call = { *ev, op, t ? t->process : 0, t ? ctx->thread : 0, class };

	if (!t)
		return true;
	for (unsigned i = 0; th && i < th->n;) {
		const struct once_call *w = &th->v[i];

		if (w->class == class && w->ev.depth > ev->depth &&
		    event_start(&w->ev) >= event_start(ev)) {
			th->n--;
			o->waiting--;
			memmove(&th->v[i], &th->v[i + 1], (th->n - i) * sizeof(th->v[0]));
		} else if (!emit_call(o, th, i)) {
			return false;
		}
	}
	if (ev->depth == 0)
		return o->told(o->ctx, &call);
	th = thread_of(o, ctx->thread);
	if (!th || (th->n == ONCE_WAITING && !emit_call(o, th, 0)))
		return false;
	th->v[th->n++] = call;
	o->waiting++;
	return true;
}

bool once_flush(struct once *o, int64_t before_ns)
{
	for (size_t i = 0; i < o->order.n && o->waiting; i++) {
		struct once_thread *th = o->by_thread.v[o->order.v[i]];

		while (th->n && th->v[0].ev.end_ns < before_ns) {
			if (!emit_call(o, th, 0))
				return false;
		}
	}
	return true;
}

void once_forget(struct once *o, uint32_t thread)
{
	struct once_thread *th = thread < o->by_thread.n ? o->by_thread.v[thread] : NULL;
	size_t at = 0;

	if (!th || th->n)
		return;
	while (o->order.v[at] != thread)
		at++;
	o->order.n--;
	memmove(o->order.v + at, o->order.v + at + 1, (o->order.n - at) * sizeof(o->order.v[0]));
	o->by_thread.v[thread] = NULL;
	free(th);
}

void once_free(struct once *o)
{
	for (size_t i = 0; i < o->order.n; i++)
		free(o->by_thread.v[o->order.v[i]]);
	vec_free(&o->by_thread);
	vec_free(&o->order);
}
