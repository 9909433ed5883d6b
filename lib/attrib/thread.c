/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread states by world id, and the context → thread cache that the hot path uses.
 */
#include "lib/attrib/thread.h"

#include <stdlib.h>
#include <string.h>

static void thread_free(struct line_thread *th)
{
	if (!th)
		return;
	nest_free(&th->nest);
	wakers_free(&th->wakers);
	vec_free(&th->ctxs);
	free(th);
}

void threads_free(struct threads *t)
{
	for (size_t i = 0; i < t->by_id.n; i++)
		thread_free(t->by_id.v[i]);
	vec_free(&t->by_id);
	vec_free(&t->by_ctx);
}

void threads_forget(struct threads *t, uint32_t id)
{
	struct line_thread *th = threads_get(t, id);

	if (!th)
		return;
	for (size_t i = 0; i < th->ctxs.n; i++)
		t->by_ctx.v[th->ctxs.v[i]] = NULL;
	t->by_id.v[id] = NULL;
	thread_free(th);
}

struct line_thread *threads_of(struct threads *t, uint32_t id, bool *nomem)
{
	const struct world_thread *v = world_get_thread(t->w, id);
	const struct world_process *p = v ? world_get_process(t->w, v->process) : NULL;
	struct line_thread *th = threads_get(t, id);

	if (!v || th)
		return th;
	th = vec_reach(&t->by_id, id) ? calloc(1, sizeof(*th)) : NULL;
	if (!th) {
		*nomem = true;
		return NULL;
	}
	th->id = id;
	th->process = v->process;
	th->node = p ? p->node : 0;
	t->by_id.v[id] = th;
	return th;
}

struct line_thread *threads_of_ctx_slow(struct threads *t, uint32_t ctx, bool *nomem)
{
	const struct world_ctx *c = world_get_ctx(t->w, ctx);
	struct line_thread *th = c ? threads_of(t, c->thread, nomem) : NULL;

	if (!th)
		return NULL;
	if (!vec_reach(&t->by_ctx, ctx) || !vec_push(&th->ctxs, ctx)) {
		*nomem = true;
		return NULL;
	}
	if (!th->ctx) {
		th->ctx = ctx;
		th->node = c->node;
	}
	t->by_ctx.v[ctx] = th;
	return th;
}
