/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives back the logs of ended threads, and the numbers of their segments. Threads are looked at
 * many at a time, as contexts and numbers have to be searched for theirs.
 */
#include "lib/path/path_ended.h"

#include <stdlib.h>

#include "lib/path/path_state.h"
#include "lib/path/path_walk.h"

/* A share of all contexts and keys, so that searching them costs little for each thread. */
#define SHARE 64

static int64_t least_pending(const struct path *p, int64_t least)
{
	for (size_t i = 0; i < p->threads.n && p->pending; i++) {
		const struct path_thread *th = p->threads.v[i];

		for (size_t k = 0; th && k < th->pending.n; k++)
			if (th->pending.v[k].from_ns < least)
				least = th->pending.v[k].from_ns;
	}
	return least;
}

/* Whether all of the track was walked, and none of it waits. */
static bool is_walked(const struct path_track *t, const struct path_thread *th)
{
	return !t->pending &&
	       (!th->log.begun || (t->begun && t->resolved_ns >= segment_log_end(&th->log)));
}

/* What lies before is not asked for any more, whoever asks. */
static int64_t find_needed(const struct path *p)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < p->tracks.n; i++) {
		const struct path_track *t = &p->tracks.v[i];
		const struct path_thread *th = path_thread_known(p, t->thread);
		int64_t from;

		if (!th || (th->exited && is_walked(t, th)))
			continue;
		from = t->begun	       ? t->resolved_ns
		       : th->log.begun ? th->log.begin_ns
		       : th->tail.n    ? th->tail.v[0].start_ns
				       : least;
		if (from < least)
			least = from;
	}
	return least_pending(p, least);
}

static bool can_forget(const struct path *p, const struct path_thread *th, int64_t needed_ns)
{
	int64_t end = path_thread_end(th);

	return !th->pending.n && end < needed_ns && end < p->now_ns - p->opt.forget_ns &&
	       (!th->track || is_walked(&p->tracks.v[th->track - 1], th));
}

static void forget_thread(struct path *p, struct path_thread *th)
{
	p->forgotten.v[th->id] =
		path_is_recorded(p, th->id) ? PATH_FORGOTTEN_RECORDED : PATH_FORGOTTEN;
	p->threads.v[th->id] = NULL;
	mixes_release(&p->mixes, &th->log);
	path_thread_free(th);
	free(th);
}

/* Contexts of threads that are about to be forgotten. */
static void forget_contexts(struct path *p)
{
	for (size_t i = 0; i < p->by_ctx.n; i++)
		if (p->by_ctx.v[i] && p->by_ctx.v[i]->over)
			p->by_ctx.v[i] = NULL;
}

/* Marks the ended threads that are no longer needed. Returns how many. */
static size_t mark_over(struct path *p)
{
	int64_t needed = find_needed(p);
	size_t over = 0;

	for (size_t i = 0; i < p->ended.n; i++) {
		struct path_thread *th = p->threads.v[p->ended.v[i]];

		th->over = can_forget(p, th, needed);
		over += th->over;
	}
	return over;
}

/* ---- keys ---- */

#define KEYS_MORE 1024 /* and twice as many as were left: it is worth while to search them */

static bool is_dropped(void *ctx, uint32_t key)
{
	const struct path *p = ctx;
	uint32_t thread = p->keys.v.v[key].thread;

	return path_is_over(p, thread) && !p->listener->is_kept(p->listener, thread);
}

/* Keys of threads that were forgotten, but for those of anchors that the listener keeps. */
static void forget_keys(struct path *p)
{
	if (!segment_keys_prune(&p->keys, is_dropped, p))
		p->nomem = true;
	p->keys_at = 2 * segment_keys_count(&p->keys) + KEYS_MORE;
}

void path_ended_forget(struct path *p)
{
	size_t keep = 0;

	for (size_t i = 0; i < p->tracks.n; i++)
		path_walk_track(p, &p->tracks.v[i]);
	if (p->threads.n && !vec_reach(&p->forgotten, p->threads.n - 1)) {
		p->nomem = true;
		return;
	}
	if (mark_over(p)) {
		forget_contexts(p);
		for (size_t i = 0; i < p->ended.n; i++) {
			struct path_thread *th = p->threads.v[p->ended.v[i]];

			if (th->over)
				forget_thread(p, th);
			else
				p->ended.v[keep++] = p->ended.v[i];
		}
		p->ended.n = keep;
	}
	if (p->listener->is_kept && segment_keys_count(&p->keys) >= p->keys_at)
		forget_keys(p);
	p->forget_at = p->ended.n + p->opt.forget_least + p->by_ctx.n / SHARE;
}
