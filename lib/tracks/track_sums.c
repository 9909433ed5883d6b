/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums time on a critical path by all that makes its pieces alike, in a hash table with chains. A
 * few thousand different keys are met again and again.
 */
#include "lib/tracks/track_sums.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/compiler.h"
#include "lib/event/op.h"
#include "lib/world/event_loop.h"
#include "lib/world/who.h"

#define MAX_NUMBER ((1u << 28) - 1) /* of the first one */

static struct track_key key_of(const struct path_piece *p)
{
	return (struct track_key){ .thread = p->thread,
				   .occupant = p->occupant,
				   .who = p->s->who,
				   .line = p->s->line,
				   .via = p->via,
				   .holder = p->waiter ? p->waiter : p->holder,
				   .lock = (p->lock + (p->waiter ? TRACK_LOCK_WAITER : 0u)) & 7,
				   .op = p->s->op,
				   .state = p->s->state,
				   .object = p->s->object & 31,
				   .flags = p->s->flags,
				   .syscall = p->s->syscall };
}

/* Own code goes from line to line: of it the function is the place, of all else the line. */
static uint64_t place_of(struct track_names *names, const struct track_key *k)
{
	uint32_t frame = k->line ? site_frames_get(&names->frames, names->w, k->line) : 0;
	const struct world_frame *f = frame ? world_get_frame(names->w, frame) : NULL;
	struct {
		uint32_t thread, who, via, holder, name, file, frame;
		uint16_t op, state;
	} of = { .thread = k->thread,
		 .via = k->via,
		 .holder = k->holder,
		 .state = k->state };

	if (k->state != SEGMENT_OWN) {
		of.who = k->who;
		of.op = k->op;
		of.frame = frame;
	} else if (f) {
		of.name = f->name;
		of.file = f->file;
	}
	return hash_bytes(&of, sizeof(of), 0) | 1;
}

static bool is_waiting(const struct track_key *k)
{
	return k->occupant || (k->state >= SEGMENT_STOLEN && k->state <= SEGMENT_RUNNABLE);
}

/* The number of the first sum that the anchor's wait is of; one that is made becomes it if there is
 * none. 0: out of memory. */
static uint32_t find_first(struct track_sums *s, uint32_t via, uint32_t fresh)
{
	const struct track_key key = { .via = via };
	uint64_t hash = hash_bytes(&key, sizeof(key), 1), number = fresh;

	if (!map_get(&s->by_hash, hash, &number) && !map_put(&s->by_hash, hash, fresh))
		return 0;
	return (uint32_t)number;
}

/* The number of the key, made if there is none and there are fewer than max. 0: neither. */
static uint32_t find_number(struct track_sums *s, struct track_names *names,
			    const struct track_key *key, size_t max)
{
	bool own = !key->via && key->state == SEGMENT_OWN,
	     call = !key->via && (key->state == SEGMENT_CALL || key->state == SEGMENT_SYNC);
	struct track_sum fresh = {
		.key = *key, .awaits = is_waiting(key), .own = own, .works = own || call
	};
	uint64_t hash = hash_bytes(key, sizeof(*key), 0), first = 0;

	map_get(&s->by_hash, hash, &first);
	for (uint64_t at = first; at; at = s->v.v[at - 1].next)
		if (memcmp(&s->v.v[at - 1].key, key, sizeof(*key)) == 0)
			return (uint32_t)at;
	fresh.next = (uint32_t)first;
	if (key->via) {
		fresh.first = find_first(s, key->via, (uint32_t)s->v.n + 1) & MAX_NUMBER;
		if (!fresh.first)
			return 0;
	}
	fresh.place = place_of(names, key);
	if (s->v.n >= max || !vec_push(&s->v, fresh))
		return 0;
	if (map_put(&s->by_hash, hash, s->v.n))
		return (uint32_t)s->v.n;
	s->v.n--;
	return 0;
}

/* The first thread of those that are like this one (lib/path/path_culprits.h). */
static uint32_t find_first_alike(struct track_names *names, uint32_t thread)
{
	uint32_t id = thread ? path_culprit_of(&names->culprits, thread) : 0;

	return id ? path_culprit_get(&names->culprits, id)->members[0] : thread;
}

/* Makes keys alike that differ in lines, or in which of several like threads it was: a shell that
 * starts programs one after the other waits for as many threads. */
static void coarsen_key(struct track_names *names, struct track_key *k, uint32_t anchor)
{
	bool who_is_thread = k->state == SEGMENT_WAITING || k->state == SEGMENT_RUNNABLE ||
			     (k->state == SEGMENT_BLOCKED && k->object != OBJECT_DISK);

	k->line = k->via = k->holder = k->lock = 0;
	k->op = 0;
	k->who = k->state == SEGMENT_OWN ? 0
		 : who_is_thread	 ? find_first_alike(names, k->who)
					 : k->who;
	k->occupant = find_first_alike(names, k->occupant);
	if (k->thread != anchor)
		k->thread = find_first_alike(names, k->thread);
	k->flags &= (uint16_t)~SEGMENT_SAMPLED;
}

uint32_t track_sums_number(struct track_sums *s, struct track_names *names,
			   const struct path_piece *p)
{
	struct track_key key = key_of(p);
	uint32_t number = find_number(s, names, &key, TRACK_SUMS_MAX);

	if (number)
		return number;
	coarsen_key(names, &key, p->anchor);
	return find_number(s, names, &key, UINT32_MAX);
}

/* Goes on with the stretch that this piece belongs to. */
static void extend_run(struct track_run *run, uint64_t place, uint32_t number,
		       enum track_window window, int64_t from_ns, uint64_t ns)
{
	if (run->place != place || run->window != window || from_ns < run->from_ns)
		*run = (struct track_run){ .place = place, .window = window, .from_ns = from_ns };
	run->ns += ns;
	if (ns > run->piece_ns) {
		run->piece_ns = ns;
		run->number = number;
	}
}

static void keep_longest(struct track_total *t, uint64_t ns, int64_t from_ns)
{
	if (ns > t->longest_ns) {
		t->longest_ns = ns;
		t->longest_from_ns = from_ns;
	}
}

/* A stretch is long, as of now, with its newest part. */
COLD_CALL static void count_long(struct track_sum *sum, enum track_window window, uint64_t ns,
				 uint64_t part_ns)
{
	bool is_first = ns - part_ns < TRACK_LONG_NS;

	sum->longs[window] += is_first;
	sum->long_ns[window] += is_first ? ns : part_ns;
}

static void gap_add(struct track_total *t, const struct gap_overlap *gap)
{
	t->gap_ns += gap->ns;
	t->at_most_ns += gap->at_most_ns;
	t->unended_ns += gap->unended_ns;
	t->gaps += gap->number && gap->number != t->last_gap;
	if (gap->number)
		t->last_gap = gap->number;
}

ALWAYS_INLINE void add_total(struct track_total *t, const struct track_add *add)
{
	if (!t->pieces || add->from_ns < t->first_ns)
		t->first_ns = add->from_ns;
	if (!t->pieces || add->to_ns > t->last_ns)
		t->last_ns = add->to_ns;
	t->ns += (uint64_t)(add->to_ns - add->from_ns);
	t->idle_ns += add->idle_ns;
	if (add->gap.number)
		gap_add(t, &add->gap);
	t->pieces += t->pieces < UINT32_MAX;
	t->waits += !t->waits || add->wait != t->last_wait;
	t->last_wait = add->wait;
}

/* What the anchor waits for meanwhile is of many kinds, the wait is one. */
static void count_wait(struct track_sum *first, enum track_window window, uint32_t wait)
{
	first->total[window].times += wait != first->more.times;
	first->more.times = wait;
}

void track_sums_add(struct track_sums *s, uint32_t number, enum track_window window,
		    const struct track_add *add)
{
	struct track_sum *sum = &s->v.v[number - 1];
	struct track_total *t = &sum->total[window];
	uint64_t ns = (uint64_t)(add->to_ns - add->from_ns);

	add_total(t, add);
	if (sum->first)
		count_wait(&s->v.v[sum->first - 1], window, add->wait);
	if (sum->awaits) {
		keep_longest(t, ns, add->from_ns);
		if (ns >= TRACK_LONG_NS)
			count_long(sum, window, ns, ns);
		return;
	}
	extend_run(&s->run, sum->place, number, window, add->from_ns, ns);
	sum = &s->v.v[s->run.number - 1];
	keep_longest(&sum->total[window], s->run.ns, s->run.from_ns);
	if (s->run.ns >= TRACK_LONG_NS)
		count_long(sum, window, s->run.ns, ns);
}

bool track_sums_course(struct track_sums *s, uint32_t number, const struct track_add *add)
{
	if (!vec_reach(&s->courses, number - 1))
		return false;
	course_add(&s->courses.v[number - 1], add->from_ns, add->to_ns,
		   (double)(add->to_ns - add->from_ns));
	return true;
}

static void move_total(struct track_total *from, struct track_total *to)
{
	const struct track_total moved = *from, kept = *to;

	*from = (struct track_total){ 0 };
	to->times += moved.times;
	if (!moved.pieces)
		return;
	*to = moved;
	to->times += kept.times;
	to->ns += kept.ns;
	to->pieces += kept.pieces < UINT32_MAX - to->pieces ? kept.pieces : UINT32_MAX - to->pieces;
	to->idle_ns += kept.idle_ns;
	to->gap_ns += kept.gap_ns;
	to->at_most_ns += kept.at_most_ns;
	to->unended_ns += kept.unended_ns;
	to->gaps += kept.gaps;
	to->waits += kept.waits;
	keep_longest(to, kept.longest_ns, kept.longest_from_ns);
	if (kept.pieces && kept.first_ns < to->first_ns)
		to->first_ns = kept.first_ns;
	if (kept.pieces && kept.last_ns > to->last_ns)
		to->last_ns = kept.last_ns;
}

void track_sums_move(struct track_sums *s, enum track_window from, enum track_window to)
{
	for (size_t i = 0; i < s->v.n; i++) {
		struct track_sum *sum = &s->v.v[i];

		move_total(&sum->total[from], &sum->total[to]);
		sum->long_ns[to] += sum->long_ns[from];
		sum->longs[to] += sum->longs[from];
		sum->long_ns[from] = sum->longs[from] = 0;
	}
	s->run = (struct track_run){ 0 };
}

void track_total_add(struct track_total *t, const struct track_add *add)
{
	add_total(t, add);
	keep_longest(t, (uint64_t)(add->to_ns - add->from_ns), add->from_ns);
}

/* It is in the list of those that have more. NULL: out of memory. */
static struct track_sum *list_grown(struct track_sums *s, uint32_t number)
{
	struct track_sum *sum = &s->v.v[number - 1];

	if (!sum->grown && !vec_push(&s->grown, number))
		return NULL;
	sum->grown = true;
	return sum;
}

bool track_sums_grow_gap(struct track_sums *s, uint32_t number, const struct gap_overlap *gap)
{
	struct track_sum *sum = list_grown(s, number);

	if (sum)
		gap_add(&sum->more, gap);
	return sum != NULL;
}

bool track_sums_grow(struct track_sums *s, uint32_t number, const struct track_add *add)
{
	struct track_sum *sum = list_grown(s, number);

	if (!sum)
		return false;
	track_total_add(&sum->more, add);
	return true;
}

/* A thread that had the CPU and that the path does not need took it, or got it: the anchor's own
 * wait says which. */
static struct segment segment_of_taken(uint32_t occupant, const struct segment *via)
{
	struct segment s = { .state = SEGMENT_RUNNABLE, .who = occupant };

	if (via && segment_yields(via)) {
		s.line = via->line;
		s.flags = via->flags & SEGMENT_IN_SYNC;
		s.syscall = via->syscall;
	}
	return s;
}

/* Whether the thread made no call or wait where it was: it was met there at some address. */
static bool is_met(const struct segment *s)
{
	if (s->op)
		return false;
	if (s->state == SEGMENT_OWN)
		return s->flags & SEGMENT_SAMPLED;
	if (s->state == SEGMENT_RUNNABLE)
		return s->flags & SEGMENT_SAMPLED;
	return segment_blocked(s) && (s->object == OBJECT_FAULT || s->object == OBJECT_PROBE);
}

/* Whether the thread lost its CPU somewhere behind the call or wait that stands for its place. */
static bool is_unplaced(const struct segment *s)
{
	return (s->state == SEGMENT_RUNNABLE || s->state == SEGMENT_THROTTLED) && !s->op &&
	       !segment_yields(s) && !(s->flags & (SEGMENT_WOKEN | SEGMENT_SAMPLED));
}

/* Of another thread, the line that a person would change; of the anchor, its call site, with what
 * that called where both are the same. */
static void set_line(struct track_part *p, struct track_names *names, uint32_t stack, bool other)
{
	struct own_site at;

	p->site = p->line = site_frames_get(&names->frames, names->w, stack);
	at = own_sites_get(&names->owns, names->w, stack);
	if (other)
		p->line = at.frame;
	if (p->line == at.frame)
		p->inner = track_names_function(names, at.inner) & ~FRAME_FUNCTION;
}

/* The line of what a task awaited is its own, not that of what it called next. */
static void set_task(struct track_part *p, const struct world *w, uint32_t stack)
{
	uint32_t task = event_loop_task(w, stack);

	p->event_loop = task ? EVENT_LOOP_BEFORE_TASK : EVENT_LOOP_AGAIN;
	p->inner = 0;
	if (task)
		p->site = p->line = task;
}

/* A thread of the anchor's own process, which is known by its name. */
static bool is_named_own(const struct world *w, uint32_t anchor, uint32_t thread)
{
	return world_thread_process_id(w, anchor) == world_thread_process_id(w, thread) &&
	       who_has_own_name(w, thread);
}

/* The wait of a thread that is an anchor itself is a part of its own track. */
static enum segment_lock lock_of(const struct track_key *k, uint32_t waiter,
				 const struct path *path)
{
	if (!waiter)
		return (enum segment_lock)k->lock;
	return path_is_anchor(path, waiter) ? SEGMENT_LOCK_NONE
					    : (enum segment_lock)(k->lock - TRACK_LOCK_WAITER);
}

static bool part_of(const struct track_key *k, const struct track_total *t, uint32_t anchor,
		    struct path *path, struct track_names *names, struct track_part *out)
{
	const struct segment *via = k->via ? &path_segment_key(path, k->via)->s : NULL;
	bool taken = k->occupant && !path_is_partner(path, anchor, k->occupant);
	struct segment s = track_key_segment(k);
	bool met = !via && is_met(&s);
	bool unplaced = via ? is_unplaced(via) : k->thread == anchor && is_unplaced(&s);
	enum segment_lock lock;
	uint32_t thread, waiter;

	if (taken)
		s = segment_of_taken(k->occupant, via);
	*out = (struct track_part){ .class = path_class_of(&s),
				    .stack = via ? via->line : k->line,
				    .met = met,
				    .unplaced = unplaced,
				    .occupant = taken ? 0 : k->occupant,
				    .ns = t->ns,
				    .pieces = t->pieces,
				    .waits = t->waits,
				    .leaf = k->thread,
				    .via = k->via,
				    .idle_ns = t->idle_ns,
				    .gap_ns = t->gap_ns,
				    .at_most_ns = t->at_most_ns,
				    .unended_ns = t->unended_ns,
				    .gaps = t->gaps,
				    .longest_ns = t->longest_ns,
				    .longest_from_ns = t->longest_from_ns,
				    .first_ns = t->first_ns,
				    .last_ns = t->last_ns };
	if (taken && out->class == PATH_YIELD)
		out->leaf = anchor;
	thread = path_class_culprit(out->class, &s, anchor, k->thread);
	if (thread) {
		out->culprit = out->class == PATH_TAKEN && !is_named_own(names->w, anchor, thread)
				       ? path_culprit_of_process(&names->culprits, &thread)
				       : path_culprit_of(&names->culprits, thread);
		out->thread = thread;
		out->resumed = !via && (out->class == PATH_STOPPED || out->class == PATH_FROZEN);
		out->exclusion = via && via->flags & SEGMENT_EXCLUSION;
		waiter = k->lock > SEGMENT_LOCK_MAP ? k->holder : 0;
		lock = lock_of(k, waiter, path);
		out->lock = lock > SEGMENT_LOCK_MAYBE;
		out->gil = lock == SEGMENT_LOCK_GIL;
		out->waiter = lock ? waiter : 0;
		if (lock == SEGMENT_LOCK_MAP)
			out->object = OBJECT_MAP;
		if (lock && lock != SEGMENT_LOCK_GIL && !waiter && k->holder != thread)
			out->holder = k->holder;
		if (path_is_recorder(names->w, path, thread)) {
			out->class = PATH_RECORDER;
			out->object = OBJECT_NONE;
		}
	}
	out->file_page = s.flags & SEGMENT_FILE_PAGE;
	out->swapped = s.flags & SEGMENT_SWAPPED;
	out->asleep = segment_blocked(&s);
	out->blocked_on = out->asleep ? s.object : 0;
	out->syscall = s.syscall;
	out->ran_out = s.flags & (SEGMENT_RAN_OUT | SEGMENT_TIMED);
	if (out->class == PATH_STOPPED || out->class == PATH_FROZEN) {
		out->resumed_by = s.who;
		if (path_is_recorder(names->w, path, s.who))
			out->class = PATH_RECORDER;
	}
	if (s.line)
		set_line(out, names, s.line, k->thread != anchor);
	if (s.line && s.state == SEGMENT_OWN && s.flags & SEGMENT_SAMPLED)
		out->line_met = track_names_is_innermost(names->w, s.line, out->line);
	if (s.state == SEGMENT_OWN && !(s.flags & SEGMENT_SAMPLED))
		out->inner = 0; /* it has left the call before, which is all that is known */
	if (s.flags & SEGMENT_EVENT_LOOP)
		set_task(out, names->w, s.line);
	out->sampled = (s.state == SEGMENT_OWN && s.flags & SEGMENT_SAMPLED) ||
		       (out->class == PATH_YIELD && s.line);
	if (s.state == SEGMENT_OWN)
		out->before = out->sampled ? s.who : s.line;
	if (unplaced)
		out->before = out->stack;
	out->op = s.op;
	if (out->class == PATH_LOCK) {
		out->gil = s.object == OBJECT_GIL;
		out->lock = s.flags & SEGMENT_LOCK;
	}
	out->at_op = via ? via->op : k->op;
	if (out->class == PATH_OWN && !via)
		out->at_op = 0;
	out->woken = (via ? via->flags : k->flags) & SEGMENT_WOKEN;
	if (out->class == PATH_DISK)
		out->device = s.who;
	if (out->class == PATH_THROTTLED)
		out->cgroup = s.who;
	if (out->class == PATH_UNENDED || segment_at_probe(&s) || s.object == OBJECT_MAP)
		out->object = s.object;
	return !thread || out->culprit;
}

bool track_sums_parts(const struct track_sums *s, enum track_window window, uint32_t anchor,
		      struct path *path, struct track_names *names, struct track_parts *out)
{
	out->v.n = 0;
	for (size_t i = 0; i < s->v.n; i++) {
		const struct track_sum *sum = &s->v.v[i];
		struct track_part part;

		if (!sum->total[window].ns)
			continue;
		if (!part_of(&sum->key, &sum->total[window], anchor, path, names, &part) ||
		    !vec_push(&out->v, part))
			return false;
		out->v.v[out->v.n - 1].number = (uint32_t)i + 1;
		if (sum->first)
			out->v.v[out->v.n - 1].times = s->v.v[sum->first - 1].total[window].times;
		out->v.v[out->v.n - 1].longs = sum->longs[window];
		out->v.v[out->v.n - 1].long_ns = sum->long_ns[window];
		if (window == WINDOW_STEPS && i < s->courses.n)
			out->v.v[out->v.n - 1].course = &s->courses.v[i];
	}
	return true;
}

bool track_sums_part(const struct track_sums *s, uint32_t number, const struct track_total *t,
		     uint32_t anchor, struct path *path, struct track_names *names,
		     struct track_part *out)
{
	return part_of(&s->v.v[number - 1].key, t, anchor, path, names, out);
}

bool track_sums_grown(struct track_sums *s, uint32_t anchor, struct path *path,
		      struct track_names *names, struct track_parts *out)
{
	out->v.n = 0;
	for (size_t i = 0; i < s->grown.n; i++) {
		struct track_sum *sum = &s->v.v[s->grown.v[i] - 1];
		struct track_part part;

		if (!part_of(&sum->key, &sum->more, anchor, path, names, &part) ||
		    !vec_push(&out->v, part))
			return false;
		sum->more = (struct track_total){ .times = sum->more.times,
						  .last_wait = sum->more.last_wait,
						  .last_gap = sum->more.last_gap };
		sum->grown = false;
	}
	s->grown.n = 0;
	return true;
}

void track_sums_free(struct track_sums *s)
{
	vec_free(&s->grown);
	vec_free(&s->courses);
	vec_free(&s->v);
	map_free(&s->by_hash);
}
