/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds the sleeps of each thread at each place to a statistic of fixed size. Intervals come in the
 * order of their ends, so that those of one thread are in order.
 */
#include "lib/tracks/sleep_sites.h"

#include <stdlib.h>
#include <string.h>

#include "lib/world/event_loop.h"

static uint64_t key_of(uint32_t thread, uint32_t frame)
{
	return (uint64_t)thread << 32 | frame;
}

static int compare_newest(const void *a, const void *b)
{
	const struct sleep_site *const *x = a, *const *y = b;

	return ((*x)->sums.woke_ns < (*y)->sums.woke_ns) -
	       ((*x)->sums.woke_ns > (*y)->sums.woke_ns);
}

/* Lets go of the half that slept longest ago. False: out of memory. */
static bool drop_oldest(struct sleep_sites *s)
{
	size_t keep = s->v.n / 2;
	bool ok = true;

	qsort(s->v.v, s->v.n, sizeof(*s->v.v), compare_newest);
	for (size_t i = keep; i < s->v.n; i++)
		free(s->v.v[i]);
	s->v.n = keep;
	memset(s->newest, 0, sizeof(s->newest));
	map_clear(&s->by);
	for (size_t i = 0; ok && i < keep; i++)
		ok = map_put(&s->by, key_of(s->v.v[i]->thread, s->v.v[i]->frame), i);
	return ok;
}

/* NULL: out of memory. */
static struct sleep_site *find_site(struct sleep_sites *s, uint32_t thread, uint32_t frame)
{
	struct sleep_site *fresh;
	uint64_t at;

	if (map_get(&s->by, key_of(thread, frame), &at))
		return s->v.v[at];
	if (s->v.n >= SLEEP_SITES_MAX && !drop_oldest(s))
		return NULL;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh || !vec_reserve(&s->v, 1) || !map_put(&s->by, key_of(thread, frame), s->v.n)) {
		free(fresh);
		return NULL;
	}
	fresh->thread = thread;
	fresh->frame = frame;
	s->v.v[s->v.n++] = fresh;
	return fresh;
}

/* poll and epoll_wait wait for whole milliseconds. */
#define POLL_NS 1000000

/* On its CPU, to look at what it waits for before it waits again. */
#define AGAIN_NS 200000

/* When the sleep was over. False: it is none, or somebody ended it. */
static bool find_wake_up(const struct event *ev, const struct op_def *def, int64_t *woke_ns,
			 double *grain_ns)
{
	uint64_t object, waker = WAKER_NONE, wait = 0;

	if (!event_get(ev, def, COL_OBJECT_KIND, &object))
		return false;
	event_get(ev, def, COL_WAKER_KIND, &waker);
	if (object == OBJECT_POLL || object == OBJECT_FUTEX || object == OBJECT_FD
		    ? waker != WAKER_TIMER
		    : object != OBJECT_TIMER || waker == WAKER_TASK)
		return false;
	*grain_ns = object == OBJECT_POLL ? POLL_NS : 0;
	event_get(ev, def, COL_WAIT_NS, &wait);
	*woke_ns = ev->end_ns - (int64_t)(wait < ev->dur_ns ? wait : ev->dur_ns);
	return true;
}

/* The start of a sleep, a preemption right before it included. CPython works out the end of a
 * sleep, releases the interpreter's lock, and may lose its CPU to the thread that it wakes: the
 * sleep is as much shorter as the preemption was long, which is no pace. */
static int64_t find_begin(const struct sleep_sites *s, uint32_t thread, int64_t start_ns)
{
	const struct sleep_preempted *p = &s->preempted[thread % SLEEP_SITES_PREEMPTED];

	return p->thread == thread && start_ns >= p->until_ns &&
			       start_ns - p->until_ns < PACE_ENTRY_NS
		       ? p->from_ns
		       : start_ns;
}

/* The same of a wait: with those before it that it goes on with. */
static int64_t find_first(const struct sleep_sites *s, uint32_t thread, uint32_t frame,
			  int64_t start_ns)
{
	const struct sleep_interrupted *i = &s->interrupted[thread % SLEEP_SITES_PREEMPTED];

	return frame && i->thread == thread && i->frame == frame && start_ns >= i->until_ns &&
			       start_ns - i->until_ns < AGAIN_NS
		       ? i->from_ns
		       : find_begin(s, thread, start_ns);
}

static uint32_t frame_of(const struct sleep_sites *s, struct site_frames *frames, uint32_t stack,
			 bool polls)
{
	if (polls && event_loop_waits(s->w, stack))
		return SLEEP_SITES_EVENT_LOOP;
	return stack ? site_frames_get(frames, s->w, stack) : 0;
}

static void note_interrupted(struct sleep_sites *s, struct site_frames *frames,
			     const struct event *ev, uint32_t thread)
{
	struct sleep_interrupted *i = &s->interrupted[thread % SLEEP_SITES_PREEMPTED];
	uint64_t object = 0, wait = 0;
	uint32_t frame;

	event_get(ev, s->op, COL_OBJECT_KIND, &object);
	event_get(ev, s->op, COL_WAIT_NS, &wait);
	if (object == OBJECT_NONE && wait >= ev->dur_ns) { /* preempted */
		if (i->thread == thread && event_start(ev) - i->until_ns < AGAIN_NS)
			i->until_ns = ev->end_ns;
		return;
	}
	if (object != OBJECT_FUTEX) {
		i->thread = 0;
		return;
	}
	frame = frame_of(s, frames, ev->stack, false);
	*i = (struct sleep_interrupted){ thread, frame,
					 find_first(s, thread, frame, event_start(ev)),
					 ev->end_ns };
}

/* What is no sleep. Without its CPU, or the interpreter's lock, it does nothing else. */
static void note_interval(struct sleep_sites *s, const struct event *ev)
{
	const struct world_ctx *ctx = world_get_ctx(s->w, ev->ctx);
	struct sleep_newest *newest = &s->newest[ev->ctx % SLEEP_SITES_PREEMPTED];
	uint64_t object = 0, wait = 0;
	bool preempted;

	event_get(ev, s->op, COL_OBJECT_KIND, &object);
	event_get(ev, s->op, COL_WAIT_NS, &wait);
	preempted = object == OBJECT_NONE && wait >= ev->dur_ns;
	if (preempted && ctx && ctx->thread)
		s->preempted[ctx->thread % SLEEP_SITES_PREEMPTED] =
			(struct sleep_preempted){ ctx->thread, event_start(ev), ev->end_ns };
	if (newest->ctx != ev->ctx || !newest->site)
		return;
	if (preempted || object == OBJECT_GIL)
		polls_extend(&newest->site->polls, ev->end_ns);
	else
		newest->site = NULL;
}

/* Whoever ended this wait for a descriptor sent something. */
static void note_sent(struct sleep_sites *s, const struct event *ev)
{
	uint64_t object = 0, kind = WAKER_NONE, waker = 0, wait = 0;

	event_get(ev, s->op, COL_OBJECT_KIND, &object);
	event_get(ev, s->op, COL_WAKER_KIND, &kind);
	event_get(ev, s->op, COL_WAKER, &waker);
	event_get(ev, s->op, COL_WAIT_NS, &wait);
	if ((kind == WAKER_TASK || kind == WAKER_SOFTIRQ) && waker &&
	    (object == OBJECT_SOCKET || object == OBJECT_FD || object == OBJECT_POLL))
		s->sent[waker % SLEEP_SITES_PREEMPTED] = (struct sleep_sent){
			(uint32_t)waker,
			ev->end_ns - (int64_t)(wait < ev->dur_ns ? wait : ev->dur_ns)
		};
}

/* A sleep at the site: whether the thread did something else since the one before. */
static bool note_sleep(struct sleep_sites *s, struct sleep_site *site, const struct event *ev)
{
	const struct sleep_sent *sent = &s->sent[site->thread % SLEEP_SITES_PREEMPTED];
	struct sleep_newest *newest = &s->newest[ev->ctx % SLEEP_SITES_PREEMPTED];
	bool other = newest->ctx != ev->ctx || newest->site != site ||
		     (sent->thread == site->thread && sent->ns > site->polls.from_ns);

	*newest = (struct sleep_newest){ ev->ctx, site };
	return other;
}

bool sleep_sites_interval(struct sleep_sites *s, struct site_frames *frames, const struct event *ev)
{
	const struct world_ctx *ctx;
	struct sleep_site *site;
	uint32_t frame;
	int64_t woke_ns;
	double grain_ns;

	if (!s->op)
		s->op = world_op(s->w, OP_SCHED_OFFCPU);
	if (!s->op)
		return true;
	note_sent(s, ev);
	ctx = world_get_ctx(s->w, ev->ctx);
	if (!find_wake_up(ev, s->op, &woke_ns, &grain_ns)) {
		note_interval(s, ev);
		if (ctx && ctx->thread)
			note_interrupted(s, frames, ev, ctx->thread);
		return true;
	}
	if (!ctx || !ctx->thread)
		return true;
	frame = frame_of(s, frames, ev->stack, grain_ns > 0);
	site = find_site(s, ctx->thread, frame);
	if (site && grain_ns > site->sums.grain_ns)
		site->sums.grain_ns = grain_ns;
	if (!site)
		return false;
	pace_add(&site->sums, find_first(s, ctx->thread, frame, event_start(ev)), woke_ns,
		 ev->end_ns);
	s->interrupted[ctx->thread % SLEEP_SITES_PREEMPTED].thread = 0;
	polls_add(&site->polls, event_start(ev), woke_ns, ev->end_ns, note_sleep(s, site, ev));
	return true;
}

enum pace sleep_sites_pace(const struct sleep_sites *s, uint32_t thread, uint32_t frame)
{
	uint64_t at;

	return map_get(&s->by, key_of(thread, frame), &at) ? pace_verdict(&s->v.v[at]->sums)
							   : PACE_UNKNOWN;
}

struct poll sleep_sites_poll(const struct sleep_sites *s, uint32_t thread, uint32_t frame)
{
	uint64_t at;

	return map_get(&s->by, key_of(thread, frame), &at) ? polls_verdict(&s->v.v[at]->polls)
							   : (struct poll){ 0 };
}

void sleep_sites_free(struct sleep_sites *s)
{
	for (size_t i = 0; i < s->v.n; i++)
		free(s->v.v[i]);
	vec_free(&s->v);
	map_free(&s->by);
}
