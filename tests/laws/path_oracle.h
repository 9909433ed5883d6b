/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reason of one instant, straight from the definition: all events in memory, nothing remembered
 * from one instant to the next, every question answered by looking at all of a thread's events.
 */
#ifndef INGERO_TESTS_LAWS_PATH_ORACLE_H
#define INGERO_TESTS_LAWS_PATH_ORACLE_H

#include "lib/path/path.h"
#include "lib/path/timed_waits.h"
#include "tests/laws/path_piece.h"
#include "tests/laws/path_stream.h"

struct oracle_thread {
	VEC(const struct event *) ev; /* by end */
	int64_t begin_ns;
	bool known;
	uint32_t creator; /* 0: it was not made in the recording */
};

struct oracle {
	const struct path_stream *s;
	VEC(const struct event *) slices;
	struct oracle_thread t[STREAM_THREADS * 2]; /* by world id */
	VEC(struct event) open; /* calls that had not returned, as if they did at the end */
};

static inline uint64_t oracle_col(const struct event *ev, uint16_t column, uint64_t absent)
{
	uint64_t v;

	return event_get(ev, op_builtin(ev->op), column, &v) ? v : absent;
}

static inline uint32_t oracle_thread_of(const struct oracle *o, const struct event *ev)
{
	return world_get_ctx(o->s->w, ev->ctx)->thread;
}

static inline void oracle_add(struct oracle *o, uint32_t thread, const struct event *ev)
{
	struct oracle_thread *t = &o->t[thread];

	if (!vec_push(&t->ev, ev))
		abort();
	if (!t->known || event_start(ev) < t->begin_ns)
		t->begin_ns = event_start(ev);
	t->known = true;
}

static inline void oracle_open(struct oracle *o, const struct path_stream *s)
{
	memset(o, 0, sizeof(*o));
	o->s = s;
	for (size_t i = 0; i < s->ev.n; i++) {
		const struct event *ev = &s->ev.v[i];

		if (ev->op == OP_SCHED_OCCUPIED) {
			if (!vec_push(&o->slices, ev))
				abort();
			continue;
		}
		if (ev->op == OP_PROC_FORK) {
			struct oracle_thread *child = &o->t[oracle_col(ev, COL_CHILD, 0)];

			child->creator = oracle_thread_of(o, ev);
			child->begin_ns = ev->end_ns;
			child->known = true;
		}
		oracle_add(o, oracle_thread_of(o, ev), ev);
	}
	if (!vec_reserve(&o->open, s->open.n + 1))
		abort();
	for (size_t i = 0; i < s->open.n; i++) {
		const struct stream_open *c = &s->open.v[i];
		struct event ev = { .end_ns = s->end_ns,
				    .dur_ns = (uint64_t)(s->end_ns - c->start_ns),
				    .op = c->op,
				    .depth = (uint16_t)c->depth,
				    .stack = c->stack };

		if (!ev.dur_ns || !vec_push(&o->open, ev))
			continue;
		oracle_add(o, c->thread, &o->open.v[o->open.n - 1]);
	}
}

static inline void oracle_close(struct oracle *o)
{
	for (unsigned i = 0; i < STREAM_THREADS * 2; i++)
		vec_free(&o->t[i].ev);
	vec_free(&o->slices);
	vec_free(&o->open);
}

static inline bool oracle_is_call(const struct event *ev)
{
	return op_builtin(ev->op)->flags & OP_CALL;
}

static inline bool oracle_is_section(const struct event *ev)
{
	return ev->op == OP_MEM_RECLAIM || ev->op == OP_MEM_COMPACT || ev->op == OP_MEM_FAULT;
}

static inline bool oracle_covers(const struct event *ev, int64_t x)
{
	return event_start(ev) <= x && x < ev->end_ns;
}

static inline int64_t oracle_ready(const struct event *ev)
{
	return ev->end_ns - (int64_t)oracle_col(ev, COL_WAIT_NS, 0);
}

static inline const struct event *oracle_off(const struct oracle *o, uint32_t thread, int64_t x)
{
	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];

		if (ev->op == OP_SCHED_OFFCPU && oracle_covers(ev, x))
			return ev;
	}
	return NULL;
}

/* The outermost call around x; *sync: one of those around it waits for the device. */
static inline const struct event *oracle_call(const struct oracle *o, uint32_t thread, int64_t x,
					      bool *sync)
{
	const struct event *outer = NULL;

	*sync = false;
	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];

		if (!oracle_is_call(ev) || !oracle_covers(ev, x))
			continue;
		*sync |= (op_builtin(ev->op)->flags & OP_SYNC) != 0;
		if (ev->depth == 0)
			outer = ev;
	}
	return outer;
}

static inline void oracle_leaf(const struct oracle *o, uint32_t thread, int64_t x,
			       struct run_piece *out);

/* ---- blocked ---- */

static inline int64_t oracle_acted(const struct oracle *o, const struct event *wait,
				   uint32_t releaser)
{
	int64_t ready = oracle_ready(wait), waking = (int64_t)oracle_col(wait, COL_WAKING_NS, 0);
	const struct event *slept;
	uint64_t told;

	if (event_get(wait, op_builtin(wait->op), COL_WAKING_NS, &told))
		return ready - waking > event_start(wait) ? ready - waking : event_start(wait);
	slept = oracle_off(o, releaser, ready - 1);
	if (!slept || ready - 1 >= oracle_ready(slept))
		return ready;
	return ready - event_start(slept) <= PATH_IN_FLIGHT_NS &&
			       event_start(slept) > event_start(wait)
		       ? event_start(slept)
		       : INT64_MIN;
}

static inline bool oracle_is_gil(const struct event *ev)
{
	return oracle_col(ev, COL_OBJECT_KIND, 0) == OBJECT_GIL;
}

/* Whether the thread waited for nobody: its CPU was taken from it. */
static inline bool oracle_preempted(const struct event *ev)
{
	return oracle_ready(ev) == event_start(ev);
}

static inline bool oracle_ran_out(const struct event *ev)
{
	return !oracle_preempted(ev) && oracle_col(ev, COL_WAKER_KIND, 0) == WAKER_TIMER &&
	       (oracle_is_gil(ev) || oracle_col(ev, COL_OBJECT_KIND, 0) == OBJECT_FUTEX);
}

/* The thread's off-CPU intervals from the i-th event on: the next one, or NULL. */
static inline const struct event *oracle_next_off(const struct oracle_thread *t, size_t *i)
{
	while (*i < t->ev.n && t->ev.v[*i]->op != OP_SCHED_OFFCPU)
		++*i;
	return *i < t->ev.n ? t->ev.v[(*i)++] : NULL;
}

/* Whether off is a wait for the interpreter's lock that another thread of the process ended. */
static inline bool oracle_ended_by(const struct oracle *o, const struct event *off, uint32_t thread)
{
	uint32_t waited = oracle_thread_of(o, off);

	return off->op == OP_SCHED_OFFCPU && !oracle_preempted(off) && oracle_is_gil(off) &&
	       oracle_col(off, COL_WAKER_KIND, 0) == WAKER_TASK &&
	       oracle_col(off, COL_WAKER, 0) == thread && waited != thread &&
	       world_get_thread(o->s->w, waited)->process ==
		       world_get_thread(o->s->w, thread)->process;
}

/* Whether off is the wait of a thread that had the interpreter's lock, was asked for it when the
 * clock had woken the thread from its wait `last`, and let go of it before that one slept again. */
static inline bool oracle_is_way_given(const struct oracle_thread *t, const struct event *last,
				       const struct event *off)
{
	int64_t awake = last->end_ns, chained = last->end_ns;
	const struct event *own;
	bool broken = false;

	for (size_t i = 0; (own = oracle_next_off(t, &i)) && own < off;) {
		if (own <= last)
			continue;
		broken |= event_start(own) > chained + TIMED_AGAIN_GIL_NS;
		if (oracle_ran_out(own) ||
		    (!broken && !oracle_preempted(own) && oracle_is_gil(own)))
			return false;
		broken |= !oracle_preempted(own);
		if (!broken)
			chained = own->end_ns;
		if (!broken && event_start(own) <= awake + TIMED_GAVE_WAY_NS)
			awake = own->end_ns;
	}
	return event_start(off) >= last->end_ns && event_start(off) <= awake + TIMED_GAVE_WAY_NS &&
	       off->end_ns <= awake + TIMED_TOLD_NS;
}

/* Whether the thread was itself in such a wait while it should have had the lock. */
static inline bool oracle_wanted_too(const struct oracle_thread *t, const struct event *last,
				     const struct event *off)
{
	const struct event *own, *newest = NULL;
	int64_t had = event_start(off) - TIMED_AGAIN_GIL_NS;

	for (size_t i = 0; (own = oracle_next_off(t, &i)) && own < off;) {
		if (oracle_ran_out(own))
			newest = own;
	}
	if (event_start(last) < had)
		had = event_start(last);
	return newest && oracle_is_gil(newest) && newest->end_ns > had;
}

/* The first thread of the same process that gave way so; 0: none did. */
static inline uint32_t oracle_gave_way(const struct oracle *o, uint32_t thread,
				       const struct event *last)
{
	const struct event *off, *first = NULL;
	uint32_t who = 0;

	for (uint32_t id = 1; id < STREAM_THREADS * 2; id++) {
		for (size_t i = 0; (off = oracle_next_off(&o->t[id], &i));) {
			if (off < last || (first && off > first) ||
			    !oracle_ended_by(o, off, thread) ||
			    !oracle_is_way_given(&o->t[thread], last, off) ||
			    oracle_wanted_too(&o->t[id], last, off))
				continue;
			first = off;
			who = id;
		}
	}
	return who;
}

/* A wait that ran into its time-out: the thread that ended the last of those that follow it at
 * once, or gave way behind one of them; 0: none did. */
static inline uint32_t oracle_in_the_end(const struct oracle *o, uint32_t thread,
					 const struct event *wait)
{
	const struct oracle_thread *t = &o->t[thread];
	bool gil = oracle_is_gil(wait);
	int64_t again = gil ? TIMED_AGAIN_GIL_NS : TIMED_AGAIN_NS, end = wait->end_ns;
	uint32_t who = gil && oracle_ran_out(wait) ? oracle_gave_way(o, thread, wait) : 0;
	const struct event *ev;

	if (!oracle_ran_out(wait))
		return 0;
	for (size_t i = 0; !who && (ev = oracle_next_off(t, &i));) {
		if (event_start(ev) < end)
			continue;
		if (event_start(ev) > end + again)
			return 0;
		end = ev->end_ns;
		if (oracle_preempted(ev))
			continue;
		if (gil != oracle_is_gil(ev) ||
		    (!gil && (oracle_col(ev, COL_OBJECT_KIND, 0) != OBJECT_FUTEX ||
			      oracle_col(ev, COL_OBJECT, 0) != oracle_col(wait, COL_OBJECT, 0))))
			return 0;
		if (!oracle_ran_out(ev))
			return (uint32_t)oracle_col(ev, COL_WAKER, 0);
		if (gil)
			who = oracle_gave_way(o, thread, ev);
	}
	return who;
}

/* What the kernel says of a memory section around a wait, of which it reaches back so far. */
static inline uint16_t oracle_memory(const struct oracle *o, uint32_t thread,
				     const struct event *wait)
{
	bool waits = oracle_col(wait, COL_WAKER_KIND, 0) == WAKER_TASK;
	int64_t end =
		oracle_ready(wait) - (waits ? (int64_t)oracle_col(wait, COL_WAKING_NS, 0) : 0);

	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];

		if (oracle_is_section(ev) && event_start(ev) <= event_start(wait) &&
		    wait->end_ns <= ev->end_ns && (ev->depth || end > ev->end_ns - PATH_LAG_NS))
			return ev->op == OP_MEM_FAULT ? SEGMENT_SWAPPED : SEGMENT_GETS_MEMORY;
	}
	return 0;
}

static inline void oracle_blocked(const struct oracle *o, uint32_t thread, const struct event *wait,
				  int64_t x, struct run_piece *out)
{
	uint64_t object = oracle_col(wait, COL_OBJECT_KIND, 0), cpu;
	uint32_t who = (uint32_t)oracle_col(wait, COL_WAKER, 0), releaser = who,
		 last = oracle_in_the_end(o, thread, wait);
	const struct event *outer;
	int64_t act;
	bool sync;

	outer = oracle_call(o, thread, x, &sync);
	out->thread = thread;
	out->s.state = SEGMENT_BLOCKED;
	out->s.object = (uint8_t)object;
	out->s.line = wait->stack;
	out->s.op = outer ? outer->op : 0;
	out->s.flags = sync ? SEGMENT_IN_SYNC : 0;
	if (object == OBJECT_FUTEX || object == OBJECT_GIL) {
		out->s.flags |= SEGMENT_EXCLUSION;
		/* Of a futex of which nothing more is known it is not certain. */
		if (object == OBJECT_GIL || oracle_col(wait, COL_FUTEX_VAL, 0) == 2)
			out->s.flags |= SEGMENT_LOCK;
		if (oracle_col(wait, COL_WAKER_KIND, 0) == WAKER_TIMER)
			out->s.flags |= SEGMENT_TIMED;
	} else if (object != OBJECT_TIMER && oracle_col(wait, COL_WAKER_KIND, 0) == WAKER_TIMER)
		out->s.flags |= SEGMENT_RAN_OUT;
	out->s.flags |= oracle_memory(o, thread, wait);
	out->s.who = object == OBJECT_DISK ? (uint32_t)oracle_col(wait, COL_OBJECT, 0) : who;
	if (oracle_col(wait, COL_WAKER_KIND, 0) == WAKER_NONE &&
	    !event_get(wait, op_builtin(wait->op), COL_CPU_IN, &cpu)) {
		out->s.state = SEGMENT_UNENDED;
		return;
	}
	if (last)
		releaser = out->s.who = last;
	if (!releaser || object == OBJECT_DISK || object == OBJECT_GPU)
		return;
	act = last ? oracle_ready(wait) : oracle_acted(o, wait, releaser);
	if (act == INT64_MIN)
		return;
	if (x >= act) {
		out->s = (struct segment){ .state = SEGMENT_WAKE_UP };
		return;
	}
	while (o->t[releaser].known && x < o->t[releaser].begin_ns && o->t[releaser].creator &&
	       o->t[releaser].creator != thread)
		releaser = o->t[releaser].creator;
	if (!o->t[releaser].known || x < o->t[releaser].begin_ns)
		return;
	if (out->depth + 1 >= PATH_DEPTH) {
		out->s = (struct segment){ .state = SEGMENT_TOO_DEEP };
		return;
	}
	out->depth++;
	oracle_leaf(o, releaser, x, out);
}

/* ---- runnable ---- */

static inline void oracle_runnable(const struct oracle *o, uint32_t thread,
				   const struct event *wait, int64_t x, struct run_piece *out)
{
	int64_t throttled = oracle_ready(wait) + (int64_t)oracle_col(wait, COL_THROTTLED_NS, 0),
		stolen = throttled + (int64_t)oracle_col(wait, COL_STOLEN_NS, 0);
	uint64_t cpu = oracle_col(wait, COL_CPU_OUT, 0), cpu_in;
	uint32_t occupant = 0;

	out->thread = thread;
	out->s = (struct segment){ .state = SEGMENT_RUNNABLE };
	if (x < throttled)
		out->s.state = SEGMENT_THROTTLED;
	else if (x < stolen)
		out->s.state = SEGMENT_STOLEN;
	if (x < stolen || !event_get(wait, op_builtin(wait->op), COL_CPU_IN, &cpu_in))
		return;
	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];

		if (ev->op == OP_SCHED_MIGRATE && ev->end_ns > event_start(wait) && ev->end_ns <= x)
			cpu = oracle_col(ev, COL_CPU_IN, 0);
	}
	for (size_t i = 0; i < o->slices.n; i++) {
		if (oracle_col(o->slices.v[i], COL_CPU, 0) == cpu &&
		    oracle_covers(o->slices.v[i], x))
			occupant = (uint32_t)oracle_col(o->slices.v[i], COL_OCCUPANT, 0);
	}
	if (occupant == o->s->idle || occupant == thread) {
		out->s.state = SEGMENT_WAKE_UP;
		return;
	}
	out->s.who = occupant;
	if (!o->t[occupant].known || out->occupant)
		return;
	out->occupant = occupant;
	out->depth++;
	oracle_leaf(o, occupant, x, out);
}

/* ---- on a CPU ---- */

static inline bool oracle_happens(const struct event *ev)
{
	return !ev->depth && (oracle_is_call(ev) || oracle_is_section(ev) ||
			      ev->op == OP_SCHED_OFFCPU || ev->op == OP_SCHED_STOLEN);
}

/* The newest sample before ns, with nothing outside calls between them. */
static inline const struct event *oracle_sampled(const struct oracle *o, uint32_t thread,
						 int64_t ns)
{
	const struct event *last = NULL;
	int64_t since = INT64_MIN;

	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];

		if (oracle_happens(ev) && ev->end_ns <= ns && ev->end_ns > since)
			since = ev->end_ns;
	}
	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];

		if (ev->op == OP_CPU_SAMPLE && !ev->depth && ev->end_ns <= ns &&
		    ev->end_ns >= since && (!last || ev->end_ns > last->end_ns))
			last = ev;
	}
	return last;
}

/* Own code by what happened last: a call, a wait at some line, or what took the CPU from it where a
 * sample had found it. */
static inline void oracle_own_before(const struct oracle *o, uint32_t thread, int64_t x,
				     struct run_piece *out)
{
	int64_t newest = INT64_MIN;

	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i], *sample = NULL;
		bool waited = ev->op == OP_SCHED_OFFCPU && ev->stack &&
			      oracle_ready(ev) > event_start(ev);

		if (ev->depth || ev->end_ns > x || ev->end_ns <= newest)
			continue;
		if ((ev->op == OP_SCHED_OFFCPU && !waited) || ev->op == OP_SCHED_STOLEN)
			sample = oracle_sampled(o, thread, event_start(ev));
		if (!oracle_is_call(ev) && !waited && !sample)
			continue;
		newest = ev->end_ns;
		out->s.op = oracle_is_call(ev) ? ev->op : 0;
		out->s.line = sample ? sample->stack : ev->stack;
		out->s.flags = sample ? SEGMENT_SAMPLED : 0;
	}
}

/* Own code at x: by the next sample before something else happens outside calls, else by the
 * last since something did, else by what happened. */
static inline void oracle_own(const struct oracle *o, uint32_t thread, int64_t x,
			      struct run_piece *out)
{
	const struct event *last = oracle_sampled(o, thread, x), *next = NULL;
	int64_t until = INT64_MAX;

	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];
		bool section = oracle_is_section(ev);

		if (!oracle_happens(ev))
			continue;
		if (section && ev->end_ns > x && ev->end_ns < until)
			until = ev->end_ns;
		if (!section && event_start(ev) > x && event_start(ev) < until)
			until = event_start(ev);
	}
	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];

		if (ev->op != OP_CPU_SAMPLE || ev->depth)
			continue;
		if (ev->end_ns > x && ev->end_ns <= until && (!next || ev->end_ns < next->end_ns))
			next = ev;
	}
	out->s.state = SEGMENT_OWN;
	if (next || last) {
		out->s.flags = SEGMENT_SAMPLED;
		out->s.line = (next ? next : last)->stack;
	} else {
		oracle_own_before(o, thread, x, out);
	}
}

static inline void oracle_on_cpu(const struct oracle *o, uint32_t thread, int64_t x,
				 struct run_piece *out)
{
	const struct event *outer, *section = NULL;
	bool sync;

	out->thread = thread;
	out->s = (struct segment){ 0 };
	for (size_t i = 0; i < o->t[thread].ev.n; i++) {
		const struct event *ev = o->t[thread].ev.v[i];

		if (ev->op == OP_SCHED_STOLEN && oracle_covers(ev, x)) {
			out->s.state = SEGMENT_STOLEN;
			return;
		}
		if (oracle_is_section(ev) && oracle_covers(ev, x) &&
		    (ev->depth || x >= ev->end_ns - PATH_LAG_NS))
			section = ev;
	}
	outer = oracle_call(o, thread, x, &sync);
	if (section) {
		out->s.state = section->op == OP_MEM_RECLAIM   ? SEGMENT_RECLAIM
			       : section->op == OP_MEM_COMPACT ? SEGMENT_COMPACT
							       : SEGMENT_FAULT_IN;
		out->s.flags = section->op == OP_MEM_FAULT ? SEGMENT_SWAPPED : 0;
	} else if (outer || sync) {
		out->s.state = sync ? SEGMENT_SYNC : SEGMENT_CALL;
		out->s.op = outer ? outer->op : 0;
		out->s.line = outer ? outer->stack : 0;
	} else {
		oracle_own(o, thread, x, out);
	}
}

/* What the thread was at x, or whoever stands in its place. out begins zeroed but for the
 * anchor. */
static inline void oracle_leaf(const struct oracle *o, uint32_t thread, int64_t x,
			       struct run_piece *out)
{
	const struct event *off = oracle_off(o, thread, x);
	const struct oracle_thread *t = &o->t[thread];
	const struct event *exit = t->ev.n ? t->ev.v[t->ev.n - 1] : NULL;

	if (off && x < oracle_ready(off)) {
		oracle_blocked(o, thread, off, x, out);
	} else if (off) {
		oracle_runnable(o, thread, off, x, out);
	} else if (exit && exit->op == OP_PROC_EXIT && x >= exit->end_ns) {
		out->thread = thread;
		out->s = (struct segment){ .state = SEGMENT_OWN };
	} else {
		oracle_on_cpu(o, thread, x, out);
	}
}

#endif
