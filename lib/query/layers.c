/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds back calls of each thread until the calls around them are known. A call that lies in one of
 * another class waits on, at that one's depth, for what lies around both.
 */
#include "lib/query/layers.h"

#include <stdlib.h>

/* Of one thread; the oldest then counts. The most driver calls seen in one runtime call that may be
 * the same are 14, in the first call of a process. */
#define WAITING_MAX 64

struct layers_thread {
	unsigned n;
	struct layer_call v[WAITING_MAX];
};

static struct layers_thread *thread_of(struct layers *l, uint32_t thread)
{
	if (!vec_reach(&l->threads, thread))
		return NULL;
	if (!l->threads.v[thread])
		l->threads.v[thread] = calloc(1, sizeof(struct layers_thread));
	return l->threads.v[thread];
}

/* Folds, counts or keeps each waiting call, now that a later one is known. False: out of memory. */
static bool match_waiting(struct layers *l, struct layers_thread *th, const struct layer_call *call)
{
	unsigned kept = 0;
	bool good = true;

	for (unsigned i = 0; i < th->n; i++) {
		struct layer_call *w = &th->v[i];

		if (w->depth > call->depth && w->start_ns >= call->start_ns) {
			if (w->class == call->class) {
				if (l->fold)
					l->fold(l->ctx, w, call);
				continue;
			}
			w->depth = call->depth;
		} else if (w->depth > call->depth) {
			w->depth = 0; /* what was around it is lost */
		}
		if (w->depth == 0)
			good &= l->count(l->ctx, w);
		else
			th->v[kept++] = *w;
	}
	th->n = kept;
	return good;
}

bool layers_add(struct layers *l, uint32_t thread, const struct layer_call *call)
{
	struct layers_thread *th = thread < l->threads.n ? l->threads.v[thread] : NULL;
	bool good = !th || !th->n || match_waiting(l, th, call);

	if (call->depth == 0)
		return l->count(l->ctx, call) && good;
	th = th ? th : thread_of(l, thread);
	if (!th)
		return false;
	if (th->n == WAITING_MAX) {
		good &= l->count(l->ctx, &th->v[0]);
		for (unsigned i = 1; i < th->n; i++)
			th->v[i - 1] = th->v[i];
		th->n--;
	}
	th->v[th->n++] = *call;
	return good;
}

bool layers_flush(struct layers *l)
{
	bool good = true;

	for (size_t t = 0; t < l->threads.n; t++) {
		struct layers_thread *th = l->threads.v[t];

		for (unsigned i = 0; th && i < th->n; i++)
			good &= l->count(l->ctx, &th->v[i]);
		if (th)
			th->n = 0;
	}
	return good;
}

void layers_free(struct layers *l)
{
	for (size_t t = 0; t < l->threads.n; t++)
		free(l->threads.v[t]);
	vec_free(&l->threads);
}
