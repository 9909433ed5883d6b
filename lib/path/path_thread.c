/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the log of a thread's segments from its events. What happens inside calls is kept aside
 * until the outermost one returns; then all of it is known and moves to the log. What no event
 * covers was spent on a CPU, unless events were lost there: then it is unknown from one certain
 * boundary to the next.
 */
#include "lib/path/path_thread.h"

#include "lib/path/killed.h"

#include <string.h>

#define TAIL_SMALL 8	   /* parts that are not worth their memory while there are none */
#define TAIL_MAX   1048576 /* of one call, before it counts as one that never returns: 32 MiB */

void path_thread_free(struct path_thread *th)
{
	segment_log_free(&th->log);
	vec_free(&th->tail);
	vec_free(&th->pending);
	free(th->moves);
}

/* What is on a CPU in [from, to): unknown where events were lost. */
static struct segment make_on_cpu(const struct losses *losses, int64_t from_ns, int64_t to_ns,
				  const struct segment *as)
{
	struct segment s = *as;

	if (losses_within(losses, from_ns, to_ns))
		s = (struct segment){ .state = SEGMENT_UNKNOWN };
	s.end_ns = to_ns;
	return s;
}

/* On the CPU from where the log ends to to_ns. */
static bool push_on_cpu(struct path_thread *th, const struct losses *losses, int64_t to_ns,
			const struct segment *as)
{
	int64_t from = segment_log_end(&th->log);
	struct segment s;

	if (from >= to_ns)
		return true;
	s = make_on_cpu(losses, from, to_ns, as);
	return segment_log_push(&th->log, &s);
}

/* Behind a call or a wait, no preemption since: the edges of such a stretch are known by it. */
static bool has_edges(const struct path_thread *th)
{
	return th->log.keys->edges->half_ns && th->own &&
	       !(segment_key_get(th->log.keys, th->own)->s.flags & SEGMENT_SAMPLED);
}

/* As what a sample found in that edge another time; else the time is left. */
static bool push_edge(struct path_thread *th, const struct losses *losses, int64_t to_ns,
		      enum sampled_edge edge)
{
	struct segment s = { .line = sampled_edges_get(th->log.keys->edges, edge, th->own),
			     .who = path_thread_before(th),
			     .state = SEGMENT_OWN,
			     .flags = SEGMENT_SAMPLED };

	return !s.line || push_on_cpu(th, losses, to_ns, &s);
}

/* Up to a sample at at_ns, which is to follow: what is not its own. */
static bool push_before_sample(struct path_thread *th, const struct losses *losses, int64_t at_ns,
			       uint32_t line, bool in_call)
{
	int64_t from = segment_log_end(&th->log), half = th->log.keys->edges->half_ns;
	struct segment own = path_thread_own(th);

	if (!half || from >= at_ns)
		return true;
	if (path_thread_is_sampled(th)) /* the other half is the newest sample's */
		return push_on_cpu(th, losses, from + (at_ns - from) / 2, &own);
	if (!has_edges(th))
		return true;
	if (at_ns - from > half)
		return push_edge(th, losses, at_ns - half, EDGE_BEGIN);
	return in_call || sampled_edges_note(th->log.keys->edges, EDGE_BEGIN, th->own, line, at_ns,
					     at_ns - from);
}

/* Behind the newest sample up to an event at to_ns: what is still its own, and the edge. */
static bool push_behind_sample(struct path_thread *th, const struct losses *losses, int64_t to_ns)
{
	int64_t from = segment_log_end(&th->log), half = th->log.keys->edges->half_ns;
	struct segment own = path_thread_own(th);

	if (to_ns - from <= half)
		return th->sampled.op ||
		       sampled_edges_note(th->log.keys->edges, EDGE_END, th->own, th->sample, from,
					  to_ns - from);
	if (!sampled_edges_get(th->log.keys->edges, EDGE_END, th->own))
		return true;
	return push_on_cpu(th, losses, from + half, &own) &&
	       push_edge(th, losses, to_ns, EDGE_END);
}

/* A call or a wait that begins ends a stretch of own code. */
static bool end_stretch(struct path_thread *th, const struct losses *losses, int64_t to_ns)
{
	return !th->sample || !has_edges(th) || to_ns <= segment_log_end(&th->log) ||
	       push_behind_sample(th, losses, to_ns);
}

/* In its own code from where the log ends to to_ns. */
static bool push_own(struct path_thread *th, const struct losses *losses, int64_t to_ns)
{
	struct segment own = path_thread_own(th);

	segment_log_begin(&th->log, to_ns);
	th->sample = 0;
	return push_on_cpu(th, losses, to_ns, &own);
}

/* The first n parts inside calls move to the log, with as between them. */
static bool move_tail(struct path_thread *th, const struct losses *losses, size_t n,
		      const struct segment *as)
{
	for (size_t i = 0; i < n; i++) {
		struct tail_part *part = &th->tail.v[i];

		if (!push_on_cpu(th, losses, part->start_ns, as) ||
		    !segment_log_push(&th->log, &part->s))
			return false;
	}
	th->tail.n -= n;
	if (th->tail.n)
		memmove(th->tail.v, th->tail.v + n, th->tail.n * sizeof(th->tail.v[0]));
	else if (th->tail.cap <= TAIL_SMALL) /* most threads have few, seldom */
		vec_free(&th->tail);
	return true;
}

/* Calls around the tail that never returned: what lies between its parts is own code as far as
 * is known. */
static bool move_orphans(struct path_thread *th, const struct losses *losses, int64_t before_ns)
{
	struct segment own = path_thread_own(th);
	size_t n = 0;

	while (n < th->tail.n && th->tail.v[n].start_ns < before_ns)
		n++;
	if (n == 0)
		return true;
	segment_log_begin(&th->log, th->tail.v[0].start_ns);
	return move_tail(th, losses, n, &own);
}

int64_t path_thread_end(const struct path_thread *th)
{
	if (th->tail.n)
		return th->tail.v[th->tail.n - 1].s.end_ns;
	return th->log.begun ? segment_log_end(&th->log) : INT64_MIN;
}

static bool tail_add(struct path_thread *th, int64_t start_ns, const struct segment *s)
{
	int64_t from = path_thread_end(th);

	if (from < start_ns)
		from = start_ns;
	if (s->end_ns <= from)
		return true;
	return vec_push(&th->tail, (struct tail_part){ from, *s });
}

uint32_t path_thread_line(const struct path_thread *th)
{
	if (th->sample)
		return th->sample;
	return th->own ? segment_key_get(th->log.keys, th->own)->s.line : 0;
}

bool path_thread_is_sampled(const struct path_thread *th)
{
	return th->sample ||
	       (th->own && segment_key_get(th->log.keys, th->own)->s.flags & SEGMENT_SAMPLED);
}

/* Behind a wait the thread goes on where it waited; behind what took its CPU where a sample found
 * it. */
static bool keep_place(struct path_thread *th, uint32_t sample, const struct segment *s, size_t n)
{
	struct segment own = { .line = sample,
			       .who = sample ? path_thread_before(th) : 0,
			       .state = SEGMENT_OWN,
			       .flags = SEGMENT_SAMPLED };

	for (size_t i = 0; i < n; i++) {
		if (segment_blocked(&s[i]) && s[i].line) {
			own.line = s[i].line;
			own.op = s[i].op;
			own.flags = 0;
			own.who = 0;
		}
	}
	if (!own.line)
		return true;
	th->own = segment_key(th->log.keys, th->id, &own);
	return th->own != 0;
}

bool path_thread_add(struct path_thread *th, const struct losses *losses, unsigned depth,
		     int64_t start_ns, const struct segment *s, size_t n)
{
	uint32_t sample = th->sample;

	if (depth == 0) {
		if (!move_orphans(th, losses, start_ns) ||
		    (n && segment_blocked(&s[0]) && !end_stretch(th, losses, start_ns)) ||
		    !push_own(th, losses, start_ns))
			return false;
		for (size_t i = 0; i < n; i++) {
			if (!segment_log_push(&th->log, &s[i]))
				return false;
		}
		return keep_place(th, sample, s, n);
	}
	if (th->tail.n + n > TAIL_MAX && !move_orphans(th, losses, INT64_MAX))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!tail_add(th, start_ns, &s[i]))
			return false;
		start_ns = s[i].end_ns;
	}
	return true;
}

/* The time between parts of the tail in [start, end) becomes part of it, as `as`. */
static bool tail_fill(struct path_thread *th, const struct losses *losses, int64_t start_ns,
		      int64_t end_ns, const struct segment *as)
{
	size_t first = th->tail.n, old = th->tail.n, room, put;
	struct tail_part *v;
	int64_t end = end_ns;

	while (first && th->tail.v[first - 1].s.end_ns > start_ns)
		first--;
	/* A gap before each of them, and behind the last: filled from the end, so that none is
	 * written over. */
	room = old - first + 1;
	if (!vec_reserve(&th->tail, room))
		return false;
	v = th->tail.v;
	put = old + room;
	for (size_t i = old; i > first; i--) {
		struct tail_part part = v[i - 1];

		if (part.s.end_ns < end)
			v[--put] =
				(struct tail_part){ part.s.end_ns,
						    make_on_cpu(losses, part.s.end_ns, end, as) };
		v[--put] = part;
		end = part.start_ns;
	}
	if (!first && th->log.begun && start_ns < segment_log_end(&th->log))
		start_ns = segment_log_end(&th->log);
	if (start_ns < end)
		v[--put] = (struct tail_part){ start_ns, make_on_cpu(losses, start_ns, end, as) };
	memmove(&v[first], &v[put], (old + room - put) * sizeof(*v));
	th->tail.n = first + old + room - put;
	return true;
}

static bool inner_call(struct path_thread *th, const struct losses *losses,
		       const struct path_call *c)
{
	const struct segment sync = { .state = SEGMENT_SYNC, .flags = SEGMENT_IN_SYNC };

	/* What is inside the outermost call counts as that, however deep. */
	if (!c->sync)
		return true;
	if (th->tail.n >= TAIL_MAX)
		return true;
	for (size_t i = th->tail.n; i && th->tail.v[i - 1].s.end_ns > c->start_ns; i--)
		th->tail.v[i - 1].s.flags |= SEGMENT_IN_SYNC;
	return tail_fill(th, losses, c->start_ns, c->end_ns, &sync);
}

bool path_thread_call(struct path_thread *th, const struct losses *losses,
		      const struct path_call *c)
{
	struct segment in = { .line = c->line, .op = c->op, .state = SEGMENT_CALL };
	const struct segment_call *keys;

	if (c->depth)
		return inner_call(th, losses, c);
	if (c->sync) {
		in.state = SEGMENT_SYNC;
		in.flags = SEGMENT_IN_SYNC;
	}
	if (!move_orphans(th, losses, c->start_ns) || !end_stretch(th, losses, c->start_ns) ||
	    !push_own(th, losses, c->start_ns))
		return false;
	for (size_t i = 0; i < th->tail.n; i++) {
		struct segment *s = &th->tail.v[i].s;

		s->op = c->op;
		s->flags |= in.flags & SEGMENT_IN_SYNC;
		if (!s->line ||
		    (c->line && (s->state == SEGMENT_SYNC || s->state == SEGMENT_RUNNABLE ||
				 s->state == SEGMENT_THROTTLED)))
			s->line = c->line;
	}
	if (th->tail.n && !move_tail(th, losses, th->tail.n, &in))
		return false;
	keys = segment_call(th->log.keys, th->id, &in, c->site);
	if (!keys)
		return false;
	th->own = keys->after;
	return push_on_cpu(th, losses, c->end_ns, &in);
}

bool path_thread_section(struct path_thread *th, const struct losses *losses, unsigned depth,
			 int64_t start_ns, int64_t reach_ns, const struct segment *s,
			 uint16_t blocked)
{
	int64_t from = start_ns > reach_ns ? start_ns : reach_ns;

	for (size_t i = th->tail.n; depth && i && th->tail.v[i - 1].s.end_ns > start_ns; i--)
		segment_mark_memory(&th->tail.v[i - 1].s, blocked);
	if (depth)
		return tail_fill(th, losses, start_ns, s->end_ns, s);
	if (!move_orphans(th, losses, s->end_ns) || !push_own(th, losses, start_ns))
		return false;
	if (from < segment_log_end(&th->log) &&
	    !segment_log_restate(&th->log, from, s->end_ns, s, blocked))
		return false;
	return push_on_cpu(th, losses, s->end_ns, s);
}

bool path_thread_sample(struct path_thread *th, const struct losses *losses, int64_t at_ns,
			uint32_t line, const struct stack_call *in)
{
	if (!move_orphans(th, losses, at_ns) ||
	    (th->log.begun && !push_before_sample(th, losses, at_ns, line, in->op)))
		return false;
	th->sample = line;
	th->sampled = *in;
	if (!push_own(th, losses, at_ns))
		return false;
	th->sample = line;
	return true;
}

/* What waits are restated as that ran into their time-out. */
struct restated {
	enum segment_state state;
	uint32_t who;
	uint16_t flags; /* more of them */
	bool again;	/* these were restated before: they get the flags, and who, if any */
};

#define RAN_OUT (SEGMENT_TIMED | SEGMENT_RAN_OUT)

static void mark_wait(struct segment *s, uint16_t flags, uint32_t who)
{
	s->flags |= flags;
	if (!who || s->state != SEGMENT_BLOCKED)
		return;
	s->state = SEGMENT_WAITING;
	s->who = who;
}

static bool restate_wait(struct segment *s, const struct restated *as)
{
	if (!segment_blocked(s) || !(s->flags & (as->again ? SEGMENT_RETRIED : RAN_OUT)))
		return false;
	if (as->again) {
		mark_wait(s, as->flags, as->who);
		return true;
	}
	s->flags |= as->flags;
	s->flags &= (uint16_t)~RAN_OUT;
	s->flags |= SEGMENT_RETRIED;
	s->state = (uint8_t)as->state;
	s->who = as->who;
	return true;
}

/* Those that began since then. */
static bool restate_waits(struct path_thread *th, int64_t since_ns, const struct restated *as)
{
	for (size_t i = th->log.v.n; i && segment_log_start(&th->log, i - 1) >= since_ns; i--) {
		struct segment s;

		if (segment_log_is_mix(&th->log, i - 1))
			continue;
		s = *segment_log_what(&th->log, i - 1);
		if (!restate_wait(&s, as))
			continue;
		th->log.v.v[i - 1].key = segment_key(th->log.keys, th->id, &s);
		if (!th->log.v.v[i - 1].key)
			return false;
	}
	for (size_t i = th->tail.n; i && th->tail.v[i - 1].start_ns >= since_ns; i--)
		restate_wait(&th->tail.v[i - 1].s, as);
	return true;
}

bool path_thread_restate_timed(struct path_thread *th, int64_t since_ns, enum segment_state state,
			       uint32_t who, uint16_t flags)
{
	return restate_waits(th, since_ns,
			     &(const struct restated){ state, who, flags, .again = false });
}

bool path_thread_mark_retried(struct path_thread *th, uint16_t flags, uint32_t who)
{
	return restate_waits(th, th->timed.start_ns,
			     &(const struct restated){ .who = who, .flags = flags, .again = true });
}

/* Waits are long past where so many segments are behind them. */
#define FLAG_BACK 64

/* Whether the segment is the wait that began then, or (since_ns INT64_MIN) one for several
 * descriptors. */
static bool is_wait(const struct segment *s, int64_t start_ns, int64_t since_ns)
{
	if (!segment_blocked(s))
		return false;
	return since_ns == INT64_MIN ? s->object == OBJECT_POLL : start_ns == since_ns;
}

bool path_thread_mark_wait(struct path_thread *th, int64_t since_ns, uint16_t flags, uint32_t who,
			   bool *done)
{
	*done = true;
	for (size_t i = th->tail.n; i && th->tail.n - i < FLAG_BACK; i--) {
		struct tail_part *part = &th->tail.v[i - 1];

		if (is_wait(&part->s, part->start_ns, since_ns)) {
			mark_wait(&part->s, flags, who);
			return true;
		}
	}
	for (size_t i = th->log.v.n; i && th->log.v.n - i < FLAG_BACK; i--) {
		struct segment s;

		if (segment_log_is_mix(&th->log, i - 1))
			break;
		s = *segment_log_what(&th->log, i - 1);
		if (!is_wait(&s, segment_log_start(&th->log, i - 1), since_ns))
			continue;
		mark_wait(&s, flags, who);
		th->log.v.v[i - 1].key = segment_key(th->log.keys, th->id, &s);
		return th->log.v.v[i - 1].key != 0;
	}
	*done = false;
	return true;
}

bool path_thread_goes_on(struct path_thread *th, uint32_t stack)
{
	uint32_t from = th->awaits;

	th->awaits = 0;
	for (size_t i = th->log.v.n; i && th->log.v.n - i < FLAG_BACK; i--) {
		struct segment s;

		if (segment_log_is_mix(&th->log, i - 1) ||
		    segment_log_start(&th->log, i - 1) < th->awaits_ns)
			break;
		s = *segment_log_what(&th->log, i - 1);
		if (s.line != from || s.state == SEGMENT_UNENDED || s.state == SEGMENT_OWN)
			continue;
		s.line = stack;
		th->log.v.v[i - 1].key = segment_key(th->log.keys, th->id, &s);
		if (!th->log.v.v[i - 1].key)
			return false;
	}
	return true;
}

#define DYING_SEGMENTS 64

bool path_thread_killed(struct path_thread *th)
{
	int64_t dying = 0;

	for (size_t i = th->log.v.n; i && th->log.v.n - i < DYING_SEGMENTS; i--) {
		struct segment s;

		if (segment_log_is_mix(&th->log, i - 1))
			return true;
		s = *segment_log_what(&th->log, i - 1);
		if (s.state == SEGMENT_WAITING || s.state == SEGMENT_BLOCKED) {
			s.state = SEGMENT_UNENDED;
			s.who = 0;
			th->log.v.v[i - 1].key = segment_key(th->log.keys, th->id, &s);
			return th->log.v.v[i - 1].key != 0;
		}
		if (!segment_on_cpu(&s))
			continue;
		dying += th->log.v.v[i - 1].end_ns - segment_log_start(&th->log, i - 1);
		if (dying > KILLED_DYING_NS)
			return true;
	}
	return true;
}

bool path_thread_until(struct path_thread *th, const struct losses *losses, int64_t to_ns)
{
	return move_orphans(th, losses, INT64_MAX) && push_own(th, losses, to_ns);
}
