/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums parts of tracks by process, family and culprit (lib/account/loss_blame.h).
 */
#include "lib/account/lost_time.h"

#include <stdlib.h>
#include <string.h>

#include "lib/account/analysis_state.h"
#include "lib/account/loss_background.h"
#include "lib/account/loss_behind.h"
#include "lib/account/loss_blame.h"
#include "lib/account/loss_early.h"
#include "lib/account/loss_gaps.h"
#include "lib/account/loss_times.h"

/* ---- losses ---- */

static void panes_free(struct loss *x)
{
	for (size_t i = 0; i < x->threads.n; i++) {
		free(x->threads.v[i].panes);
		x->threads.v[i].panes = NULL;
	}
}

void loss_free(struct loss *x)
{
	panes_free(x);
	vec_free(&x->threads);
	vec_free(&x->takers.of);
	vec_free(&x->elsewhere.of);
	vec_free(&x->via);
}

/* NULL: out of memory, or too many (then *full). */
static struct loss *loss_at(struct lost_time *l, struct loss fresh, bool *full)
{
	uint32_t process = fresh.process;
	uint64_t key = loss_key(&fresh), at;

	*full = false;
	if (map_get(&l->by, key, &at))
		return &l->v.v[at];
	*full = l->v.n - l->unused.n >= LOST_TIME_MAX;
	if (*full)
		return NULL;
	at = l->unused.n ? l->unused.v[l->unused.n - 1] : l->v.n;
	if (!vec_reserve(&l->v, 1) || !map_put(&l->by, key, at) ||
	    !vec_push(&l->processes.v[process].at, (uint32_t)at))
		return NULL;
	if (l->unused.n)
		l->unused.n--;
	else
		l->v.n++;
	l->v.v[at] = fresh;
	return &l->v.v[at];
}

struct loss_thread *loss_thread_of(struct loss *x, uint32_t anchor)
{
	for (size_t i = 0; i < x->threads.n; i++)
		if (x->threads.v[i].anchor == anchor)
			return &x->threads.v[i];
	return vec_push(&x->threads, (struct loss_thread){ .anchor = anchor })
		       ? &x->threads.v[x->threads.n - 1]
		       : NULL;
}

void loss_moment_add(struct loss_moment *v, const struct loss_moment *m)
{
	unsigned i = LOSS_WORST;

	/* Told once more, of more that is known. */
	for (unsigned k = 0; k < LOSS_WORST; k++)
		if (v[k].lost_ns && v[k].thread == m->thread && v[k].end_ns == m->end_ns &&
		    v[k].op == m->op)
			return;
	while (i > 0 && m->lost_ns > v[i - 1].lost_ns)
		i--;
	if (i == LOSS_WORST)
		return;
	memmove(&v[i + 1], &v[i], (LOSS_WORST - 1 - i) * sizeof(*m));
	v[i] = *m;
}

void loss_state_add(struct loss *x, enum part part, uint64_t ns)
{
	struct loss_state *s = &x->states[x->states[0].ns && x->states[0].part != part];

	if (!ns)
		return;
	s->part = part;
	s->ns += ns;
}

bool loss_amount_add(struct loss_amounts *s, uint32_t id, uint64_t ns)
{
	size_t i = 0;

	while (i < s->of.n && s->of.v[i].id != id)
		i++;
	if (i == LOSS_AMOUNTS)
		return true;
	if (i == s->of.n && !vec_push(&s->of, (struct loss_amount){ .id = id }))
		return false;
	s->of.v[i].ns += ns;
	return true;
}

/* The leaf of a turn is the thread that had the CPU. */
static bool elsewhere_add(struct loss *x, const struct cause *c, const struct track_part *p)
{
	bool turn = x->sort & LOSS_TURNS;
	uint32_t process = p->leaf && !turn ? cause_process_of(c, p->leaf) : 0;

	return !process || process == x->process || loss_amount_add(&x->elsewhere, process, p->ns);
}

/* The thread that had the lock, and not who took its CPU, by whom the path went; 0 not known. */
static uint32_t kept_holder(const struct track_part *p)
{
	return p->leaf != p->thread && p->leaf != p->occupant ? p->leaf : p->holder;
}

static bool via_add(struct loss *x, uint32_t thread)
{
	size_t i = 0;

	while (i < x->via.n && x->via.v[i] != thread)
		i++;
	return i < x->via.n || i == LOSS_VIA || vec_push(&x->via, thread);
}

static bool place_add(struct lost_time *l, const struct loss *x, const struct track_part *p,
		      uint64_t n)
{
	struct where_place *at = where_at(&l->where, (uint32_t)(x - l->v.v), p->at_op, p->stack);

	if (!at)
		return false;
	at->lost_ns += p->ns;
	at->sampled_ns += p->sampled ? p->ns : 0;
	at->affected += n;
	at->count += n;
	return true;
}

static bool pane_add(struct loss_thread *th, int64_t pane, const struct track_part *p, uint64_t n)
{
	if (!th->panes)
		th->panes = calloc(TALLY_PANES, sizeof(*th->panes));
	if (th->panes)
		tally_pane_add(th->panes, pane, p->ns, (uint32_t)n);
	return th->panes != NULL;
}

/* No event says who it was: the longest time stands for them. */
static void longest_add(struct loss *x, const struct loss_blame *b, const struct track_part *p)
{
	int64_t end_ns = p->longest_from_ns + (int64_t)p->longest_ns;

	if (p->longest_ns > x->longest_ns) {
		x->longest_ns = p->longest_ns;
		x->leaf = p->leaf;
	}
	loss_moment_add(x->intervals, &(struct loss_moment){ .end_ns = end_ns,
							     .dur_ns = p->longest_ns,
							     .lost_ns = p->longest_ns,
							     .thread = p->leaf,
							     .part = (uint16_t)b->part });
}

/* A line outvotes the others. */
static void idle_details(struct loss *x, const struct loss_blame *b, const struct track_part *p,
			 uint64_t n)
{
	if (p->unended_ns) {
		x->of.idle.unended_ns += p->unended_ns < p->ns ? p->unended_ns : p->ns;
		x->of.idle.unended_since_ns = p->longest_from_ns;
	}
	x->of.idle.added_ns += p->pace == PACE_ADDED ? p->ns : 0;
	if (p->poll.interval_us && 2 * p->ns >= x->ns)
		x->of.idle.poll = p->poll;
	x->of.idle.whole |= b->whole;
	x->of.idle.partly |= b->partly;
	x->of.idle.waits += p->times ? n : b->waits;
	x->of.idle.measured_ns += b->whole ? p->ns : b->measured_ns;
	if (!(x->sort & LOSS_BESIDE) || !p->line)
		return;
	if (x->of.idle.line.frame == p->line) {
		x->of.idle.line.ns += p->ns;
	} else if (x->of.idle.line.ns >= p->ns) {
		x->of.idle.line.ns -= p->ns;
	} else {
		x->of.idle.line.frame = p->line;
		x->of.idle.line.ns = p->ns - x->of.idle.line.ns;
	}
}

static bool loss_add(struct lost_time *l, struct cause *c, struct loss *x, uint32_t anchor,
		     const struct loss_blame *b, const struct track_part *p)
{
	struct loss_thread *th = loss_thread_of(x, anchor);
	uint32_t kept = p->exclusion ? kept_holder(p) : 0;
	struct loss_times n = { 0 };

	if (!th || !loss_times_add(l, x, b, anchor, p, &n))
		return false;
	if (x->ns == 0 || p->first_ns < x->first_ns)
		x->first_ns = p->first_ns;
	if (x->ns == 0 || p->last_ns > x->last_ns)
		x->last_ns = p->last_ns;
	th->ns += p->ns;
	th->idle_ns += p->idle_ns;
	th->step_ns += l->in_steps ? p->ns : 0;
	th->step_idle_ns += l->in_steps ? p->idle_ns : 0;
	if (l->pane != INT64_MAX && !pane_add(th, l->pane, p, n.all))
		return false;
	x->ns += p->ns;
	x->count += n.all;
	if (b->family == LOSS_MEMORY) {
		x->of.memory.compact_ns += p->class == PATH_COMPACT ? p->ns : 0;
		x->of.memory.swap_ns += p->class == PATH_FAULT && p->swapped ? p->ns : 0;
		x->of.memory.file_ns += p->class == PATH_FAULT && !p->swapped ? p->ns : 0;
	}
	if (b->family == LOSS_IDLE)
		idle_details(x, b, p, n.all);
	x->idle_ns += p->idle_ns;
	loss_state_add(x, b->part, p->ns);
	x->beside_ns += p->leaf != anchor ? p->ns : 0;
	if (kept && kept != anchor && b->family != LOSS_LOCK && !via_add(x, kept))
		return false;
	if (b->family >= LOSS_STOPPED)
		longest_add(x, b, p);
	return loss_amount_add(&x->takers, b->culprit, p->ns) && elsewhere_add(x, c, p) &&
	       place_add(l, x, p, n.there);
}

/* only_outside: of losses that are not in the steps. */
static bool blamed_add(struct lost_time *l, struct cause *c, uint32_t process, uint32_t anchor,
		       const struct loss_blame *b, const struct line_culprit *who,
		       const struct track_part *p, bool only_outside)
{
	bool full;
	struct loss *x = loss_at(l,
				 (struct loss){ .process = process,
						.culprit = who ? who->base : 0,
						.family = b->family,
						.sort = b->sort },
				 &full);

	if (!x || (only_outside && !x->outside))
		return x || full;
	if (l->pane == INT64_MAX && p->number && !only_outside && !(b->sort & LOSS_TURNS) &&
	    !vec_push(&l->marks, (struct loss_mark){ (uint32_t)(x - l->v.v), anchor, p->number }))
		return false;
	return loss_add(l, c, x, anchor, b, p);
}

/* What of a part lies in gaps of the device, or all of it. */
static bool idle_add(struct lost_time *l, struct cause *c, uint32_t anchor,
		     const struct track_part *p, bool at_most, bool only_outside)
{
	uint32_t process = cause_process_of(c, anchor);
	struct loss_blame b = loss_blame_idle(c, anchor, p);
	struct loss_gaps *gaps = l->processes.v[process].gaps;
	struct track_part in = *p;
	bool own = loss_is_own_code(anchor, p);

	if (l->in_steps && l->pane == INT64_MAX) {
		if (step_stalls_is_mains(&l->step_stalls, c, anchor, p))
			return true;
		enum step_stall_lost lost = step_stalls_lost(&l->step_stalls, c, anchor, &b, p);

		b.whole = lost == STALL_WHOLE;
		b.partly = lost == STALL_PARTLY;
	}
	if (b.whole && at_most)
		return true;
	b.sort |= at_most ? LOSS_AT_MOST : 0;
	b.waits = p->waits;
	in.ns = idle_shares_gap_ns(&l->idle_shares, c, anchor, &b, p, at_most);
	b.measured_ns = at_most ? p->at_most_ns : p->gap_ns;
	in.idle_ns = at_most ? 0 : in.ns;
	if (!only_outside && in.ns && gaps)
		gaps->ns[at_most] += in.ns;
	if (b.whole) {
		in.ns = p->ns;
		in.waits = own ? p->pieces : p->waits;
	} else {
		in.waits = in.ns == b.measured_ns ? p->gaps : own ? p->pieces : p->waits;
		/* What lies beside gaps for the most part is no cause of them. */
		in.number = 2 * in.ns > p->ns ? p->number : 0;
	}
	in.longest_ns = in.longest_ns < in.ns ? in.longest_ns : in.ns;
	/* a wait that never ended counts wherever it is */
	only_outside &= 2 * p->unended_ns <= in.ns;
	return !in.ns || b.family == LOSS_FAMILIES ||
	       blamed_add(l, c, process, anchor, &b, culprit_get(c->tally.culprits, b.culprit), &in,
			  only_outside);
}

static bool part_add(struct lost_time *l, struct cause *c, uint32_t anchor,
		     const struct track_part *p, bool only_outside)
{
	uint32_t process = cause_process_of(c, anchor);
	const struct line_culprit *who;
	struct loss_blame b;

	if (!process || loss_is_elsewhere(c, process, p))
		return true;
	if (!vec_reach(&l->processes, process))
		return false;
	if ((l->processes.v[process].gaps || l->step_stalls.v.n) &&
	    !loss_is_crowded(c, anchor, p) &&
	    (!idle_add(l, c, anchor, p, false, only_outside) ||
	     !idle_add(l, c, anchor, p, true, only_outside)))
		return false;
	b = loss_blame_of(c, anchor, p);
	if (!p->ns || b.family == LOSS_FAMILIES ||
	    (b.family != LOSS_LOCK && loss_is_told_there(c, anchor, p)))
		return true;
	who = culprit_get(c->tally.culprits, b.culprit);
	if (!only_outside) {
		l->processes.v[process].ns += p->ns;
		l->processes.v[process].unnamed_ns += who || b.family >= LOSS_STOPPED ? 0 : p->ns;
	}
	if (!who && b.family < LOSS_STOPPED)
		return true;
	return blamed_add(l, c, process, anchor, &b, who, p, only_outside);
}

static enum loss_family family_of(enum part part)
{
	switch (part) {
	case PART_PREEMPTED:
	case PART_RUNQ:
		return LOSS_CPU;
	case PART_THROTTLED:
		return LOSS_THROTTLED;
	case PART_LOCK:
		return LOSS_LOCK;
	case PART_DISK:
		return LOSS_DISK;
	default:
		return LOSS_FAMILIES;
	}
}

bool lost_time_moment(struct lost_time *l, struct cause *c, const struct line_piece *p)
{
	if (!vec_reach(&l->processes, p->process))
		return false;
	for (unsigned i = 0; i < p->parts->nculprits; i++) {
		const struct part_culprit *of = &p->parts->c[i];
		const struct line_culprit *who = culprit_get(c->tally.culprits, of->culprit);
		enum loss_family family = family_of((enum part)of->part);
		bool call = p->ev && p->op && p->op->flags & OP_CALL, full;
		struct loss *x = who && family != LOSS_FAMILIES
					 ? loss_at(l,
						   (struct loss){ .process = p->process,
								  .culprit = who->base,
								  .family = family },
						   &full)
					 : NULL;

		if (!x && who && family != LOSS_FAMILIES && !full)
			return false;
		if (x)
			loss_moment_add(call ? x->calls : x->intervals,
					&(struct loss_moment){
						p->end_ns, (uint64_t)(p->end_ns - p->start_ns),
						of->ns, p->thread, p->ev ? p->ev->stack : 0,
						p->ev ? p->ev->op : 0, (uint16_t)of->part });
	}
	return true;
}

struct growth {
	struct lost_time *l;
	struct cause *c;
};

static bool add_new_part(void *ctx, uint32_t anchor, const struct track_part *p)
{
	const struct growth *g = ctx;

	return part_add(g->l, g->c, anchor, p, false);
}

bool lost_time_grow(struct lost_time *l, struct cause *c, int64_t pane)
{
	struct growth g = { l, c };

	l->pane = pane;
	return path_tracks_grown(c->tracks, add_new_part, &g);
}

/* ---- the end ---- */

/* Ended threads of whose tracks nothing is kept any more: what is known of their processes' losses
 * stays. */
static bool mark_dropped(struct lost_time *l, struct cause *c)
{
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);
		uint32_t process = cause_process_of(c, t.anchor);

		if (!vec_reach(&l->processes, process))
			return false;
		l->processes.v[process].dropped |= !t.nphases;
	}
	return true;
}

static void clear_loss(struct loss *x)
{
	for (size_t i = 0; i < x->threads.n; i++) {
		struct loss_thread *th = &x->threads.v[i];

		th->ns = th->idle_ns = th->step_ns = th->step_idle_ns = 0;
	}
	x->states[0].ns = x->states[1].ns = 0;
	x->ns = x->count = x->idle_ns = x->beside_ns = x->longest_ns = 0;
	memset(&x->of, 0, sizeof(x->of));
	x->takers.of.n = x->elsewhere.of.n = x->via.n = 0;
}

static void clear_process(struct loss_process *p)
{
	p->ns = p->unnamed_ns = 0;
	if (p->gaps)
		p->gaps->ns[0] = p->gaps->ns[1] = 0;
}

/* Clears all sums, so that they can be made again. */
static void clear_sums(struct lost_time *l)
{
	for (size_t i = 0; i < l->where.v.n; i++) {
		struct where_place *at = &l->where.v.v[i];

		if (at->used && !l->processes.v[l->v.v[at->subject].process].dropped)
			at->lost_ns = at->sampled_ns = at->affected = at->count = 0;
	}
	for (size_t i = 0; i < l->v.n; i++)
		if (!l->processes.v[l->v.v[i].process].dropped)
			clear_loss(&l->v.v[i]);
	for (size_t i = 0; i < l->processes.n; i++)
		if (!l->processes.v[i].dropped)
			clear_process(&l->processes.v[i]);
}

static bool add_window(struct lost_time *l, struct cause *c, size_t i, const struct track *t,
		       enum track_window window, bool only_outside, struct track_parts *parts)
{
	l->in_steps = window == WINDOW_STEPS;
	l->window = window;
	l->steps = l->in_steps && t->loop ? t->loop->estimate : 0;
	if (!path_tracks_parts(c->tracks, i, window, parts))
		return false;
	for (size_t k = 0; k < parts->v.n; k++)
		if (!part_add(l, c, t->anchor, &parts->v.v[k], only_outside))
			return false;
	return true;
}

/* Of its steps and what is between them; without a loop all of it. only_outside: the rest. */
static bool add_track(struct lost_time *l, struct cause *c, size_t i, bool only_outside,
		      struct track_parts *parts)
{
	struct track t = path_tracks_get(c->tracks, i);
	uint32_t process = cause_process_of(c, t.anchor);
	uint64_t span = 0;

	if (!process || l->processes.v[process].dropped)
		return true;
	for (unsigned k = 0; k < t.nphases; k++) {
		bool counts = track_phase_counts(&t, &t.phases[k]);

		span += t.loop && counts ? t.phases[k].ns : 0;
		if (counts != only_outside &&
		    !add_window(l, c, i, &t, t.phases[k].window, only_outside, parts))
			return false;
	}
	if (span > l->processes.v[process].span_ns)
		l->processes.v[process].span_ns = span;
	return true;
}

bool lost_time_finish(struct lost_time *l, struct cause *c)
{
	struct track_parts parts = { 0 };
	bool ok = mark_dropped(l, c) && loss_behind_sum(l, c, &parts) &&
		  loss_crowd_sum(l, c, &parts) && loss_background_find(l, c, &parts);

	l->pane = INT64_MAX;
	ok = ok && idle_shares_sum(&l->idle_shares, c, &parts) &&
	     step_stalls_sum(&l->step_stalls, c, &parts);
	map_clear(&l->counted);
	if (ok)
		clear_sums(l);
	for (size_t i = 0; ok && i < path_tracks_count(c->tracks); i++)
		ok = add_track(l, c, i, false, &parts);
	ok = ok && loss_early_sum(l, c, &parts);
	for (size_t i = 0; i < l->v.n; i++)
		l->v.v[i].outside = l->v.v[i].revision && !l->v.v[i].ns;
	for (size_t i = 0; ok && i < path_tracks_count(c->tracks); i++)
		ok = add_track(l, c, i, true, &parts);
	vec_free(&parts.v);
	return ok;
}

/* ---- answers ---- */

uint64_t loss_worst_ns(const struct loss *x, int64_t pane)
{
	uint64_t worst = 0, count;

	for (size_t i = 0; i < x->threads.n; i++) {
		const struct loss_thread *th = &x->threads.v[i];
		uint64_t ns = pane == INT64_MAX ? th->ns
			      : th->panes	? tally_window(th->panes, pane, &count)
						: 0;

		worst = ns > worst ? ns : worst;
	}
	return worst;
}

const struct loss_thread *loss_worst_thread(const struct loss *x)
{
	const struct loss_thread *worst = NULL;

	for (size_t i = 0; i < x->threads.n; i++)
		if (x->threads.v[i].ns && (!worst || x->threads.v[i].ns > worst->ns))
			worst = &x->threads.v[i];
	return worst;
}

bool lost_time_forget(struct lost_time *l, uint32_t process)
{
	struct loss_process *p = process < l->processes.n ? &l->processes.v[process] : NULL;
	size_t left = 0;
	bool idle = false;

	for (size_t i = 0; p && i < p->at.n; i++) {
		struct loss *x = &l->v.v[p->at.v[i]];

		if (x->revision) {
			idle |= x->family == LOSS_IDLE;
			panes_free(x);
			vec_fit(&x->threads);
			vec_fit(&x->takers.of);
			vec_fit(&x->elsewhere.of);
			p->at.v[left++] = p->at.v[i];
			continue;
		}
		map_del(&l->by, loss_key(x));
		loss_free(x);
		*x = (struct loss){ 0 };
		if (!where_forget(&l->where, p->at.v[i]) || !vec_push(&l->unused, p->at.v[i]))
			return false;
	}
	if (p)
		p->at.n = left;
	if (p && !idle) {
		free(p->gaps);
		p->gaps = NULL;
	}
	if (p && !left)
		vec_free(&p->at);
	return true;
}

void lost_time_free(struct lost_time *l)
{
	for (size_t i = 0; i < l->v.n; i++)
		loss_free(&l->v.v[i]);
	for (size_t i = 0; i < l->processes.n; i++) {
		vec_free(&l->processes.v[i].at);
		free(l->processes.v[i].gaps);
	}
	loss_free(&l->several);
	vec_free(&l->marks);
	loss_crowds_free(l);
	idle_shares_free(&l->idle_shares);
	step_stalls_free(&l->step_stalls);
	vec_free(&l->v);
	vec_free(&l->unused);
	vec_free(&l->processes);
	map_free(&l->by);
	map_free(&l->ran);
	map_free(&l->awaited);
	map_free(&l->counted);
	map_free(&l->background);
	where_free(&l->where);
}
