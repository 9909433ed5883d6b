/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes an off-CPU interval apart: [start, ready) is blocked, on an object or until another thread
 * acted; [ready, end) is runnable. The kernel says for how long of that the thread was throttled or
 * its CPU stolen, not when: these come first.
 */
#include "lib/path/offcpu.h"

#include "lib/attrib/blame.h"
#include "lib/event/syscall.h"

static bool add_segment(struct offcpu_segments *out, int64_t end_ns, enum segment_state state,
			uint32_t who)
{
	return vec_push(&out->v,
			(struct segment){ .end_ns = end_ns, .state = (uint8_t)state, .who = who });
}

/* ---- blocked ---- */

/* No thread of the job ends such waits. */
static bool ends_by_itself(uint64_t object)
{
	return object == OBJECT_STOP || object == OBJECT_FREEZER || object == OBJECT_GPU ||
	       object == OBJECT_DISK || object == OBJECT_PROBE;
}

static uint16_t wait_flags(const struct event *ev, const struct op_def *def, uint64_t object)
{
	uint64_t op;
	uint16_t flags = 0;

	if ((object == OBJECT_FUTEX || object == OBJECT_GIL) &&
	    event_get_or(ev, def, COL_WAKER_KIND, WAKER_NONE) == WAKER_TIMER)
		flags |= SEGMENT_TIMED;
	if (blame_blocked(ev, def) == PART_LOCK)
		flags |= SEGMENT_EXCLUSION | SEGMENT_LOCK;
	else if (object == OBJECT_FUTEX && !event_get(ev, def, COL_FUTEX_OP, &op))
		flags |= SEGMENT_EXCLUSION;
	return flags;
}

uint32_t offcpu_sender(const struct event *ev, const struct op_def *def)
{
	uint64_t object = event_get_or(ev, def, COL_OBJECT_KIND, OBJECT_NONE);

	if (event_get_or(ev, def, COL_WAKER_KIND, WAKER_NONE) != WAKER_SOFTIRQ ||
	    (object != OBJECT_SOCKET && object != OBJECT_POLL))
		return 0;
	return (uint32_t)event_get_or(ev, def, COL_WAKER, 0);
}

/* From when somebody acted to when the wait was over. */
static int64_t waking_of(const struct event *ev, const struct op_def *def, int64_t ready_ns)
{
	uint64_t waking = event_get_or(ev, def, COL_WAKING_NS, 0),
		 most = (uint64_t)(ready_ns - event_start(ev));

	return (int64_t)(waking < most ? waking : most);
}

static bool is_unended(const struct event *ev, const struct op_def *def)
{
	uint64_t cpu;

	return event_get(ev, def, COL_CPU_OUT, &cpu) && !event_get(ev, def, COL_CPU_IN, &cpu) &&
	       event_get_or(ev, def, COL_WAKER_KIND, WAKER_NONE) == WAKER_NONE;
}

static bool add_blocked(const struct path_thread *th, const struct event *ev,
			const struct op_def *def, int64_t ready_ns, struct offcpu_segments *out)
{
	uint64_t object = event_get_or(ev, def, COL_OBJECT_KIND, OBJECT_NONE), syscall;
	int64_t waking = 0;
	uint64_t waker = event_get_or(ev, def, COL_WAKER_KIND, WAKER_NONE);
	bool by_task = waker == WAKER_TASK;
	struct segment s = { .end_ns = ready_ns,
			     .line = ev->stack,
			     .state = SEGMENT_BLOCKED,
			     .object = (uint8_t)object,
			     .flags = wait_flags(ev, def, object) };

	/* A read has no time-out: that is a timer's. */
	if (object == OBJECT_FD && waker == WAKER_TIMER)
		s.object = object = OBJECT_TIMER;
	if ((object == OBJECT_FD || object == OBJECT_SOCKET) &&
	    event_get(ev, def, COL_SYSCALL, &syscall) && syscall < UINT16_MAX)
		s.syscall = (uint16_t)(syscall + 1);
	if (object != OBJECT_TIMER && object != OBJECT_FUTEX && object != OBJECT_GIL &&
	    waker == WAKER_TIMER)
		s.flags |= SEGMENT_RAN_OUT;
	if (by_task)
		s.who = (uint32_t)event_get_or(ev, def, COL_WAKER, 0);
	if (object == OBJECT_DISK)
		s.who = (uint32_t)event_get_or(ev, def, COL_OBJECT, 0);
	if (is_unended(ev, def)) {
		s.state = SEGMENT_UNENDED;
	} else if (by_task && s.who && s.who != th->id && !ends_by_itself(object)) {
		s.state = SEGMENT_WAITING;
		waking = waking_of(ev, def, ready_ns);
		if (!event_get(ev, def, COL_WAKING_NS, &syscall))
			s.flags |= SEGMENT_ACT_UNKNOWN;
	} else if (offcpu_sender(ev, def)) { /* whether it did is found out later */
		waking = waking_of(ev, def, ready_ns);
	}
	s.end_ns = ready_ns - waking;
	return vec_push(&out->v, s) && (!waking || add_segment(out, ready_ns, SEGMENT_WAKE_UP, 0));
}

/* ---- runnable ---- */

/* The idle task, or the thread itself when it was woken: nobody took the CPU. */
static bool is_idle(const struct world *w, const struct path_thread *th, uint32_t occupant)
{
	const struct world_process *p = world_thread_process(w, occupant);

	return occupant == th->id || (p && p->tgid == 0);
}

/* [from, to) in the run queue of one CPU, newest slice first. */
static bool add_slices(const struct world *w, const struct occupancy *o,
		       const struct path_thread *th, uint32_t cpu, int64_t from, int64_t to,
		       struct offcpu_segments *out)
{
	struct occupancy_slice slice;

	for (uint32_t i = 1; from < to && occupancy_back(o, th->node, cpu, i, &slice); i++) {
		int64_t a = slice.start_ns > from ? slice.start_ns : from,
			b = slice.end_ns < to ? slice.end_ns : to;
		bool idle = is_idle(w, th, slice.thread);

		if (slice.end_ns <= from)
			break;
		if (b <= a)
			continue;
		if ((b < to && !add_segment(out, to, SEGMENT_RUNNABLE, 0)) ||
		    !add_segment(out, b, idle ? SEGMENT_WAKE_UP : SEGMENT_RUNNABLE,
				 idle ? 0 : slice.thread))
			return false;
		to = a;
	}
	return from >= to || add_segment(out, to, SEGMENT_RUNNABLE, 0);
}

static void reverse_segments(struct segment *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct segment s = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = s;
	}
}

static bool add_queued(const struct world *w, const struct occupancy *o,
		       const struct path_thread *th, int64_t from, int64_t to, uint32_t cpu_in,
		       struct offcpu_segments *out)
{
	size_t first = out->v.n;
	uint32_t cpu = cpu_in;

	for (uint32_t i = th->moves ? th->moves->n : 0; i > 0 && to > from; i--) {
		const struct move *m = &th->moves->v[i - 1];

		if (m->time_ns <= from)
			break;
		if (m->time_ns < to) {
			if (!add_slices(w, o, th, cpu, m->time_ns, to, out))
				return false;
			to = m->time_ns;
		}
		cpu = m->from;
	}
	if (!add_slices(w, o, th, cpu, from, to, out))
		return false;
	reverse_segments(out->v.v + first, out->v.n - first);
	return true;
}

static bool add_runnable(const struct world *w, const struct occupancy *o,
			 const struct losses *losses, const struct path_thread *th,
			 const struct event *ev, const struct op_def *def, int64_t ready_ns,
			 struct offcpu_segments *out)
{
	static const struct moves unmoved;
	uint64_t wait = (uint64_t)(ev->end_ns - ready_ns),
		 throttled = event_get_or(ev, def, COL_THROTTLED_NS, 0),
		 stolen = event_get_or(ev, def, COL_STOLEN_NS, 0);
	uint64_t cpu_out = event_get_or(ev, def, COL_CPU_OUT, UINT32_MAX),
		 cpu_in = event_get_or(ev, def, COL_CPU_IN, UINT32_MAX);
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);
	int64_t from = ready_ns;

	throttled = throttled > wait ? wait : throttled;
	stolen = stolen > wait - throttled ? wait - throttled : stolen;
	from += (int64_t)throttled;
	if (throttled && !add_segment(out, from, SEGMENT_THROTTLED, ctx ? ctx->cgroup : 0))
		return false;
	from += (int64_t)stolen;
	if (stolen && !add_segment(out, from, SEGMENT_STOLEN, 0))
		return false;
	if (from == ev->end_ns)
		return true;
	/* Of an occupant whose slice was lost the CPU seems to be another's. */
	if (cpu_out > UINT16_MAX || cpu_in > UINT16_MAX ||
	    !moves_sound(th->moves ? th->moves : &unmoved, event_start(ev), cpu_out, cpu_in) ||
	    losses_within(losses, ready_ns, ev->end_ns))
		return add_segment(out, ev->end_ns, SEGMENT_RUNNABLE, 0);
	return add_queued(w, o, th, from, ev->end_ns, (uint32_t)cpu_in, out);
}

/* The system call plus one of a thread that handed its CPU on by itself; 0: it did not. */
static uint16_t yield_of(const struct event *ev, const struct op_def *def, int64_t ready_ns)
{
	uint64_t number;

	if (ready_ns > event_start(ev) || !event_get(ev, def, COL_SYSCALL, &number))
		return 0;
	return syscall_yields(number) ? (uint16_t)(number + 1) : 0;
}

bool offcpu_segments(const struct world *w, const struct occupancy *o, const struct losses *losses,
		     struct path_thread *th, const struct event *ev, const struct op_def *def,
		     struct offcpu_segments *out)
{
	uint64_t wait = event_get_or(ev, def, COL_WAIT_NS, 0);
	uint16_t yield;
	int64_t ready;
	bool done;

	out->v.n = 0;
	ready = ev->end_ns - (int64_t)(wait > ev->dur_ns ? ev->dur_ns : wait);
	done = (ready <= event_start(ev) || add_blocked(th, ev, def, ready, out)) &&
	       (ready >= ev->end_ns || add_runnable(w, o, losses, th, ev, def, ready, out));
	if (th->moves)
		th->moves->n = 0;
	yield = yield_of(ev, def, ready);
	/* Where the CPU was taken from it. */
	for (size_t i = 0; i < out->v.n; i++) {
		struct segment *s = &out->v.v[i];

		if (s->state == SEGMENT_RUNNABLE || s->state == SEGMENT_THROTTLED)
			s->line = ev->stack;
		if (s->state == SEGMENT_RUNNABLE && ready > event_start(ev))
			s->flags |= SEGMENT_WOKEN;
		if (s->state == SEGMENT_RUNNABLE)
			s->syscall = yield;
	}
	return done;
}
