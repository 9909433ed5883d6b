/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts the pieces of paths at the first and last step of each run. Pieces do not come in order of
 * time, and a step is known only when the next one begins: pieces that may still become part of one
 * are held, 24 bytes each, and summed when enough have come.
 */
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/tracks/track_internal.h"
#include "lib/path/path_ended.h"

/* So many more held pieces make it worth while to see which of them are known now. */
#define SETTLE_PIECES 65536

static struct path_tracks *path_tracks_of_loops(struct loop_listener *l)
{
	return (struct path_tracks *)((char *)l - offsetof(struct path_tracks, loop_listener));
}

/* ---- steps ---- */

static bool add_stats(struct step_stats **stats, const struct loop_step *s)
{
	if (!*stats)
		*stats = calloc(1, sizeof(**stats));
	return *stats && step_stats_add(*stats, s);
}

static void on_step(struct loop_listener *l, const struct loop_step *s)
{
	struct path_tracks *t = path_tracks_of_loops(l);

	if (!vec_reach(&t->stats, s->loop) || !vec_reach(&t->runs, s->loop)) {
		t->nomem = true;
		return;
	}
	t->runs.v[s->loop].thread = s->thread;
	course_add(&t->runs.v[s->loop].course, s->begin_ns, s->end_ns, 1);
	if (!step_runs_add(&t->runs.v[s->loop], s->begin_ns, s->end_ns) ||
	    !add_stats(&t->stats.v[s->loop], s))
		t->nomem = true;
}

static void move_phase(struct track_state *s, enum track_window from, enum track_window to)
{
	struct track_span *p = &s->phases[from], *q = &s->phases[to];

	if (p->ns && (!q->ns || p->from_ns < q->from_ns))
		q->from_ns = p->from_ns;
	if (p->ns && (!q->ns || p->to_ns > q->to_ns))
		q->to_ns = p->to_ns;
	q->ns += p->ns;
	p->ns = 0;
	track_sums_move(&s->sums, from, to);
}

/* The loop around it is found. What was summed by then as its steps, and as what lies between them,
 * are steps of that one. */
static void on_restart(struct loop_listener *l, uint32_t thread, uint32_t loop)
{
	struct path_tracks *t = path_tracks_of_loops(l);

	(void)thread;
	for (size_t i = 0; i < t->v.n; i++)
		if (t->v.v[i].settled == (int)loop)
			move_phase(&t->v.v[i], WINDOW_BETWEEN, WINDOW_STEPS);
	if (loop < t->runs.n) {
		t->runs.v[loop].v.n = 0;
		t->runs.v[loop].steps = 0;
		t->runs.v[loop].course = (struct course){ 0 };
		path_tracks_free_stats(t, loop);
	}
}

/* ---- pieces ---- */

/* Of the time of a piece that is a loss (its sum is none of what works), while the device had
 * nothing to do. */
static uint64_t idle_ns(struct path_tracks *t, const struct track_state *s, uint32_t number,
			int64_t from_ns, int64_t to_ns)
{
	const struct track_key *key = &s->sums.v.v[number - 1].key;
	const struct segment *via = key->via ? &path_segment_key(t->path, key->via)->s : NULL;
	unsigned flags = via ? via->flags : key->flags;

	/* A thread woken in a wait for the device is certainly late: the device is done. */
	if ((via ? via->state : key->state) == SEGMENT_RUNNABLE && flags & SEGMENT_WOKEN &&
	    flags & SEGMENT_IN_SYNC)
		return (uint64_t)(to_ns - from_ns);
	if (device_use_known(&t->device_of_thread, s->anchor))
		return device_use_idle_ns(&t->device_of_thread, s->anchor, s->process, from_ns,
					  to_ns);
	return device_use_idle_ns(&t->device_of_process, s->process, s->process, from_ns, to_ns);
}

/* Where pieces lie: most lie where the one before does. */
struct stretch {
	int64_t from_ns, until_ns;
	enum track_window window;
	struct track_span sum; /* of pieces that lie there one after the other */
};

static void add_phase(struct track_state *s, const struct stretch *in)
{
	struct track_span *p = &s->phases[in->window];

	if (!in->sum.ns)
		return;
	if (!p->ns || in->sum.from_ns < p->from_ns)
		p->from_ns = in->sum.from_ns;
	if (!p->ns || in->sum.to_ns > p->to_ns)
		p->to_ns = in->sum.to_ns;
	p->ns += in->sum.ns;
}

static struct stretch find_stretch(const struct step_runs *runs, int64_t ns)
{
	static const enum track_window windows[] = { [STEP_BEFORE] = WINDOW_START,
						     [STEP_WITHIN] = WINDOW_STEPS,
						     [STEP_BETWEEN] = WINDOW_BETWEEN,
						     [STEP_BEHIND] = WINDOW_END };

	struct stretch at = { .from_ns = ns, .sum.from_ns = INT64_MAX, .sum.to_ns = INT64_MIN };

	at.window = windows[step_runs_find(runs, ns, &at.until_ns)];
	return at;
}

static void sum_piece(struct path_tracks *t, struct track_state *s, const struct step_runs *runs,
		      struct step_stats *stats, struct stretch *in, const struct held_piece *p)
{
	const struct track_sum *sum = &s->sums.v.v[p->number - 1];
	const bool own = sum->own, works = sum->works;

	for (int64_t at = p->from_ns, until; at < p->to_ns; at = until) {
		struct track_add add = { .from_ns = at, .wait = p->wait };

		if (at < in->from_ns || at >= in->until_ns) {
			add_phase(s, in);
			*in = find_stretch(runs, at);
		}
		until = in->until_ns < p->to_ns ? in->until_ns : p->to_ns;
		if (at < in->sum.from_ns)
			in->sum.from_ns = at;
		if (until > in->sum.to_ns)
			in->sum.to_ns = until;
		in->sum.ns += (uint64_t)(until - at);
		add.to_ns = until;
		if (!works)
			add.idle_ns = idle_ns(t, s, p->number, at, until);
		if (device_gaps_meet(&t->gaps, s->anchor, at, until))
			add.gap = device_gaps_within(&t->gaps, s->anchor, at, until, own);
		track_sums_add(&s->sums, p->number, in->window, &add);
		if (in->window != WINDOW_STEPS)
			continue;
		t->nomem |= !track_sums_course(&s->sums, p->number, &add);
		if (stats)
			path_tracks_add_piece(t, s, stats, p->number, &add);
	}
}

static int compare_held(const void *a, const void *b)
{
	const struct held_piece *x = a, *y = b;

	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

/* Nearly all come in order of time; those do that waited for what another thread did. */
static void sort_held(struct track_state *s)
{
	for (size_t i = 1; i < s->held.n; i++)
		if (s->held.v[i].from_ns < s->held.v[i - 1].from_ns) {
			qsort(s->held.v, s->held.n, sizeof(s->held.v[0]), compare_held);
			return;
		}
}

/* Sums what lies before settled_ns, whose steps are known. */
static void sum_until(struct path_tracks *t, struct track_state *s, int64_t settled_ns)
{
	static const struct step_runs none;
	int loop = path_tracks_loop(t, s);
	const struct step_runs *runs = loop < 0 ? &none : &t->runs.v[loop];
	struct step_stats *stats = path_tracks_claim(t, s, loop);
	struct stretch in = { 0 };
	int64_t last_ns = INT64_MIN;
	size_t keep = 0;

	s->settled = loop;
	sort_held(s);
	for (size_t i = 0; i < s->held.n; i++) {
		const struct held_piece p = s->held.v[i];

		last_ns = p.to_ns > last_ns ? p.to_ns : last_ns;
		if (p.to_ns <= settled_ns)
			sum_piece(t, s, runs, stats, &in, &p);
		else
			s->held.v[keep++] = p;
	}
	add_phase(s, &in);
	if (stats && !step_stats_count(stats, last_ns < settled_ns ? last_ns : settled_ns))
		t->nomem = true;
	t->held -= s->held.n - keep;
	s->held.n = keep;
	if (s->held.cap > 2 * (keep + SETTLE_PIECES))
		vec_fit(&s->held);
	if (keep)
		device_gaps_forget(&t->gaps, s->anchor, s->held.v[0].from_ns);
	s->settle_at = keep + SETTLE_PIECES;
}

/* Up to the end of the newest step; whatever is held, where that is too much. */
static void sum_some(struct path_tracks *t, struct track_state *s)
{
	int loop = path_tracks_loop(t, s);
	const struct step_runs *runs = loop < 0 ? NULL : &t->runs.v[loop];

	if (runs && runs->v.n)
		sum_until(t, s, runs->v.v[runs->v.n - 1].end_ns);
	if (s->held.n >= TRACK_PIECES_MAX || t->held >= TRACKS_PIECES_MAX)
		sum_until(t, s, INT64_MAX);
	s->settle_at = s->held.n + SETTLE_PIECES;
}

/* Of an anchor that is not the newest; NULL: out of memory. */
NOINLINE static struct track_state *find_state(struct path_tracks *t, uint32_t anchor)
{
	struct track_state fresh = { .anchor = anchor,
				     .process = world_thread_process_id(t->w, anchor),
				     .settle_at = SETTLE_PIECES,
				     .settled = -1 };
	uint64_t at = t->v.n;

	if (map_get(&t->by_anchor, anchor, &at))
		return t->newest = &t->v.v[at];
	if (t->v.n >= t->prune_at)
		path_tracks_prune(t);
	at = t->v.n;
	if (!vec_push(&t->v, fresh))
		return NULL;
	if (map_put(&t->by_anchor, anchor, at))
		return t->newest = &t->v.v[at];
	t->v.n--;
	t->newest = NULL;
	return NULL;
}

/* Whether the thread is kept from its own code and its calls. */
static bool is_off(const struct segment *s)
{
	return !segment_on_cpu(s) || segment_in_memory(s);
}

/* The number of a piece's sum, where it is not known by the key; 0: out of memory. */
NOINLINE static uint32_t find_number(struct path_tracks *t, struct track_state *s,
				     const struct path_piece *p)
{
	bool own = p->key && p->depth == 0 && !p->occupant;
	uint32_t number;

	number = track_sums_number(&s->sums, &t->names, p);
	if (own && number && vec_reach(&t->by_key, p->key))
		t->by_key.v[p->key] = (struct key_sum){ s->anchor, number, is_off(p->s),
							p->s->state == SEGMENT_OWN };
	return number;
}

/* The number of the time off its CPU that the anchor's next piece is of, whatever it waits for
 * meanwhile. */
static inline uint32_t wait_of(struct track_state *s, bool off)
{
	s->waits += off && !s->off;
	s->off = off;
	return s->waits;
}

static bool list_grown(struct path_tracks *t, struct track_state *s)
{
	if (!s->grown && !vec_push(&t->grown, (uint32_t)(s - t->v.v)))
		return false;
	s->grown = true;
	return true;
}

/* Time that may be a loss is queried while the stream goes on: counts it as growth. */
NOINLINE static bool count_growth(struct path_tracks *t, struct track_state *s,
				  const struct held_piece *p, bool off, bool own)
{
	struct track_add add = { p->from_ns, p->to_ns, 0, p->wait,
				 device_gaps_within(&t->gaps, s->anchor, p->from_ns, p->to_ns,
						    own) };

	return (!off && !add.gap.number) ||
	       (list_grown(t, s) && track_sums_grow(&s->sums, p->number, &add));
}

ALWAYS_INLINE bool add_growth(struct path_tracks *t, struct track_state *s,
			      const struct held_piece *p, bool off, bool own)
{
	return (!off && !device_gaps_meet(&t->gaps, s->anchor, p->from_ns, p->to_ns)) ||
	       count_growth(t, s, p, off, own);
}

/* Pieces come a little out of order: so many before a gap, and there are no more in it. */
#define GAP_PIECES_BEFORE 64

bool path_tracks_gap(struct path_tracks *t, uint32_t thread, struct device_gap gap)
{
	struct gap_overlap in = { .number = 1 };
	struct track_state *s;
	unsigned before = 0;
	uint64_t at;

	if (!device_gaps_add(&t->gaps, thread, gap))
		return false;
	if (!map_get(&t->by_anchor, thread, &at))
		return true;
	s = &t->v.v[at];
	in.number = t->gaps.v.v[thread]->newest;
	for (size_t i = s->held.n; i && before < GAP_PIECES_BEFORE; i--) {
		const struct held_piece *p = &s->held.v[i - 1];
		int64_t from = p->from_ns > gap.from_ns ? p->from_ns : gap.from_ns,
			to = p->to_ns < gap.to_ns ? p->to_ns : gap.to_ns;

		before += p->to_ns <= gap.from_ns;
		if (from >= to || (gap.brief && s->sums.v.v[p->number - 1].own))
			continue;
		in.ns = gap.at_most ? 0 : (uint64_t)(to - from);
		in.at_most_ns = gap.at_most ? (uint64_t)(to - from) : 0;
		in.unended_ns = gap.unended ? (uint64_t)(to - from) : 0;
		if (!list_grown(t, s) || !track_sums_grow_gap(&s->sums, p->number, &in))
			return false;
	}
	return true;
}

/* False: out of memory. */
NOINLINE static bool learn_key(struct path_tracks *t, struct track_state *s, uint32_t key)
{
	const struct path_piece p = { .anchor = s->anchor,
				      .thread = s->anchor,
				      .s = &path_segment_key(t->path, key)->s,
				      .key = key };

	if (find_number(t, s, &p) && key < t->by_key.n && t->by_key.v[key].number)
		return true;
	t->nomem = true;
	return false;
}

static void on_piece(struct path_listener *l, const struct path_piece *p)
{
	struct path_tracks *t = (struct path_tracks *)l;
	struct track_state *s = t->newest;
	struct held_piece held = { .from_ns = p->from_ns, .to_ns = p->to_ns };
	bool off;

	if (!s || s->anchor != p->anchor)
		s = find_state(t, p->anchor);
	if (!s) {
		t->nomem = true;
		return;
	}
	if (s->dropped)
		return;
	s->ns += (uint64_t)(p->to_ns - p->from_ns);
	held.number = find_number(t, s, p);
	off = p->via || p->occupant || is_off(p->s);
	held.wait = wait_of(s, off);
	if (!held.number || !vec_push(&s->held, held) ||
	    !add_growth(t, s, &held, off, !p->via && p->s->state == SEGMENT_OWN))
		t->nomem = true;
	t->held++;
	if (s->held.n >= s->settle_at && !t->nomem)
		sum_some(t, s);
}

/* Their keys say what they are; they are no other thread's. */
static void on_own(struct path_listener *l, uint32_t anchor, int64_t from_ns,
		   const struct segment_entry *v, size_t n)
{
	struct path_tracks *t = (struct path_tracks *)l;
	struct track_state *s =
		t->newest && t->newest->anchor == anchor ? t->newest : find_state(t, anchor);
	struct held_piece *put;

	if (!s || (!s->dropped && !vec_reserve(&s->held, n)))
		t->nomem = true;
	if (!s || s->dropped || t->nomem)
		return;
	s->ns += (uint64_t)(v[n - 1].end_ns - from_ns);
	put = s->held.v + s->held.n;
	for (size_t i = 0; i < n; i++) {
		uint32_t key = v[i].key;
		const struct key_sum *known;

		if (key >= t->by_key.n || t->by_key.v[key].anchor != anchor) {
			if (!learn_key(t, s, key))
				return;
		}
		known = &t->by_key.v[key];
		*put = (struct held_piece){ from_ns, v[i].end_ns, known->number,
					    wait_of(s, known->off) };
		if (!add_growth(t, s, put, known->off, known->own)) {
			t->nomem = true;
			return;
		}
		put++;
		from_ns = v[i].end_ns;
	}
	s->held.n += n;
	t->held += n;
	if (s->held.n >= s->settle_at)
		sum_some(t, s);
}

static bool is_kept(const struct path_listener *l, uint32_t anchor)
{
	return map_get(&((const struct path_tracks *)l)->by_anchor, anchor, NULL);
}

/* ---- the stream ---- */

struct path_tracks *path_tracks_new(const struct world *w)
{
	static const struct path_options options = { .forget_ns = PATH_ENDED_NS };
	struct path_tracks *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->w = w;
	t->path_listener.on_piece = on_piece;
	t->path_listener.on_own = on_own;
	t->path_listener.is_kept = is_kept;
	t->loop_listener.on_step = on_step;
	t->loop_listener.on_restart = on_restart;
	track_names_init(&t->names, w);
	t->firsts.w = t->allowed.w = t->limits.w = t->forks.w = t->sleeps.w = w;
	t->unended.w = w;
	t->path_feed.unended = &t->unended;
	t->prune_at = PRUNE_TRACKS;
	t->path = t->path_feed.path = path_new(w, &options, &t->path_listener);
	t->loops = t->loops_feed.loops = loops_new(w, &t->loop_listener);
	if (t->path && t->loops)
		return t;
	path_tracks_free(t);
	return NULL;
}

void path_tracks_free(struct path_tracks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->v.n; i++) {
		track_sums_free(&t->v.v[i].sums);
		vec_free(&t->v.v[i].held);
	}
	for (size_t i = 0; i < t->runs.n; i++)
		vec_free(&t->runs.v[i].v);
	for (size_t i = 0; i < t->stats.n; i++)
		path_tracks_free_stats(t, i);
	vec_free(&t->stats);
	vec_free(&t->runs);
	vec_free(&t->by_key);
	vec_free(&t->grown);
	vec_free(&t->v);
	map_free(&t->by_anchor);
	track_names_free(&t->names);
	first_calls_free(&t->firsts);
	allowed_cpus_free(&t->allowed);
	io_limits_free(&t->limits);
	new_processes_free(&t->forks);
	sleep_sites_free(&t->sleeps);
	path_feed_free(&t->path_feed);
	unended_facts_free(&t->unended);
	device_gaps_free(&t->gaps);
	device_use_free(&t->device_of_thread);
	device_use_free(&t->device_of_process);
	path_free(t->path);
	loops_free(t->loops);
	free(t);
}

/* What is known beside the path. */
static bool feed_facts(struct path_tracks *t, const struct stream_item *item)
{
	if (item->kind == STREAM_RECORD)
		return first_calls_record(&t->firsts, item->record) &&
		       allowed_cpus_record(&t->allowed, item->record) &&
		       io_limits_record(&t->limits, item->record);
	for (size_t i = 0; i < item->n && item->kind == STREAM_EVENTS; i++) {
		const struct event *ev = &item->events[i];
		bool ok = true;

		if (ev->op == OP_IO_BLOCK || ev->op == OP_IO_FILE)
			ok = io_limits_event(&t->limits, ev);
		else if (ev->op == OP_PROC_FORK || ev->op == OP_PROC_EXIT)
			ok = new_processes_event(&t->forks, ev);
		else if (ev->op == OP_SCHED_OFFCPU)
			ok = sleep_sites_interval(&t->sleeps, &t->names.frames, ev);
		else
			ok = first_calls_event(&t->firsts, ev);
		if (ev->op != OP_SCHED_OFFCPU)
			sleep_sites_event(&t->sleeps, ev);
		if (!ok)
			return false;
	}
	return true;
}

int path_tracks_item(struct path_tracks *t, const struct stream_item *item, struct err *e)
{
	int rc = loops_feed_item(&t->loops_feed, item, e);
	const struct record *r = item->kind == STREAM_RECORD ? item->record : NULL;

	if (r && r->kind == RECORD_SESSION && REC_HAS(r, SESSION, cpu_samples_hz) &&
	    !t->cpu_samples_hz)
		t->cpu_samples_hz = r->u.SESSION.cpu_samples_hz;
	t->nomem |= !feed_facts(t, item);
	if (!rc)
		rc = path_feed_item(&t->path_feed, item, e);
	return rc ? rc : t->nomem ? err_nomem(e) : 0;
}

int path_tracks_finish(struct path_tracks *t, struct err *e)
{
	int rc = loops_finish(t->loops, e);

	if (!rc)
		rc = path_feed_finish(&t->path_feed, e);
	for (size_t i = 0; i < t->v.n; i++)
		sum_until(t, &t->v.v[i], INT64_MAX);
	for (size_t i = 0; i < t->stats.n; i++)
		if (t->stats.v[i] && t->stats.v[i]->anchor)
			t->nomem |= !step_stats_count(t->stats.v[i], INT64_MAX);
	return rc ? rc : t->nomem ? err_nomem(e) : 0;
}
