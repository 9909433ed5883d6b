/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each key of a segment is to a replay: whose cause it is, whether it waits for somebody, and of sleeps whether they
 * keep a pace. A pace is held against the clock, so that time gained before it is waited for again. The ends of one
 * sleep are fitted to a line over their number: where they stay as close to it as their distances are to each other, it is
 * a pace; where they drift away as a sum of independent distances does, the sleeps and what is between them add up.
 */
#include <math.h>

#include "lib/path/replay_state.h"

#define PACE_LEAST   30 /* fewer sleeps at a place tell nothing */
#define PACE_AT_MOST 2 /* spread of the residuals over that of the distances: of a pace about 0.7 */
#define ADDS_OF	     15 /* of n sleeps that add up it is about the square root of n / 15 */

static enum replay_act act_of(const struct path *p, const struct segment *s)
{
	const struct path_op *op = s->op ? &p->ops[s->op] : NULL;

	if (s->flags & SEGMENT_IN_SYNC)
		return REPLAY_SYNC;
	switch (s->state) {
	case SEGMENT_CALL:
		return op && op->def && op->def->flags & OP_SUBMIT ? REPLAY_SUBMIT : REPLAY_KEEP;
	case SEGMENT_WAITING:
		return REPLAY_WAIT;
	case SEGMENT_RUNNABLE:
		return REPLAY_RUNNABLE;
	case SEGMENT_WAKE_UP:
		return REPLAY_LATENCY;
	case SEGMENT_BLOCKED:
		if (s->object == OBJECT_TIMER)
			return REPLAY_SLEEP;
		return (s->flags & (SEGMENT_DEMAND | SEGMENT_REPLY)) == SEGMENT_DEMAND
			       ? REPLAY_ASKED
			       : REPLAY_KEEP;
	default:
		return REPLAY_KEEP;
	}
}

static void add_sleep(struct replay_sleeps *s, int64_t end_ns)
{
	double y, gap;

	if (!s->n)
		s->first_ns = s->last_ns = end_ns;
	y = (double)(end_ns - s->first_ns);
	gap = (double)(end_ns - s->last_ns);
	s->ty += s->n * y;
	s->tt += s->n * s->n;
	s->y += y;
	s->yy += y * y;
	s->gaps += gap;
	s->squares += gap * gap;
	s->last_ns = end_ns;
	s->n++;
}

static enum replay_pace pace_of(const struct replay_sleeps *s)
{
	double n = s->n, t = n * (n - 1) / 2, syy, sxy, sxx, residual, gaps;

	if (n < PACE_LEAST)
		return REPLAY_RELATIVE;
	syy = s->yy - s->y * s->y / n;
	sxy = s->ty - t * s->y / n;
	sxx = s->tt - t * t / n;
	residual = sqrt(fmax(0, syy - sxy * sxy / sxx) / n);
	gaps = sqrt(fmax(0, s->squares / (n - 1) - pow(s->gaps / (n - 1), 2)));
	if (residual < PACE_AT_MOST * gaps)
		return REPLAY_PACE;
	return residual > sqrt(n / ADDS_OF) / 2 * gaps ? REPLAY_RELATIVE : REPLAY_MAYBE_PACE;
}

static bool find_paces(struct replay *r)
{
	if (!vec_reach(&r->sleeps, r->keys.n))
		return false;
	memset(r->sleeps.v, 0, r->sleeps.n * sizeof(r->sleeps.v[0]));
	for (size_t i = 0; i < r->p->threads.n; i++) {
		const struct path_thread *th = r->p->threads.v[i];

		for (size_t k = 0; th && k < th->log.v.n; k++) {
			const struct segment_entry *e = &th->log.v.v[k];

			if (e->key < SEGMENT_KEY_WAITING && e->key < r->keys.n &&
			    r->keys.v[e->key].act == REPLAY_SLEEP)
				add_sleep(&r->sleeps.v[e->key], e->end_ns);
		}
	}
	for (size_t i = 0; i < r->keys.n; i++)
		if (r->sleeps.v[i].n > 0)
			r->keys.v[i].pace = (uint8_t)pace_of(&r->sleeps.v[i]);
	vec_free(&r->sleeps);
	return true;
}

bool replay_keys_make(struct replay *r)
{
	const struct path *p = r->p;

	if (p->keys.v.n && !vec_reach(&r->keys, p->keys.v.n - 1))
		return false;
	for (size_t i = 1; i < r->keys.n; i++) {
		const struct segment *s = &p->keys.v.v[i].s;
		const struct path_op *op = s->op ? &p->ops[s->op] : NULL;
		struct replay_key *k = &r->keys.v[i];

		k->act = (uint8_t)act_of(p, s);
		k->submits = op && op->def && op->def->flags & OP_SUBMIT;
		k->on_cpu = segment_on_cpu(s) && s->state != SEGMENT_SYNC;
		if (s->state == SEGMENT_RUNNABLE && s->who < r->takers.n)
			k->mask |= r->takers.v[s->who];
	}
	return find_paces(r);
}

/* A cause of the thread's own, however its wait is kept: a releaser of which nothing is known is none. */
static bool mark_key(struct replay *r, const struct replay_mark *m, struct segment s)
{
	uint32_t key = segment_key(&r->p->keys, m->thread, &s) & ~SEGMENT_KEY_KIND;
	uint16_t bits = (uint16_t)(1u << m->lane | 1u << REPLAY_ALL);

	if (!key || !vec_reach(&r->keys, key))
		return false;
	if (m->exclusion)
		r->keys.v[key].exclusion |= bits;
	else
		r->keys.v[key].mask |= bits;
	return true;
}

bool replay_mark(struct replay *r, const struct replay_mark *m)
{
	uint32_t taker = m->occupant ? m->occupant : m->s.state == SEGMENT_RUNNABLE ? m->s.who : 0;
	struct segment is = m->s, waits;

	is.flags &= (uint16_t)~SEGMENT_ROUGH;
	waits = is;
	if (taker) {
		if (!vec_reach(&r->takers, taker))
			return false;
		r->takers.v[taker] |= (uint16_t)(1u << m->lane | 1u << REPLAY_ALL);
	}
	if (m->occupant)
		return true;
	if (!mark_key(r, m, is))
		return false;
	if (m->s.state != SEGMENT_BLOCKED || !m->s.who)
		return true;
	waits.state = SEGMENT_WAITING;
	if (!mark_key(r, m, waits))
		return false;
	waits.flags |= SEGMENT_ACT_UNKNOWN;
	return mark_key(r, m, waits);
}
