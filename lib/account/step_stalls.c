/* SPDX-License-Identifier: Apache-2.0 */
/* Sums waits in steps, and what of them lies in gaps of a device. */
#include "lib/account/step_stalls.h"

#include "lib/account/analysis_state.h"
#include "lib/account/loss_blame.h"
#include "lib/account/loss_times.h"
#include "lib/account/lost_time.h"
#include "lib/base/hash.h"
#include "lib/event/op.h"
#include "lib/world/known_work.h"

#define GAPS_SHARE 0.5 /* of them in gaps: then these are what is lost */

static uint64_t waited_for(const struct cause *c, uint32_t anchor, const struct track_part *p)
{
	return (uint64_t)cause_process_of(c, anchor) << 32 | p->leaf;
}

bool step_stalls_is_mains(const struct step_stalls *s, const struct cause *c, uint32_t anchor,
			  const struct track_part *p)
{
	uint64_t is;

	return p->leaf != anchor && !cause_is_main(c, anchor) &&
	       map_get(&s->main, waited_for(c, anchor, p), &is);
}

/* Whether it only computes, and does nothing that is known to be better done elsewhere. */
static bool is_own(uint32_t anchor, const struct loss_blame *b, const struct track_part *p)
{
	return loss_is_own_code(anchor, p) && !(b->sort >> LOSS_WORK_SHIFT);
}

/* ---- lines that make calls ---- */

/* Calls may be recorded a small part of the time only. */
#define CALLS_LEAST 3
#define CALLS_STEPS 32 /* at least one in so many steps */
#define READS_STEP  4  /* in a step: one or two, as of the loss, are what many loops have */

/* A line of Python, a function of others. */
static uint64_t line_key(const struct cause *c, uint32_t anchor, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(c->w, frame);
	const struct world_symbol *symbol =
		f && f->kind == FRAME_NATIVE ? world_get_symbol(c->w, frame) : NULL;

	return hash_u64((uint64_t)anchor << 32 | (symbol ? symbol->name : frame)) ^ !symbol;
}

/* Each ends with one wait for the device. */
static bool is_read(const struct cause *c, const struct track_part *p)
{
	const struct op_def *op = op_builtin(p->op);

	return op && op->flags & OP_SYNC && known_work_of(c->w, p->stack) == KNOWN_WORK_READS;
}

/* In the steps while waits were recorded. */
static uint64_t many_reads(const struct cause *c, const struct track *t)
{
	uint32_t node = world_process_node(c->w, cause_process_of(c, t->anchor));
	int64_t from_ns = t->loop->first_ns, to_ns = t->loop->last_ns;
	double all = (double)(to_ns - from_ns),
	       paused = (double)paused_ns(&c->paused, node, TIER_WAITS, from_ns, to_ns);

	return all > paused ? (uint64_t)(READS_STEP * (double)t->loop->estimate *
					 (1 - paused / all))
			    : 0;
}

static bool note_calls(struct step_stalls *s, const struct cause *c, const struct track *t,
		       const struct track_parts *parts)
{
	uint64_t least = t->loop->estimate / CALLS_STEPS, many = many_reads(c, t);
	struct map calls = { 0 }, reads = { 0 };
	bool ok = true;

	least = least > CALLS_LEAST ? least : CALLS_LEAST;
	many = many > least ? many : least;
	for (size_t i = 0; ok && i < parts->v.n; i++) {
		const struct track_part *p = &parts->v.v[i];
		uint64_t key = line_key(c, t->anchor, p->line), n = 0;

		if (p->leaf != t->anchor || !p->line ||
		    (p->class != PATH_CALL && p->class != PATH_DEVICE))
			continue;
		map_get(&calls, key, &n);
		n += p->pieces;
		ok = map_put(&calls, key, n) && (n < least || map_put(&s->calls, key, 1));
		if (!is_read(c, p))
			continue;
		n = 0;
		map_get(&reads, key, &n);
		n += p->pieces;
		ok = ok && map_put(&reads, key, n) && (n < many || map_put(&s->reads, key, 1));
	}
	map_free(&calls);
	map_free(&reads);
	return ok;
}

static bool makes_calls(const struct step_stalls *s, const struct cause *c, uint32_t anchor,
			const struct track_part *p)
{
	return map_get(&s->calls, line_key(c, anchor, p->line), NULL);
}

bool step_stalls_is_reading(const struct step_stalls *s, const struct cause *c, uint32_t anchor,
			    const struct track_part *p)
{
	return map_get(&s->reads, line_key(c, anchor, p->line), NULL);
}

/* ---- sums ---- */

static void add_share(struct step_stall *x, uint32_t anchor, uint64_t ns, uint64_t steps_ns)
{
	double share;

	x->anchor_ns = (x->anchor == anchor ? x->anchor_ns : 0) + ns;
	x->anchor = anchor;
	share = steps_ns ? (double)x->anchor_ns / (double)steps_ns : 1;
	x->share = share > x->share ? share : x->share;
}

/* steps_ns: of all the anchor's steps. */
static bool add_part(struct step_stalls *s, struct cause *c, uint32_t anchor,
		     const struct track_part *p, uint64_t steps_ns)
{
	struct loss_blame b = loss_blame_idle(c, anchor, p);
	uint64_t key, at;

	if (p->leaf != anchor && cause_is_main(c, anchor) &&
	    !map_put(&s->main, waited_for(c, anchor, p), 1))
		return false;
	if (b.family == LOSS_FAMILIES || !loss_is_step_stall(c, anchor, p) ||
	    loss_is_elsewhere(c, cause_process_of(c, anchor), p) ||
	    loss_is_crowded(c, anchor, p) || (is_own(anchor, &b, p) && makes_calls(s, c, anchor, p)))
		return true;
	key = loss_blame_key(c, anchor, &b);
	if (!map_get(&s->of, key, &at)) {
		at = s->v.n;
		if (!vec_push(&s->v, (struct step_stall){ 0 }) || !map_put(&s->of, key, at))
			return false;
	}
	s->v.v[at].ns += p->ns;
	add_share(&s->v.v[at], anchor, p->ns, steps_ns);
	s->v.v[at].gap_ns +=
		idle_shares_gap_ns(&c->lost_time.idle_shares, c, anchor, &b, p, false) +
		idle_shares_gap_ns(&c->lost_time.idle_shares, c, anchor, &b, p, true);
	return true;
}

static uint64_t steps_ns(const struct track *t)
{
	for (unsigned i = 0; i < t->nphases; i++)
		if (t->phases[i].window == WINDOW_STEPS)
			return t->phases[i].ns;
	return 0;
}

bool step_stalls_sum(struct step_stalls *s, struct cause *c, struct track_parts *parts)
{
	step_stalls_free(s);
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);

		if (!t.loop || !cause_process_of(c, t.anchor))
			continue;
		if (!path_tracks_parts(c->tracks, i, WINDOW_STEPS, parts))
			return false;
		if (!note_calls(s, c, &t, parts))
			return false;
		for (size_t k = 0; k < parts->v.n; k++)
			if (!add_part(s, c, t.anchor, &parts->v.v[k], steps_ns(&t)))
				return false;
	}
	return true;
}

enum step_stall_lost step_stalls_lost(const struct step_stalls *s, const struct cause *c,
				      uint32_t anchor, const struct loss_blame *b,
				      const struct track_part *p)
{
	const struct step_stall *x;
	uint64_t at;

	if (b->family == LOSS_FAMILIES || !loss_is_step_stall(c, anchor, p) ||
	    step_stalls_is_mains(s, c, anchor, p) ||
	    (is_own(anchor, b, p) && makes_calls(s, c, anchor, p)) ||
	    !map_get(&s->of, loss_blame_key(c, anchor, b), &at))
		return STALL_IN_GAPS;
	x = &s->v.v[at];
	if ((double)x->gap_ns >= GAPS_SHARE * (double)x->ns)
		return STALL_IN_GAPS;
	return x->share < STEP_STALL_OWN && is_own(anchor, b, p) ? STALL_PARTLY : STALL_WHOLE;
}

void step_stalls_free(struct step_stalls *s)
{
	map_free(&s->of);
	map_free(&s->main);
	map_free(&s->calls);
	map_free(&s->reads);
	vec_free(&s->v);
}
