/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares how long a thread slept with how long others waited for it meanwhile, and its calls with
 * those of the thread whose steps are the program's.
 */
#include "lib/account/loss_background.h"

#define AWAITED 0.1 /* of its sleeps: more of them hold somebody up */

/* By world thread id. */
struct sleeps {
	struct map own, awaited;
	struct map served; /* threads that somebody outside of the recording may wait for */
};

static bool sum_add(struct map *m, uint32_t thread, uint64_t ns)
{
	uint64_t before = 0;

	map_get(m, thread, &before);
	return map_put(m, thread, before + ns);
}

static uint64_t sum_get(const struct map *m, uint32_t thread)
{
	uint64_t ns = 0;

	map_get(m, thread, &ns);
	return ns;
}

static bool add_part(struct sleeps *s, uint32_t anchor, const struct track_part *p)
{
	switch (p->class) {
	case PATH_SLEEP:
		return sum_add(p->leaf == anchor ? &s->own : &s->awaited, p->leaf, p->ns);
	case PATH_DEMAND:
	case PATH_REPLY:
	case PATH_SEND:
	case PATH_LOSSY:
	case PATH_OUTSIDE:
		return p->leaf != anchor || sum_add(&s->served, anchor, p->ns);
	default:
		return true;
	}
}

static bool add_track(struct sleeps *s, const struct cause *c, size_t i, struct track_parts *parts)
{
	struct track t = path_tracks_get(c->tracks, i);

	for (unsigned k = 0; k < t.nphases; k++) {
		if (!path_tracks_parts(c->tracks, i, t.phases[k].window, parts))
			return false;
		for (size_t n = 0; n < parts->v.n; n++)
			if (!add_part(s, t.anchor, &parts->v.v[n]))
				return false;
	}
	return true;
}

static bool is_same_function(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_frame *f = world_get_frame(w, a), *g = world_get_frame(w, b);

	return f && g && f->name == g->name && f->file == g->file;
}

/* Threads of a pool are alike. */
static bool is_same_loop(const struct world *w, const struct loop *a, const struct loop *b)
{
	return a->frame || b->frame ? is_same_function(w, a->frame, b->frame)
				    : a->op == b->op && a->stack == b->stack;
}

static uint64_t calls_of(const struct cause *c, uint32_t thread)
{
	const struct tally_thread *th = tally_thread_known(&c->tally, thread);

	return th ? th->calls : 0;
}

/* Whether another thread of its process makes other steps, and more calls. */
static bool is_led(const struct cause *c, const struct track *t)
{
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct track other = path_tracks_get(c->tracks, i);

		if (other.loop &&
		    cause_process_of(c, other.anchor) == cause_process_of(c, t->anchor) &&
		    calls_of(c, other.anchor) > calls_of(c, t->anchor) &&
		    !is_same_loop(c->w, other.loop, t->loop))
			return true;
	}
	return false;
}

bool loss_background_find(struct lost_time *l, const struct cause *c, struct track_parts *parts)
{
	struct sleeps s = { 0 };
	bool ok = true;

	map_clear(&l->background);
	for (size_t i = 0; ok && i < path_tracks_count(c->tracks); i++)
		ok = add_track(&s, c, i, parts);
	for (size_t i = 0; ok && i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);

		if (t.loop && !cause_is_main(c, t.anchor) && !sum_get(&s.served, t.anchor) &&
		    (double)sum_get(&s.awaited, t.anchor) <=
			    AWAITED * (double)sum_get(&s.own, t.anchor) &&
		    is_led(c, &t))
			ok = map_put(&l->background, t.anchor, 1);
	}
	map_free(&s.own);
	map_free(&s.awaited);
	map_free(&s.served);
	return ok;
}

/* The main thread makes more calls. */
static bool may_be(const struct cause *c, uint32_t thread)
{
	const struct tally_process *p = tally_process_known(&c->tally, cause_process_of(c, thread));

	for (size_t i = 0; p && i < p->threads.n; i++)
		if (cause_is_main(c, p->threads.v[i]))
			return calls_of(c, p->threads.v[i]) > calls_of(c, thread);
	return false;
}

bool loss_is_background(const struct lost_time *l, const struct cause *c, uint32_t thread)
{
	uint64_t is;

	return l->pane == INT64_MAX ? map_get(&l->background, thread, &is) : may_be(c, thread);
}

uint64_t loss_paced_ns(const struct lost_time *l, uint32_t process)
{
	const struct loss_process *p = lost_time_process(l, process);
	uint64_t ns = 0;

	for (size_t i = 0; i < p->at.n; i++) {
		const struct loss *x = &l->v.v[p->at.v[i]];

		ns += x->family == LOSS_IDLE && x->sort & LOSS_PACED ? x->ns : 0;
	}
	return ns;
}
