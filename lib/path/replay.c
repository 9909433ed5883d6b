/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays the logs of all threads in the order in which their segments ended. Of each thread one
 * number a lane is kept: how much earlier it is than recorded. A segment that is the lane's cause
 * makes it earlier by its length; a hand-off ends when both have come, so that it makes the thread
 * no earlier than who ended it; where somebody had to leave (a lock, a CPU), only what the cause
 * took of the wait is gained, since who would have come first is not known.
 *
 * It is done once, at the end, over the segments that a path retains: a recording's loops are known
 * then and which causes matter, so that calls pay nothing while they stream. Only the end of a
 * segment counts, calls and own code are passed over, and memory is bounded by threads. What was
 * folded into checkpoints is not replayed: replay_gains.from_ns.
 */
#include "lib/path/replay.h"

#include <stdlib.h>

#include "lib/path/path_walk.h"
#include "lib/path/replay_internal.h"

#define DEPTH	     64 /* threads whose segments end at the same instant because of each other */
#define NEEDED_GIVES 3	/* one or two hand-offs are chance */

/* ---- what the path has of causes in a window ---- */

/* Whoever has the lock could not leave it, for want of a CPU. */
static bool is_kept_from_leaving(const struct path_piece *piece)
{
	return piece->lock && (piece->occupant || (piece->s->state >= SEGMENT_STOLEN &&
						   piece->s->state <= SEGMENT_RUNNABLE));
}

static void on_piece(struct path_listener *l, const struct path_piece *piece)
{
	struct replay *r = (struct replay *)l;
	uint32_t key = piece->key ? piece->key : segment_key(&r->p->keys, piece->thread, piece->s);
	const struct replay_key *k = replay_key_of(r, key);
	uint16_t mask = k->mask;

	r->nomem |= !key;
	if (piece->occupant && piece->occupant < r->takers.n)
		mask |= r->takers.v[piece->occupant];
	if (piece->lock) {
		mask |= k->exclusion;
		r->held |= k->exclusion;
	}
	if (is_kept_from_leaving(piece))
		for (unsigned i = 0; i < REPLAY_LANES; i++)
			r->kept_ns[i] += mask >> i & 1 ? 0 : piece->to_ns - piece->from_ns;
	for (unsigned i = 0; mask; i++, mask >>= 1)
		if (mask & 1)
			r->removed_ns[i] += (uint64_t)(piece->to_ns - piece->from_ns);
}

static void walk_life(struct replay *r, struct path_thread *th, int64_t from_ns, int64_t to_ns)
{
	memset(r->removed_ns, 0, sizeof(r->removed_ns));
	memset(r->kept_ns, 0, sizeof(r->kept_ns));
	r->held = 0;
	path_walk_life(r->p, r->track, th, from_ns, to_ns, &r->listener);
}

/* ---- turns ---- */

/* When it ends, or the thread begins; INT64_MAX: there is nothing more. */
static int64_t next_ns(const struct replay_thread *t)
{
	if (!t->begun)
		return t->th->log.begin_ns;
	return t->at < t->th->log.v.n ? t->th->log.v.v[t->at].end_ns : INT64_MAX;
}

static int64_t clip_whole(const struct replay *r, int64_t from_ns, int64_t to_ns)
{
	from_ns = from_ns > r->whole_from_ns ? from_ns : r->whole_from_ns;
	to_ns = to_ns < r->whole_to_ns ? to_ns : r->whole_to_ns;
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Goes on to the next segment that may change something. */
static void pass_plain(const struct replay *r, struct replay_thread *t)
{
	const struct segment_log *l = &t->th->log;

	for (; t->at < l->v.n; t->at++) {
		const struct replay_key *k = replay_key_of(r, l->v.v[t->at].key);

		if (k->on_cpu)
			t->cpu_ns += (uint64_t)clip_whole(r, segment_log_start(l, t->at),
							  l->v.v[t->at].end_ns);
		if (k->act != REPLAY_KEEP || k->mask)
			return;
		t->gone[REPLAY_CAUTIOUS] = t->gone[REPLAY_HOPEFUL] = 0;
	}
}

static void sift_down(struct replay *r, size_t i)
{
	struct replay_turn *v = r->turns.v;

	for (size_t child = 2 * i + 1; child < r->turns.n; child = 2 * i + 1) {
		struct replay_turn turn = v[i];

		if (child + 1 < r->turns.n && v[child + 1].ns < v[child].ns)
			child++;
		if (v[child].ns >= turn.ns)
			return;
		v[i] = v[child];
		v[child] = turn;
		i = child;
	}
}

/* ---- segments ---- */

/* The thread's shift at ns, inside a segment of the cause on its CPU or not. */
static struct replay_shift shift_at(const struct replay *r, const struct replay_thread *t,
				    int64_t ns)
{
	struct replay_shift d = t->d;
	const struct replay_key *k;
	int64_t from;

	if (!t->begun || t->at >= t->th->log.v.n)
		return d;
	k = replay_key_of(r, t->th->log.v.v[t->at].key);
	from = segment_log_start(&t->th->log, t->at);
	if (from < r->from_ns)
		from = r->from_ns;
	if (k->mask && k->act != REPLAY_WAIT && from < ns)
		replay_remove(&d, k->mask, ns - from);
	return d;
}

static void add_gain(struct replay *r, const struct replay_shift *d, bool begins)
{
	for (unsigned i = 0; i < REPLAY_LANES; i++) {
		struct replay_gain *g = &r->out->lanes[i];

		for (enum replay_end e = 0; e < REPLAY_ENDS; e++) {
			g->spans_ns[e] += begins ? -d->ns[e][i] : d->ns[e][i];
			g->whole_ns[e] = d->ns[e][i] - r->at_begin.ns[e][i];
		}
	}
}

/* Bounds of spans up to ns are passed by the anchor. */
static void pass_bounds(struct replay *r, const struct replay_thread *t, int64_t ns)
{
	for (; r->bound < r->bounds.n && r->bounds.v[r->bound] <= ns; r->bound++) {
		struct replay_shift d = shift_at(r, t, r->bounds.v[r->bound]);

		if (!r->bound)
			r->at_begin = d;
		add_gain(r, &d, r->bound % 2 == 0);
	}
}

static void end_turn(struct replay *r, struct replay_thread *t);

/* What the thread did up to ns is replayed, where others end at the same instant. */
static void catch_up(struct replay *r, struct replay_thread *t, int64_t ns)
{
	if (t->busy || r->depth >= DEPTH)
		return;
	r->depth++;
	while (next_ns(t) <= ns)
		end_turn(r, t);
	r->depth--;
}

/* The wait for somebody who leaves, or has the CPU: what causes took of it. Where the cause is that
 * a lock is held, the holder may not be kept from leaving it, either. */
static void leave_shift(struct replay *r, struct replay_thread *t, int64_t from_ns, int64_t to_ns)
{
	walk_life(r, t->th, from_ns, to_ns);
	for (enum replay_end e = 0; e < REPLAY_ENDS; e++) {
		for (unsigned i = 0; i < REPLAY_LANES; i++) {
			bool kept = e == REPLAY_HOPEFUL && r->held >> i & 1;

			if (!(t->gone[e] & 1u << i))
				t->d.ns[e][i] +=
					(int64_t)r->removed_ns[i] + (kept ? r->kept_ns[i] : 0);
		}
	}
}

/* Nothing is left of the wait: what follows until the thread runs goes with it. */
static void mark_gone(struct replay_thread *t, const struct replay *r, int64_t ns)
{
	for (unsigned i = 0; i < REPLAY_LANES; i++)
		if (r->removed_ns[i] == (uint64_t)ns) {
			t->gone[REPLAY_CAUTIOUS] |= (uint16_t)(1u << i);
			t->gone[REPLAY_HOPEFUL] |= (uint16_t)(1u << i);
		}
}

/* The wait for what the releaser does at act_ns: both have to come. */
static void hand_off(struct replay *r, struct replay_thread *t, struct replay_thread *by,
		     const struct segment *wait, int64_t from_ns, int64_t act_ns)
{
	struct replay_shift d;

	replay_answers(by, t, wait, from_ns, act_ns);
	d = shift_at(r, by, act_ns);
	for (enum replay_end e = 0; e < REPLAY_ENDS; e++) {
		/* It is of no recorded process: what it waits for itself is not known. */
		if (by->th->outside && e == REPLAY_HOPEFUL)
			continue;
		for (unsigned i = 0; i < REPLAY_LANES; i++) {
			int64_t own = t->d.ns[e][i] + act_ns - from_ns;

			if (d.ns[e][i] >= own)
				t->gone[e] |= (uint16_t)(1u << i);
			t->d.ns[e][i] = replay_least(own, d.ns[e][i]);
		}
	}
}

static void end_wait(struct replay *r, struct replay_thread *t, const struct segment *s,
		     const struct replay_key *k, int64_t from_ns)
{
	struct replay_thread *by = replay_thread_of(r, s->who);
	int64_t act = by && by->th->log.begun ? path_walk_act(by->th, s, from_ns) : INT64_MIN;

	if (act == INT64_MIN || act < from_ns) {
		replay_remove(&t->d, k->mask, s->end_ns - from_ns);
		return;
	}
	if (s->flags & SEGMENT_EXCLUSION) {
		t->gone[REPLAY_CAUTIOUS] = t->gone[REPLAY_HOPEFUL] = 0;
		leave_shift(r, t, from_ns, s->end_ns);
		mark_gone(t, r, s->end_ns - from_ns);
		return;
	}
	t->gone[REPLAY_CAUTIOUS] = t->gone[REPLAY_HOPEFUL] = 0;
	catch_up(r, by, act);
	by->gives++;
	hand_off(r, t, by, s, from_ns, act);
}

/* A wait that was not needed loses its wake-up, and the wait for a CPU behind it. */
static void end_latency(struct replay_thread *t, uint16_t mask, int64_t ns)
{
	replay_remove(&t->d, mask, ns);
	for (enum replay_end e = 0; e < REPLAY_ENDS; e++)
		for (unsigned i = 0; i < REPLAY_LANES; i++)
			if (t->gone[e] & ~mask & 1u << i)
				t->d.ns[e][i] += ns;
}

static bool is_recorded(const struct replay *r, uint32_t thread)
{
	const struct path_thread *th = path_thread_known(r->p, thread);

	return th && th->log.begun;
}

static void end_runnable(struct replay *r, struct replay_thread *t, const struct segment *s,
			 const struct replay_key *k, int64_t from_ns)
{
	if (!(s->flags & SEGMENT_WOKEN))
		t->gone[REPLAY_CAUTIOUS] = t->gone[REPLAY_HOPEFUL] = 0;
	if (!k->mask && is_recorded(r, s->who))
		leave_shift(r, t, from_ns, s->end_ns);
	end_latency(t, k->mask, s->end_ns - from_ns);
}

/* It ends at a time that nothing here makes earlier. */
static void end_absolute(struct replay_thread *t, const struct replay_key *k, bool certain)
{
	for (enum replay_end e = 0; e < REPLAY_ENDS && (certain || e == REPLAY_CAUTIOUS); e++)
		for (unsigned i = 0; i < REPLAY_LANES; i++)
			if (!(k->mask & 1u << i))
				t->d.ns[e][i] = 0;
}

static bool is_sync(const struct replay *r, const struct replay_thread *t, size_t i)
{
	return i < t->th->log.v.n && replay_key_of(r, t->th->log.v.v[i].key)->act == REPLAY_SYNC;
}

/* What the segment does to the thread, whether it is in a call that waits for the device or not. */
static void end_state(struct replay *r, struct replay_thread *t, const struct segment *s,
		      const struct replay_key *k, int64_t from_ns)
{
	switch (s->state) {
	case SEGMENT_WAITING:
		end_wait(r, t, s, k, from_ns);
		return;
	case SEGMENT_RUNNABLE:
		end_runnable(r, t, s, k, from_ns);
		return;
	case SEGMENT_WAKE_UP:
		end_latency(t, k->mask, s->end_ns - from_ns);
		return;
	default:
		replay_remove(&t->d, k->mask, s->end_ns - from_ns);
	}
}

static void end_sync(struct replay *r, struct replay_thread *t, const struct segment *s,
		     const struct replay_key *k, int64_t from_ns)
{
	if (!t->sync.on) {
		t->sync = (struct replay_sync){ .on = true,
						.from_ns = from_ns,
						.device_ns = from_ns,
						.from = t->d,
						.device = t->d };
		if (k->submits)
			replay_device_submit(r, t, from_ns);
	}
	end_state(r, t, s, k, from_ns);
	replay_device_segment(t, s, from_ns, s->end_ns);
	if (!is_sync(r, t, t->at + 1))
		replay_device_return(r, t, s->end_ns);
}

static void end_segment(struct replay *r, struct replay_thread *t, const struct segment *s,
			const struct replay_key *k, int64_t from_ns)
{
	if (s->state < SEGMENT_THROTTLED || s->state > SEGMENT_RUNNABLE)
		t->gone[REPLAY_CAUTIOUS] = t->gone[REPLAY_HOPEFUL] = 0;
	switch (k->act) {
	case REPLAY_SUBMIT:
		replay_device_submit(r, t, from_ns);
		end_state(r, t, s, k, from_ns);
		break;
	case REPLAY_SYNC:
		end_sync(r, t, s, k, from_ns);
		break;
	case REPLAY_ASKED:
		end_state(r, t, s, k, from_ns);
		end_absolute(t, k, true);
		t->asked_ns = s->end_ns;
		break;
	case REPLAY_SLEEP:
		end_state(r, t, s, k, from_ns);
		if (k->pace != REPLAY_RELATIVE)
			end_absolute(t, k, k->pace == REPLAY_PACE);
		break;
	default:
		end_state(r, t, s, k, from_ns);
	}
}

/* It begins when who made it comes to that. */
static void begin_thread(struct replay *r, struct replay_thread *t)
{
	struct replay_thread *by = replay_thread_of(r, t->th->creator);

	t->begun = true;
	if (by && by != t) {
		t->d = shift_at(r, by, t->th->log.begin_ns);
		t->asked_ns = by->asked_ns; /* made for what that one was asked for */
	}
	pass_plain(r, t);
}

static void end_turn(struct replay *r, struct replay_thread *t)
{
	const struct segment_log *l = &t->th->log;
	const struct replay_key *k;
	struct segment s;
	int64_t from;

	if (!t->begun) {
		begin_thread(r, t);
		return;
	}
	t->busy = true;
	k = replay_key_of(r, l->v.v[t->at].key);
	s = *segment_log_what(l, t->at);
	s.end_ns = l->v.v[t->at].end_ns;
	from = segment_log_start(l, t->at);
	if (from < r->from_ns)
		from = r->from_ns;
	if (t->th->id == r->anchor)
		pass_bounds(r, t, s.end_ns - 1);
	if (k->on_cpu && k->mask)
		for (unsigned i = 0; i < REPLAY_LANES; i++)
			t->removed_ns[i] +=
				k->mask >> i & 1 ? (uint64_t)clip_whole(r, from, s.end_ns) : 0;
	end_segment(r, t, &s, k, from);
	if (k->act != REPLAY_SYNC && (k->mask || !segment_on_cpu(&s)))
		replay_device_lost(r, t, s.end_ns - from);
	t->at++;
	pass_plain(r, t);
	t->busy = false;
}

/* ---- a run ---- */

/* Behind all that was folded into checkpoints. */
static int64_t find_from(const struct path *p)
{
	int64_t from = INT64_MIN;

	for (size_t i = 0; i < p->threads.n; i++) {
		const struct segment_log *l = p->threads.v[i] ? &p->threads.v[i]->log : NULL;

		for (size_t k = 0; l && k < l->v.n && segment_log_is_mix(l, k); k++)
			if (l->v.v[k].end_ns > from)
				from = l->v.v[k].end_ns;
	}
	return from;
}

static bool add_thread(struct replay *r, struct path_thread *th)
{
	struct replay_thread t = { .th = th };

	if (!th || !th->log.begun || !replay_groups_has(r, r->anchor, th->id))
		return true;
	if (!vec_reach(&r->by_thread, th->id) || !vec_push(&r->threads, t))
		return false;
	r->by_thread.v[th->id] = (uint32_t)r->threads.n;
	return true;
}

static bool start_replay(struct replay *r)
{
	r->turns.n = r->threads.n = r->by_thread.n = 0;
	for (size_t i = 0; i < r->p->threads.n; i++)
		if (!add_thread(r, r->p->threads.v[i]))
			return false;
	for (size_t i = 0; i < r->threads.n; i++) {
		struct replay_thread *t = &r->threads.v[i];

		if (t->th->log.begin_ns < r->from_ns) {
			t->begun = true;
			t->at = segment_log_find(&t->th->log, r->from_ns);
			pass_plain(r, t);
		}
		if (!vec_push(&r->turns, (struct replay_turn){ next_ns(t), (uint32_t)i }))
			return false;
	}
	for (size_t i = r->turns.n / 2; i > 0; i--)
		sift_down(r, i - 1);
	return true;
}

static void take_turns(struct replay *r)
{
	while (r->turns.n && r->turns.v[0].ns < INT64_MAX && !r->nomem) {
		struct replay_turn *first = &r->turns.v[0];
		struct replay_thread *t = &r->threads.v[first->thread];

		if (next_ns(t) == first->ns)
			end_turn(r, t);
		first->ns = next_ns(t);
		sift_down(r, 0);
	}
}

/* What lies in the anchor's life of the spans, and behind from_ns. False: out of memory. */
static bool set_spans(struct replay *r, const struct segment_log *life,
		      const struct replay_span *spans, size_t n)
{
	int64_t least = life->begin_ns > r->from_ns ? life->begin_ns : r->from_ns,
		most = segment_log_end(life);

	r->bounds.n = r->bound = 0;
	r->out->is_all = true;
	for (size_t i = 0; i < n; i++) {
		int64_t from = spans[i].from_ns > least ? spans[i].from_ns : least,
			to = spans[i].to_ns < most ? spans[i].to_ns : most;

		r->out->is_all &= spans[i].from_ns >= r->from_ns;
		if (from < to && (!vec_push(&r->bounds, from) || !vec_push(&r->bounds, to)))
			return false;
	}
	r->whole_from_ns = r->bounds.n ? r->bounds.v[0] : INT64_MAX;
	r->whole_to_ns = r->bounds.n ? r->bounds.v[r->bounds.n - 1] : INT64_MIN;
	return true;
}

/* The cause's pieces of the anchor's path. */
static void sum_path(struct replay *r, struct path_thread *th)
{
	for (size_t i = 0; i + 1 < r->bounds.n; i++) {
		walk_life(r, th, r->bounds.v[i], r->bounds.v[i + 1]);
		for (unsigned k = 0; k < REPLAY_LANES; k++) {
			struct replay_gain *g = &r->out->lanes[k];

			g->whole_path_ns += r->removed_ns[k];
			g->spans_path_ns += i % 2 ? 0 : r->removed_ns[k];
		}
	}
}

/* Whether the path needs what the thread does: not only that it leaves a lock. */
static bool is_needed(const struct replay *r, const struct replay_thread *t)
{
	return t->th->id == r->anchor ||
	       (t->gives >= NEEDED_GIVES && path_is_partner(r->p, r->anchor, t->th->id));
}

/* Of the threads that the path needs, and of the anchor itself. */
static void find_busiest(struct replay *r)
{
	for (size_t i = 0; i < r->threads.n; i++) {
		const struct replay_thread *t = &r->threads.v[i];

		if (!is_needed(r, t))
			continue;
		for (unsigned k = 0; k < REPLAY_LANES; k++) {
			struct replay_gain *g = &r->out->lanes[k];
			uint64_t ns =
				t->cpu_ns > t->removed_ns[k] ? t->cpu_ns - t->removed_ns[k] : 0;

			g->busiest_ns = ns > g->busiest_ns ? ns : g->busiest_ns;
		}
	}
}

static size_t count_threads(const struct path *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->threads.n; i++)
		n += p->threads.v[i] && p->threads.v[i]->log.begun;
	return n;
}

bool replay_run(struct replay *r, uint32_t anchor, const struct replay_span *spans, size_t n,
		struct replay_gains *out)
{
	struct path_thread *th = path_thread_known(r->p, anchor);

	*out = (struct replay_gains){ .from_ns = r->from_ns };
	r->out = out;
	if (!th || !th->track || !th->log.begun || count_threads(r->p) > REPLAY_THREADS)
		return true;
	r->anchor = anchor;
	r->track = th->track - 1;
	for (size_t i = 0; i < r->devices.n; i++)
		if (r->devices.v[i])
			*r->devices.v[i] = (struct replay_device){ 0 };
	if (!r->ready && (!replay_keys_make(r) || !replay_groups_make(r)))
		return false;
	r->ready = true;
	if (!set_spans(r, &th->log, spans, n))
		return false;
	if (!r->bounds.n)
		return true;
	out->whole_ns = (uint64_t)(r->whole_to_ns - r->whole_from_ns);
	if (!start_replay(r))
		return false;
	take_turns(r);
	pass_bounds(r, replay_thread_of(r, anchor), INT64_MAX);
	sum_path(r, th);
	find_busiest(r);
	out->device_ns = replay_device_busy(r, th);
	return !r->nomem && !r->p->nomem;
}

struct replay *replay_new(struct path *p)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->listener.on_piece = on_piece;
	r->p = p;
	r->from_ns = find_from(p);
	return r;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->devices.n; i++)
		free(r->devices.v[i]);
	vec_free(&r->devices);
	vec_free(&r->submitters);
	vec_free(&r->groups);
	vec_free(&r->keys);
	vec_free(&r->sleeps);
	map_free(&r->sleeps_by);
	vec_free(&r->takers);
	vec_free(&r->threads);
	vec_free(&r->by_thread);
	vec_free(&r->turns);
	vec_free(&r->bounds);
	free(r);
}
