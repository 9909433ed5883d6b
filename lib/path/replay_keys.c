/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each key of a segment is to a replay: whose cause it is, whether it waits for somebody, and
 * of sleeps whether they keep a pace (lib/stat/pace.h). A pace is held against the clock, so that
 * time gained before it is waited for again.
 */
#include "lib/path/replay_internal.h"

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

/* NULL: out of memory. */
static struct replay_sleeps *sleeps_of(struct replay *r, uint32_t key)
{
	uint64_t at;

	if (map_get(&r->sleeps_by, key, &at))
		return &r->sleeps.v[at];
	if (!vec_push(&r->sleeps, (struct replay_sleeps){ .key = key }) ||
	    !map_put(&r->sleeps_by, key, r->sleeps.n - 1))
		return NULL;
	return &r->sleeps.v[r->sleeps.n - 1];
}

/* From when the sleep at k is counted: with the preemption right before it (PACE_ENTRY_NS). */
static int64_t find_begin(const struct replay *r, const struct path_thread *th, size_t k)
{
	const struct segment_entry *v = th->log.v.v;
	int64_t start_ns = segment_log_start(&th->log, k);

	if (k >= 2 && v[k - 2].key < r->p->keys.v.n &&
	    r->p->keys.v.v[v[k - 2].key].s.state == SEGMENT_RUNNABLE &&
	    start_ns - v[k - 2].end_ns < PACE_ENTRY_NS)
		return segment_log_start(&th->log, k - 2);
	return start_ns;
}

/* When the thread had a CPU after the segment at k. */
static int64_t find_cpu(const struct replay *r, const struct path_thread *th, size_t k)
{
	const struct segment_entry *v = th->log.v.v;

	return k + 1 < th->log.v.n && v[k + 1].key < r->p->keys.v.n &&
			       r->p->keys.v.v[v[k + 1].key].s.state == SEGMENT_RUNNABLE
		       ? v[k + 1].end_ns
		       : v[k].end_ns;
}

static bool add_sleeps(struct replay *r, const struct path_thread *th)
{
	for (size_t k = 0; k < th->log.v.n; k++) {
		const struct segment_entry *e = &th->log.v.v[k];
		struct replay_sleeps *s;

		if (e->key >= SEGMENT_KEY_WAITING || e->key >= r->keys.n ||
		    r->keys.v[e->key].act != REPLAY_SLEEP)
			continue;
		s = sleeps_of(r, e->key);
		if (!s)
			return false;
		pace_add(&s->sums, find_begin(r, th, k), e->end_ns, find_cpu(r, th, k));
		s->n++;
	}
	return true;
}

static enum replay_pace pace_of(const struct replay_sleeps *s)
{
	enum pace pace = pace_verdict(&s->sums);

	if (pace == PACE_KEPT)
		return REPLAY_PACE;
	return pace == PACE_ADDED || s->n < PACE_LEAST ? REPLAY_RELATIVE : REPLAY_MAYBE_PACE;
}

static bool find_paces(struct replay *r)
{
	bool ok = true;

	for (size_t i = 0; ok && i < r->p->threads.n; i++)
		ok = !r->p->threads.v[i] || add_sleeps(r, r->p->threads.v[i]);
	for (size_t i = 0; i < r->sleeps.n; i++)
		r->keys.v[r->sleeps.v[i].key].pace = (uint8_t)pace_of(&r->sleeps.v[i]);
	vec_free(&r->sleeps);
	map_free(&r->sleeps_by);
	return ok;
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

static uint16_t lanes_of(const struct replay_mark *m)
{
	return (uint16_t)(1u << m->lane | (m->stays ? 0u : 1u << REPLAY_ALL));
}

/* A cause of the thread's own, however its wait is kept: a releaser of which nothing is known is
 * none. */
static bool mark_key(struct replay *r, const struct replay_mark *m, struct segment s)
{
	uint32_t key = segment_key(&r->p->keys, m->thread, &s) & ~SEGMENT_KEY_KIND;
	uint16_t bits = lanes_of(m);

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
		r->takers.v[taker] |= lanes_of(m);
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
