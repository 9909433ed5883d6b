/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks logs: a segment of an anchor that waited for another thread is replaced by that thread's
 * segments up to where it acted, and these in turn. A releaser is awake when it acts, so that each
 * level's window is shorter or ends earlier.
 */
#include "lib/path/path_walk.h"

#include "lib/base/compiler.h"
#include "lib/path/path_class.h"

struct window;

/* Where a walk stands: whose life, through how many threads, behind whose use of a CPU. */
struct walk {
	struct path *p;
	struct path_listener *listener;
	uint32_t track, occupant, via;
	enum segment_lock lock; /* this and the next two as of a piece */
	uint32_t waiter, holder;
	unsigned depth;
	unsigned generations; /* creators gone through for the thread at hand */
	bool late;	      /* resolve with what is known now: wait for no thread */
	/* The wait that led to the thread at hand, if it is for an answer over a socket, and where
	 * the walk stood then. */
	const struct walk *asker;
	const struct window *asked;
};

static void walk_thread(const struct walk *w, struct path_thread *th, int64_t from, int64_t to);

static void walk_life(const struct walk *w, struct path_thread *th, const struct window *win);

static void emit_piece(const struct walk *w, const struct path_thread *th, int64_t from, int64_t to,
		       const struct segment *s)
{
	struct path_piece piece = { .anchor = w->p->tracks.v[w->track].thread,
				    .thread = th->id,
				    .from_ns = from,
				    .to_ns = to,
				    .s = s,
				    .occupant = w->occupant,
				    .depth = w->depth,
				    .via = w->via,
				    .lock = w->lock,
				    .waiter = w->waiter,
				    .holder = w->holder };

	if (from < to)
		w->listener->on_piece(w->listener, &piece);
}

/* What the log of th says, where that is all there is to it. */
static inline void emit_plain(const struct walk *w, const struct path_thread *th, int64_t from,
			      int64_t to, uint32_t key)
{
	struct path_piece piece = { .anchor = w->p->tracks.v[w->track].thread,
				    .thread = th->id,
				    .from_ns = from,
				    .to_ns = to,
				    .s = &segment_key_get(&w->p->keys, key)->s,
				    .occupant = w->occupant,
				    .key = key,
				    .depth = w->depth,
				    .via = w->via,
				    .lock = w->lock,
				    .waiter = w->waiter,
				    .holder = w->holder };

	w->listener->on_piece(w->listener, &piece);
}

static void emit_state(const struct walk *w, const struct path_thread *th, int64_t from, int64_t to,
		       enum segment_state state)
{
	struct segment s = { .state = (uint8_t)state };

	emit_piece(w, th, from, to, &s);
}

/* As blocked on its object: of the thread that ended the wait, only its id is known. */
static void emit_blocked(const struct walk *w, const struct path_thread *th, int64_t from,
			 int64_t to, const struct segment *wait)
{
	struct segment s = *wait;

	s.state = SEGMENT_BLOCKED;
	s.flags &= (uint16_t)~SEGMENT_ACT_UNKNOWN;
	emit_piece(w, th, from, to, &s);
}

/* ---- pieces that wait for a thread ---- */

/* [from, to) of a segment of th that began at start_ns. */
struct window {
	struct path_thread *th;
	const struct segment *s;
	uint32_t key; /* of s */
	int64_t start_ns, from_ns, to_ns;
};

/* Through one wait more, which is the anchor's own if it is the first. */
static uint32_t via_wait(const struct walk *w, uint32_t key)
{
	return w->via ? w->via : key;
}

/* Goes through this wait: whether it is the first one for a lock of the anchor's process. */
static void pass_lock(struct walk *w, const struct window *win)
{
	uint32_t anchor = w->p->tracks.v[w->track].thread;
	enum segment_lock lock = segment_lock_of(win->s);

	if (w->lock || !lock)
		return;
	if (!w->via) {
		w->lock = lock;
	} else if (lock > SEGMENT_LOCK_MAYBE &&
		   world_thread_process_id(w->p->w, win->th->id) ==
			   world_thread_process_id(w->p->w, anchor)) {
		w->lock = lock;
		w->waiter = win->th->id;
	}
}

/* Behind a wait for a lock, through this wait: a thread that waits for that lock, too, does not
 * hold it. */
static uint32_t holder_behind(const struct walk *w, const struct window *win)
{
	return w->holder || !w->lock || win->s->flags & SEGMENT_EXCLUSION ? w->holder : win->th->id;
}

/* Whether `on` is known up to need_ns, or never will be; else the window waits for that. */
static bool wait_until_known(const struct walk *w, struct path_thread *on, const struct window *win,
			     int64_t need_ns)
{
	struct pending_piece piece = { .s = *win->s,
				       .key = win->key,
				       .start_ns = win->start_ns,
				       .from_ns = win->from_ns,
				       .to_ns = win->to_ns,
				       .need_ns = need_ns,
				       .expire_ns = w->p->now_ns + w->p->opt.patience_ns,
				       .track = w->track,
				       .thread = win->th->id,
				       .occupant = w->occupant,
				       .via = w->via,
				       .lock = w->lock,
				       .waiter = w->waiter,
				       .holder = w->holder,
				       .depth = w->depth };

	if (w->late || path_settled(w->p, on) >= need_ns)
		return true;
	if (!on->pending.n || need_ns < on->pending_ns)
		on->pending_ns = need_ns;
	if (!vec_push(&on->pending, piece)) {
		w->p->nomem = true;
		return true;
	}
	w->p->pending++;
	w->p->tracks.v[w->track].pending++;
	return false;
}

/* ---- waits ---- */

/* [win->from, win->to) lies before what is known of th. Where it did not exist yet, the path
 * goes through its creator. */
static void walk_before(const struct walk *w, const struct path_thread *th,
			const struct window *win)
{
	struct path_thread *creator = path_thread_known(w->p, th->creator);
	struct walk older = *w;

	older.generations++;
	/* Who made it is older, whatever a damaged recording says. */
	if (creator && creator != win->th && creator->log.begun &&
	    creator->log.begin_ns < th->log.begin_ns && older.generations < PATH_DEPTH) {
		if (wait_until_known(w, creator, win, win->to_ns))
			walk_life(&older, creator, win);
	} else if (losses_within(&w->p->losses, win->from_ns,
				 th->log.begun ? th->log.begin_ns : w->p->now_ns)) {
		emit_state(w, win->th, win->from_ns, win->to_ns, SEGMENT_UNKNOWN);
	} else {
		emit_blocked(w, win->th, win->from_ns, win->to_ns, win->s);
	}
}

static bool is_for_answer(const struct segment *wait)
{
	return (wait->object == OBJECT_SOCKET || wait->object == OBJECT_POLL) &&
	       (wait->flags & (SEGMENT_DEMAND | SEGMENT_REPLY)) == SEGMENT_REPLY;
}

/* Who is asked waits to be asked: what was sent, or the answer, is on its way. It is the asker's
 * wait, and nobody's idling. */
static bool walk_under_way(const struct walk *w, int64_t from, int64_t to, const struct segment *s)
{
	struct segment wait;

	if (!w->asked || s->state != SEGMENT_BLOCKED || path_class_of(s) != PATH_DEMAND)
		return false;
	wait = *w->asked->s;
	wait.who = 0;
	emit_blocked(w->asker, w->asked->th, from, to, &wait);
	return true;
}

/* What th did in [win->from, win->to), one thread further from the anchor. */
static void walk_life(const struct walk *w, struct path_thread *th, const struct window *win)
{
	struct walk deeper = *w;
	struct window part = *win;

	if (part.from_ns < th->log.begin_ns) {
		part.to_ns = win->to_ns < th->log.begin_ns ? win->to_ns : th->log.begin_ns;
		walk_before(w, th, &part);
		part.from_ns = part.to_ns;
	}
	if (part.from_ns >= win->to_ns)
		return;
	deeper.depth++;
	deeper.generations = 0;
	deeper.holder = holder_behind(w, win);
	pass_lock(&deeper, win);
	deeper.via = via_wait(w, win->key);
	deeper.asker = w;
	deeper.asked = is_for_answer(win->s) ? win : NULL;
	walk_thread(&deeper, th, part.from_ns, win->to_ns);
}

/* Where the wake-up arrived later than the releaser acted: it did not if it was asleep for long. */
int64_t path_walk_act(struct path_thread *releaser, const struct segment *wait, int64_t start_ns)
{
	int64_t arrived = wait->end_ns, slept;
	size_t i = segment_log_find(&releaser->log, arrived - 1);

	if (!(wait->flags & SEGMENT_ACT_UNKNOWN) || i == releaser->log.v.n ||
	    segment_log_is_mix(&releaser->log, i) ||
	    !segment_blocked(segment_log_what(&releaser->log, i)))
		return arrived;
	slept = segment_log_start(&releaser->log, i);
	return arrived - slept <= PATH_IN_FLIGHT_NS && slept > start_ns ? slept : INT64_MIN;
}

static void walk_wait(const struct walk *w, const struct window *win)
{
	struct path_thread *releaser = path_thread_known(w->p, win->s->who);
	struct window part = *win;
	int64_t act;

	if (!releaser) {
		emit_blocked(w, win->th, win->from_ns, win->to_ns, win->s);
		return;
	}
	if (w->depth + 1 >= PATH_DEPTH) {
		emit_state(w, win->th, win->from_ns, win->to_ns, SEGMENT_TOO_DEEP);
		return;
	}
	if (!wait_until_known(w, releaser, win, win->s->end_ns))
		return;
	if (!releaser->log.begun) {
		walk_before(w, releaser, win);
		return;
	}
	act = path_walk_act(releaser, win->s, win->start_ns);
	if (act == INT64_MIN) {
		emit_blocked(w, win->th, win->from_ns, win->to_ns, win->s);
		return;
	}
	emit_state(w, win->th, win->from_ns > act ? win->from_ns : act, win->to_ns,
		   SEGMENT_WAKE_UP);
	if (act < part.to_ns)
		part.to_ns = act;
	if (part.from_ns < part.to_ns)
		walk_life(w, releaser, &part);
}

/* ---- CPUs ---- */

/* Runnable while another thread had the CPU. If that one is recorded, the path goes through it,
 * marked as its occupancy: whether the path needs it is known at the end only. */
static void walk_occupied(const struct walk *w, const struct window *win)
{
	struct path_thread *occupant = path_thread_known(w->p, win->s->who);
	struct walk behind = *w;

	if (!occupant || w->occupant || w->depth + 1 >= PATH_DEPTH) {
		emit_piece(w, win->th, win->from_ns, win->to_ns, win->s);
		return;
	}
	if (!wait_until_known(w, occupant, win, win->to_ns))
		return;
	if (!occupant->log.begun || occupant->log.begin_ns > win->from_ns || occupant->outside) {
		emit_piece(w, win->th, win->from_ns, win->to_ns, win->s);
		return;
	}
	behind.occupant = occupant->id;
	behind.depth++;
	behind.asked = NULL;
	behind.via = via_wait(w, win->key);
	walk_thread(&behind, occupant, win->from_ns, win->to_ns);
}

/* ---- logs ---- */

/* A part of a checkpoint: when it was is not known any more, so that no other log is consulted. */
struct mixed {
	const struct walk *w;
	const struct path_thread *th;
};

static void emit_mixed(void *ctx, int64_t from, int64_t to, uint32_t key)
{
	const struct mixed *m = ctx;
	const struct segment *s = &segment_key_get(&m->w->p->keys, key)->s;
	struct segment rough = *s;
	struct walk behind = *m->w;

	rough.flags |= SEGMENT_ROUGH;
	if (s->state == SEGMENT_WAITING)
		emit_blocked(m->w, m->th, from, to, &rough);
	else if (s->state == SEGMENT_RUNNABLE && !behind.occupant &&
		 path_thread_known(behind.p, s->who)) {
		/* What it did is lost, but whether the path needs it still counts. */
		behind.occupant = s->who;
		behind.depth++;
		behind.via = via_wait(m->w, key);
		rough = (struct segment){ .state = SEGMENT_OWN, .flags = SEGMENT_ROUGH };
		emit_piece(&behind, path_thread_known(behind.p, s->who), from, to, &rough);
	} else if (!walk_under_way(m->w, from, to, &rough)) {
		emit_piece(m->w, m->th, from, to, &rough);
	}
}

static void walk_mixed(const struct walk *w, const struct path_thread *th, size_t i, int64_t from,
		       int64_t to)
{
	struct mixed m = { w, th };
	uint32_t number = th->log.v.v[i].key & ~SEGMENT_KEY_KIND;

	mixes_cut(&w->p->mixes, number, segment_log_start(&th->log, i), th->log.v.v[i].end_ns, from,
		  to, emit_mixed, &m);
}

static void walk_segment(const struct walk *w, const struct window *win)
{
	switch (win->s->state) {
	case SEGMENT_WAITING:
		walk_wait(w, win);
		break;
	case SEGMENT_RUNNABLE:
		walk_occupied(w, win);
		break;
	default:
		emit_piece(w, win->th, win->from_ns, win->to_ns, win->s);
	}
}

/* Of the i-th segment of th, which needs another thread. */
NOINLINE static void walk_other(const struct walk *w, struct path_thread *th, size_t i,
				int64_t from, int64_t to)
{
	struct segment s = *segment_log_what(&th->log, i);
	struct window win = { .th = th,
			      .s = &s,
			      .key = th->log.v.v[i].key,
			      .start_ns = segment_log_start(&th->log, i),
			      .from_ns = from,
			      .to_ns = to };

	s.end_ns = th->log.v.v[i].end_ns;
	walk_segment(w, &win);
}

/* Segments of the anchor's own from the i-th on, as many as end by then: up to where they end. */
static int64_t walk_own(const struct walk *w, const struct path_thread *th, size_t *i, int64_t from,
			int64_t to)
{
	const struct segment_entry *v = th->log.v.v;
	size_t first = *i, last = first;

	while (last < th->log.v.n && v[last].key < SEGMENT_KEY_WAITING && v[last].end_ns <= to)
		last++;
	if (last == first)
		return from;
	w->listener->on_own(w->listener, th->id, from, v + first, last - first);
	*i = last;
	return v[last - 1].end_ns;
}

/* [from, to) of a thread whose log has begun by then. Behind its end the thread is on its CPU,
 * as far as is known. */
static void walk_thread(const struct walk *w, struct path_thread *th, int64_t from, int64_t to)
{
	bool own = w->listener->on_own && w->depth == 0 && !w->occupant;
	size_t i = segment_log_find(&th->log, from);

	for (; i < th->log.v.n && from < to; i++) {
		struct segment_entry entry;
		int64_t until;

		if (own)
			from = walk_own(w, th, &i, from, to);
		if (i == th->log.v.n || from >= to)
			break;
		entry = th->log.v.v[i];
		until = to < entry.end_ns ? to : entry.end_ns;
		if (entry.key < SEGMENT_KEY_WAITING) {
			if (!walk_under_way(w, from, until,
					    &segment_key_get(&w->p->keys, entry.key)->s))
				emit_plain(w, th, from, until, entry.key);
		} else if (entry.key < SEGMENT_KEY_MIXED)
			walk_other(w, th, i, from, until);
		else
			walk_mixed(w, th, i, from, until);
		from = until;
	}
	if (from < to)
		emit_state(w, th, from, to,
			   losses_within(&w->p->losses, from, to) ? SEGMENT_UNKNOWN : SEGMENT_OWN);
}

void path_walk_track(struct path *p, struct path_track *track)
{
	struct path_thread *th = path_thread_known(p, track->thread);
	struct walk w = { .p = p,
			  .listener = p->listener,
			  .track = (uint32_t)(track - p->tracks.v),
			  .late = p->finished };
	int64_t to = th && th->log.begun ? segment_log_end(&th->log) : INT64_MIN, from;

	if (!th) /* it was forgotten, and walked before */
		return;
	/* Whole segments, so that no piece is cut where the walk happened to stop. */
	if (to > path_settled(p, th))
		to = segment_log_start(&th->log, segment_log_find(&th->log, path_settled(p, th)));
	th->walk_at = th->log.v.n + PATH_WALK_SEGMENTS;
	if (!th->log.begun || to <= th->log.begin_ns)
		return;
	if (!track->begun) {
		track->begun = true;
		track->begin_ns = track->resolved_ns = th->log.begin_ns;
	}
	from = track->resolved_ns;
	if (to <= from)
		return;
	track->resolved_ns = to;
	walk_thread(&w, th, from, to);
}

/* What waited is asked once more. */
static void resume_piece(struct path *p, const struct pending_piece *piece, bool late)
{
	struct walk w = { .p = p,
			  .listener = p->listener,
			  .track = piece->track,
			  .occupant = piece->occupant,
			  .via = piece->via,
			  .lock = piece->lock,
			  .waiter = piece->waiter,
			  .holder = piece->holder,
			  .depth = piece->depth,
			  .late = late };
	struct window win = { .th = path_thread_known(p, piece->thread),
			      .s = &piece->s,
			      .key = piece->key,
			      .start_ns = piece->start_ns,
			      .from_ns = piece->from_ns,
			      .to_ns = piece->to_ns };

	walk_segment(&w, &win);
}

/* Takes the pieces out of th that are known by now, or expired, and resumes them. */
static void resume_some(struct path *p, struct path_thread *th, int64_t settled_ns, bool expired)
{
	size_t keep = 0, n = th->pending.n;
	int64_t least = INT64_MAX;

	p->ready.n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct pending_piece piece = th->pending.v[i];

		if (piece.need_ns <= settled_ns || (expired && piece.expire_ns <= p->now_ns)) {
			p->tracks.v[piece.track].pending--;
			if (!vec_push(&p->ready, piece))
				p->nomem = true;
			continue;
		}
		if (piece.need_ns < least)
			least = piece.need_ns;
		th->pending.v[keep++] = piece;
	}
	th->pending.n = keep;
	th->pending_ns = least;
	p->pending -= n - keep;
	/* What is resumed may wait for another thread, never for this one's same time. */
	for (size_t i = 0; i < p->ready.n; i++) {
		struct pending_piece piece = p->ready.v[i];

		resume_piece(p, &piece, p->finished || piece.need_ns > settled_ns);
	}
}

void path_walk_pending(struct path *p, struct path_thread *th)
{
	int64_t settled = path_settled(p, th);

	if (th->pending.n && th->pending_ns <= settled)
		resume_some(p, th, settled, false);
}

void path_walk_expired(struct path *p)
{
	for (size_t i = 0; i < p->threads.n && p->pending; i++) {
		struct path_thread *th = p->threads.v[i];

		if (th && th->pending.n)
			resume_some(p, th, path_settled(p, th), true);
	}
}

/* The track of an anchor whose life has begun; NULL: there is none. */
static const struct path_track *track_of(const struct path *p, uint32_t anchor)
{
	const struct path_thread *th = path_thread_known(p, anchor);
	const struct path_track *track = th && th->track ? &p->tracks.v[th->track - 1] : NULL;

	return track && track->begun ? track : NULL;
}

int64_t path_known_ns(const struct path *p, uint32_t anchor)
{
	const struct path_track *track = track_of(p, anchor);
	const struct path_thread *own = path_thread_known(p, anchor);
	int64_t known = track ? track->resolved_ns : INT64_MIN;

	/* Behind its end there is nothing to come. */
	if (track && own->exited && known == segment_log_end(&own->log))
		known = INT64_MAX;
	if (!track || !track->pending)
		return known;
	for (size_t i = 0; i < p->threads.n; i++) {
		const struct path_thread *th = p->threads.v[i];

		for (size_t k = 0; th && k < th->pending.n; k++) {
			const struct pending_piece *piece = &th->pending.v[k];

			if (&p->tracks.v[piece->track] == track && piece->from_ns < known)
				known = piece->from_ns;
		}
	}
	return known;
}

void path_walk_life(struct path *p, uint32_t track, struct path_thread *th, int64_t from_ns,
		    int64_t to_ns, struct path_listener *listener)
{
	struct walk w = { .p = p, .listener = listener, .track = track, .late = true };

	if (from_ns < to_ns)
		walk_thread(&w, th, from_ns, to_ns);
}

int path_window(struct path *p, uint32_t anchor, int64_t from_ns, int64_t to_ns,
		struct path_listener *listener, struct err *e)
{
	const struct path_track *track = track_of(p, anchor);
	struct walk w = { .p = p, .listener = listener, .late = true };
	int64_t known = path_known_ns(p, anchor);

	if (!track)
		return 0;
	w.track = (uint32_t)(track - p->tracks.v);
	from_ns = from_ns > track->begin_ns ? from_ns : track->begin_ns;
	known = known < track->resolved_ns ? known : track->resolved_ns;
	to_ns = to_ns < known ? to_ns : known;
	if (from_ns < to_ns)
		walk_thread(&w, path_thread_known(p, anchor), from_ns, to_ns);
	return p->nomem ? err_nomem(e) : 0;
}
