/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blame of single intervals and calls, case by case: every expected number is worked out by hand
 * from the intervals planted.
 */
#include "tests/tap.h"

#include "lib/attrib/line.h"
#include "tests/unit/events.h"

#define PIECES 64

struct collected {
	struct line_sink sink;
	struct line_piece calls[PIECES], outside[PIECES], off[PIECES];
	struct parts call_parts[PIECES], outside_parts[PIECES], off_parts[PIECES];
	unsigned ncalls, noutside, noff;
};

static void keep(struct line_piece *pieces, struct parts *parts, unsigned *n,
		 const struct line_piece *p)
{
	uint64_t sum = parts_sum(p->parts, PARTS_ALL);

	if (sum != (uint64_t)(p->end_ns - p->start_ns))
		ok(false, "parts sum to the length of the piece (%" PRIu64 ")", sum);
	if (*n == PIECES)
		return;
	parts[*n] = *p->parts;
	pieces[*n] = *p;
	pieces[*n].parts = &parts[*n];
	++*n;
}

static void on_call(struct line_sink *s, const struct line_piece *p)
{
	struct collected *t = (struct collected *)s;

	keep(t->calls, t->call_parts, &t->ncalls, p);
}

static void on_outside(struct line_sink *s, const struct line_piece *p)
{
	struct collected *t = (struct collected *)s;

	keep(t->outside, t->outside_parts, &t->noutside, p);
}

static void on_off(struct line_sink *s, const struct line_piece *p)
{
	struct collected *t = (struct collected *)s;

	keep(t->off, t->off_parts, &t->noff, p);
}

static struct line *play(struct stage *s, struct collected *t)
{
	struct line *l;

	memset(t, 0, sizeof(*t));
	t->sink = (struct line_sink){ on_call, on_outside, on_off };
	stage_sort(s);
	l = line_new(s->w, &t->sink);
	for (size_t i = 0; i < s->ev.n; i++)
		line_event(l, &s->ev.v[i], false, NULL);
	return l;
}

static uint64_t taken(const struct parts *p, enum part part, uint32_t culprit)
{
	for (unsigned i = 0; i < p->nculprits; i++) {
		if (p->c[i].part == (uint32_t)part && p->c[i].culprit == culprit)
			return p->c[i].ns;
	}
	return 0;
}

static const char *culprit_name(const struct stage *s, struct line *l, uint32_t id)
{
	const struct line_culprit *c = culprit_get(line_culprits(l), id);

	return c ? world_text(s->w, c->name).p : "nobody";
}

static void nesting(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct collected t;
	struct line *l;

	/* runtime call 0..100 with a driver call 10..60 in it, preempted 20..50 for the hog; then
	 * outside until 120 */
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 0, 100);
	stage_call(&s, v, OP_CU_LAUNCH, 1, 10, 60);
	stage_offcpu(&s, v, 2, 20, 50, 30, 1);
	stage_occupied(&s, hog, 1, 5, 45);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 120, 130);
	l = play(&s, &t);
	is_int(t.ncalls, 3, "three calls");
	is_u64(parts_get(&t.call_parts[0], PART_PREEMPTED), 25,
	       "driver call: preempted while the hog ran");
	is_u64(parts_get(&t.call_parts[0], PART_WAIT_UNKNOWN), 5,
	       "driver call: the rest of the wait has no name");
	is_u64(parts_get(&t.call_parts[0], PART_SELF), 20, "driver call: self is what is left");
	is_u64(parts_get(&t.call_parts[1], PART_PREEMPTED), 25,
	       "runtime call: the same wait, once");
	is_u64(parts_get(&t.call_parts[1], PART_SELF), 70,
	       "runtime call: its own time and the driver call's");
	is_int(t.noutside, 1, "one stretch outside calls");
	is_u64(parts_get(&t.outside_parts[0], PART_SELF), 20, "outside: on CPU");
	is_str(culprit_name(&s, l, t.call_parts[1].c[0].culprit), "hog", "the hog is named");
	line_free(l);
	stage_free(&s);
}

/* Nobody takes time from himself, under whichever name: the same thread before an exec, the same
 * process of which nobody knew when it began. */
static void itself(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "VLLM::EngineCor"), before = v, other = v;
	const struct world_thread *was = world_get_thread(s.w, v.thread);
	struct world_thread thread = *was;
	struct world_process process = *world_get_process(s.w, was->process);
	const struct line_culprit *c;
	struct collected t;
	struct line *l;

	thread.start_ns++;
	thread.comm = world_string(s.w, bytes_of("python"));
	before.thread = world_thread(s.w, &thread);
	process.start_ns = process.start_ns ? 0 : 7;
	thread.process = world_process(s.w, &process);
	thread.tid = 101;
	other.thread = world_thread(s.w, &thread);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 0, 100);
	stage_offcpu(&s, v, 2, 20, 50, 30, 1);
	stage_occupied(&s, before, 1, 5, 45);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 120, 200);
	stage_offcpu(&s, v, 2, 140, 150, 10, 1);
	stage_occupied(&s, other, 1, 135, 150);
	l = play(&s, &t);
	is_u64(parts_get(&t.call_parts[0], PART_PREEMPTED), 0,
	       "a thread does not preempt itself, whatever it was called");
	is_u64(parts_get(&t.call_parts[0], PART_WAIT_UNKNOWN), 30, "who did has no name");
	c = culprit_get(line_culprits(l),
			t.call_parts[1].nculprits ? t.call_parts[1].c[0].culprit : 0);
	ok(c && c->kind == CULPRIT_OWN, "another thread of the process is its own");
	ok(c && c->ntids == 1 && c->tids[0] == 101, "and told by its own number");
	line_free(l);
	stage_free(&s);
}

/* What a hypervisor takes from a running thread is not its own time, inside calls and between them.
 */
static void stolen(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct event *ev;
	struct collected t;
	struct line *l;

	/* a driver call 10..60 in a runtime call 0..100, 15 taken in the one and 7 in the rest of
	 * the other; 5 before the next call, which waits 130..160 behind the hog, 12 of that taken
	 * from both */
	stage_event(&s, OP_SCHED_STOLEN, v.ctx, 2, 45, 60);
	stage_call(&s, v, OP_CU_LAUNCH, 1, 10, 60);
	stage_event(&s, OP_SCHED_STOLEN, v.ctx, 1, 93, 100);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 0, 100);
	stage_event(&s, OP_SCHED_STOLEN, v.ctx, 0, 115, 120);
	stage_occupied(&s, hog, 1, 130, 160);
	ev = stage_offcpu(&s, v, 1, 130, 160, 30, 1);
	stage_set(ev, COL_STOLEN_NS, 12);
	stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, 120, 170);
	l = play(&s, &t);
	is_int(t.ncalls, 3, "three calls");
	is_u64(parts_get(&t.call_parts[0], PART_STOLEN), 15, "driver call: what was taken in it");
	is_u64(parts_get(&t.call_parts[0], PART_SELF), 35, "driver call: which is not its own");
	is_u64(parts_get(&t.call_parts[1], PART_STOLEN), 22, "runtime call: both");
	is_u64(parts_get(&t.call_parts[1], PART_SELF), 78, "runtime call: the rest");
	is_u64(parts_get(&t.outside_parts[0], PART_SELF), 15, "between: on CPU up to there");
	is_u64(parts_get(&t.outside_parts[1], PART_STOLEN), 5, "between: taken");
	is_u64(parts_get(&t.call_parts[2], PART_STOLEN), 12, "taken while it waited");
	is_u64(parts_get(&t.call_parts[2], PART_PREEMPTED), 18, "not by the hog");
	is_u64(line_totals(l)->unsound, 0, "nothing contradicts itself");
	line_free(l);
	stage_free(&s);
}

static void slices(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     a = stage_actor(&s, 200, 200, 1, "hog"),
		     b = stage_actor(&s, 300, 300, 1, "other"),
		     own = stage_actor(&s, 100, 101, 1, "train");
	struct collected t;
	struct line *l;

	/* waits 0..100 on CPU 0, is moved to CPU 1 at 60; slices overlap the wait only in part */
	stage_offcpu(&s, v, 0, 0, 100, 100, 0);
	stage_set(&s.ev.v[s.ev.n - 1], COL_CPU_IN, 1);
	stage_migrate(&s, v, 60, 0, 1);
	stage_occupied(&s, a, 0, -50, 30);
	stage_occupied(&s, b, 0, 30, 60);
	stage_occupied(&s, a, 1, 0, 60); /* before it came here: not its business */
	stage_occupied(&s, own, 1, 60, 100);
	l = play(&s, &t);
	is_int(t.noff, 1, "one interval");
	is_u64(parts_get(&t.off_parts[0], PART_PREEMPTED), 100, "all of it covered");
	is_int(t.off_parts[0].nculprits, 3, "three takers");
	for (unsigned i = 0; i < t.off_parts[0].nculprits; i++) {
		const struct line_culprit *c =
			culprit_get(line_culprits(l), t.off_parts[0].c[i].culprit);
		uint64_t ns = t.off_parts[0].c[i].ns;

		if (c->kind == CULPRIT_OWN)
			is_u64(ns, 40, "own thread");
		else
			is_u64(ns, strcmp(world_text(s.w, c->name).p, "hog") ? 30 : 30,
			       "each its overlap");
	}
	line_free(l);

	/* the same with the migration lost: nobody is blamed */
	for (size_t i = 0; i < s.ev.n; i++) {
		if (s.ev.v[i].op == OP_SCHED_MIGRATE)
			s.ev.v[i] = s.ev.v[--s.ev.n];
	}
	l = play(&s, &t);
	is_u64(parts_get(&t.off_parts[0], PART_WAIT_UNKNOWN), 100,
	       "lost migration: the CPU is not known");
	is_int(t.off_parts[0].nculprits, 0, "lost migration: nobody blamed");
	line_free(l);
	stage_free(&s);
}

static void throttle(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct collected t;
	struct line *l;

	/* a hog runs all through a wait of 100 of which 80 were throttled: only 20 can be the hog's
	 */
	stage_offcpu(&s, v, 0, 0, 100, 100, 0);
	stage_set(&s.ev.v[s.ev.n - 1], COL_THROTTLED_NS, 80);
	stage_occupied(&s, hog, 0, 0, 100);
	l = play(&s, &t);
	is_u64(parts_get(&t.off_parts[0], PART_THROTTLED), 80, "throttled first");
	is_u64(parts_get(&t.off_parts[0], PART_PREEMPTED), 20, "the hog gets the rest");
	line_free(l);
	stage_free(&s);
}

/* Woken at 60, while the hog has the CPU, which is the thread's own from 75 on: the hog took 15. */
static void given(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct collected t;
	struct line *l;

	stage_occupied(&s, hog, 0, 60, 75);
	stage_occupied(&s, v, 0, 75, 100);
	stage_offcpu(&s, v, 0, 0, 100, 40, 0);
	l = play(&s, &t);
	is_u64(parts_get(&t.off_parts[0], PART_RUNQ), 15, "woken: the hog had the CPU");
	is_u64(parts_get(&t.off_parts[0], PART_CPU_IDLE), 25, "woken: it switched");
	line_free(l);
	stage_free(&s);
}

static void locks(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     holder = stage_actor(&s, 100, 101, 1, "loader"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct collected t;
	struct line *l;
	const struct line_culprit *c;

	/* waits 0..100 for a lock; the holder was preempted 20..70 by the hog on CPU 3; released at
	 * 100 */
	stage_lock(&s, v, 0, 0, 100, 100, holder, 0x1000);
	stage_offcpu(&s, holder, 0, 20, 70, 50, 3);
	stage_occupied(&s, hog, 3, 10, 70);
	l = play(&s, &t);
	is_int(t.noff, 2, "two intervals");
	is_u64(parts_get(&t.off_parts[1], PART_LOCK), 50, "the holder holds for half of it");
	is_u64(parts_get(&t.off_parts[1], PART_PREEMPTED), 50, "the blame for the rest moves on");
	for (unsigned i = 0; i < t.off_parts[1].nculprits; i++) {
		c = culprit_get(line_culprits(l), t.off_parts[1].c[i].culprit);
		if (t.off_parts[1].c[i].part == PART_PREEMPTED) {
			is_str(world_text(s.w, c->name).p, "hog", "to the hog");
			ok(c->via != 0, "and the path is kept");
			is_u64(c->base, t.off_parts[0].c[0].culprit, "it is the same hog");
		} else {
			is_str(world_text(s.w, c->name).p, "loader", "the holder is named");
		}
	}
	line_free(l);
	s.ev.n = 0;

	/* two recorders tell of what the holder waited for: it waited once */
	stage_lock(&s, v, 0, 0, 100, 100, holder, 0x1000);
	stage_offcpu(&s, holder, 0, 10, 90, 80, 3);
	stage_offcpu(&s, holder, 0, 10, 90, 80, 3);
	stage_occupied(&s, hog, 3, 10, 90);
	l = play(&s, &t);
	is_u64(parts_get(&t.off_parts[2], PART_LOCK), 20,
	       "told twice, the holder holds for the rest");
	is_u64(parts_get(&t.off_parts[2], PART_PREEMPTED), 80, "and the blame moves on once");
	line_free(l);
	s.ev.n = 0;

	/* two timed waits on one lock just before the release: one wait, charged to the releaser */
	for (int i = 0; i < 2; i++) {
		struct event *ev = stage_lock(&s, v, 0, i * 5000, i * 5000 + 4990, i * 5000 + 4990,
					      holder, 0x1000);

		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		stage_set(ev, COL_WAKER, 0);
		ev->present &= ~(1u << op_column(op_builtin(ev->op), COL_WAKER));
	}
	stage_lock(&s, v, 0, 10000, 12000, 12000, holder, 0x1000);
	l = play(&s, &t);
	is_u64(parts_get(&t.off_parts[0], PART_LOCK), 4990, "a timed-out wait is lock time");
	is_int(t.off_parts[0].nculprits, 0, "of nobody yet");
	is_u64(parts_get(&t.off_parts[2], PART_LOCK), 2000, "the last wait");
	is_u64(t.off_parts[2].c[0].ns, 2000 + 2 * 4990, "the releaser answers for all three");
	line_free(l);
	s.ev.n = 0;

	/* a worker pool waiting for work: the same futex command, another value */
	stage_set(stage_lock(&s, v, 0, 0, 100, 100, holder, 0x1000), COL_FUTEX_VAL, 8);
	/* a condition variable */
	stage_set(stage_lock(&s, v, 0, 200, 300, 300, holder, 0x1000), COL_FUTEX_OP, 9);
	l = play(&s, &t);
	is_u64(parts_get(&t.off_parts[0], PART_IDLE), 100, "a pool waiting for work is idle");
	is_u64(parts_get(&t.off_parts[1], PART_IDLE), 100, "a condition is idle");
	is_int(t.off_parts[0].nculprits + t.off_parts[1].nculprits, 0, "and nobody's fault");
	line_free(l);
	stage_free(&s);
}

static void device(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     dev = stage_actor(&s, 100, 102, 1, "double");
	struct collected t;
	struct line *l;
	struct event *ev;

	/* a sync that blocks on a condition until the driver's thread wakes it, then spins */
	stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, 0, 1000);
	stage_call(&s, v, OP_CU_STREAM_SYNC, 1, 100, 900);
	stage_set(stage_lock(&s, v, 2, 200, 700, 700, dev, 0x2000), COL_FUTEX_OP, 9);
	/* the same wait in a call that does not wait for the device is idle time */
	stage_call(&s, v, OP_CUDA_MALLOC, 0, 2000, 3000);
	stage_set(stage_lock(&s, v, 1, 2200, 2700, 2700, dev, 0x2000), COL_FUTEX_OP, 9);
	/* a mutex in a sync is still a mutex */
	stage_call(&s, v, OP_CUDA_DEVICE_SYNC, 0, 4000, 5000);
	stage_lock(&s, v, 1, 4200, 4700, 4700, dev, 0x3000);
	/* ioctl on the device, anywhere */
	stage_call(&s, v, OP_CU_MEM_ALLOC, 0, 6000, 7000);
	ev = stage_offcpu(&s, v, 1, 6100, 6900, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_GPU);
	l = play(&s, &t);
	is_u64(parts_get(&t.call_parts[0], PART_DEVICE), 800,
	       "blocked and spinning in the driver's sync");
	is_u64(parts_get(&t.call_parts[1], PART_DEVICE), 800, "the runtime's sync contains it");
	is_u64(parts_get(&t.call_parts[1], PART_SELF), 200, "and does the rest itself");
	is_u64(parts_get(&t.call_parts[2], PART_IDLE), 500, "outside a sync it is idle time");
	is_u64(parts_get(&t.call_parts[3], PART_LOCK), 500, "a mutex stays a mutex");
	is_u64(parts_get(&t.call_parts[4], PART_DEVICE), 800, "the device's ioctl");
	line_free(l);
	stage_free(&s);
}

static void broken(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 1, "hog");
	struct collected t;
	struct line *l;

	/* the call around an inner call was lost: what follows is not its parent */
	stage_call(&s, v, OP_CU_LAUNCH, 1, 10, 60);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 100, 200);
	l = play(&s, &t);
	is_u64(parts_get(&t.call_parts[1], PART_SELF), 100,
	       "a call does not adopt what ended before it began");
	is_u64(parts_get(&t.outside_parts[0], PART_SELF), 50, "the orphan's parts are facts");
	line_free(l);
	s.ev.n = 0;

	/* children before and inside: which is which is not known */
	stage_call(&s, v, OP_CU_LAUNCH, 1, 10, 60);
	stage_call(&s, v, OP_CU_LAUNCH, 1, 110, 160);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 100, 200);
	l = play(&s, &t);
	ok(!t.calls[2].sound, "contradiction seen");
	is_u64(parts_get(&t.call_parts[2], PART_UNKNOWN), 100, "and the whole call unknown");
	line_free(l);
	s.ev.n = 0;

	/* interrupted between reading the clock and entering the table of open calls: the interval
	 * has the outer depth */
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 0, 100);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 200, 300);
	stage_offcpu(&s, v, 0, 205, 225, 20, 1);
	stage_occupied(&s, hog, 1, 205, 225);
	l = play(&s, &t);
	is_u64(t.calls[1].overlap_ns, 25,
	       "what lies before the end of the interval was told already");
	is_u64(parts_get(&t.call_parts[1], PART_SELF), 75, "the rest of the call stays known");
	line_free(l);
	s.ev.n = 0;

	/* events are missing inside a call: its time on CPU is not known to be that */
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 0, 100);
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 200, 300);
	memset(&t, 0, sizeof(t));
	t.sink = (struct line_sink){ on_call, on_outside, on_off };
	l = line_new(s.w, &t.sink);
	line_event(l, &s.ev.v[0], false, NULL);
	line_lost(l, 210, 220, 3);
	line_event(l, &s.ev.v[1], false, NULL);
	is_u64(parts_get(&t.call_parts[0], PART_SELF), 100, "before the loss");
	is_u64(parts_get(&t.call_parts[1], PART_UNKNOWN), 100, "across the loss");
	/* a call still open at the end takes what it holds so far */
	stage_offcpu(&s, v, 1, 320, 380, 60, 1);
	line_event(l, &s.ev.v[2], false, NULL);
	line_open(l, v.thread, OP_CUDA_DEVICE_SYNC, 310, 0, 0, 500, NULL);
	is_int(t.ncalls, 3, "open call told");
	ok(t.calls[2].open, "as open");
	is_u64(parts_get(&t.call_parts[2], PART_WAIT_UNKNOWN), 60, "with its parts");
	is_u64(parts_get(&t.call_parts[2], PART_UNKNOWN), 130, "the rest not known");
	line_free(l);
	stage_free(&s);
}

static void folding(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	struct collected t;
	struct line *l;

	/* a compiler's children are one culprit; the same command under another parent is another */
	for (uint32_t i = 0; i < 40; i++) {
		struct actor c = stage_actor(&s, 1000 + i, 1000 + i, i < 39 ? 50 : 51, "cc1");

		stage_occupied(&s, c, 0, i * 100, i * 100 + 80);
		stage_offcpu(&s, v, 0, i * 100, i * 100 + 80, 80, 0);
	}
	l = play(&s, &t);
	is_u64(line_culprits(l)->v.n, 2, "two culprits");
	is_u64(culprit_get(line_culprits(l), 1)->npids, 39, "39 processes in the first");
	is_u64(taken(&t.off_parts[3], PART_PREEMPTED, 1), 80, "each child's slice goes to it");
	line_free(l);
	stage_free(&s);
}

/* A thread that waits long on a busy CPU: what many short processes of one command took is one sum,
 * before the largest are kept, however small each of them was and whoever came after. */
static void many(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	static const char *const others[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
	int64_t at = 0;
	struct collected t;
	struct line *l;
	uint32_t who;

	for (uint32_t i = 0; i < 200; i++, at += 4)
		stage_occupied(&s, stage_actor(&s, 1000 + i, 1000 + i, 50, "cc1"), 0, at, at + 4);
	for (uint32_t i = 0; i < 9; i++, at += 20)
		stage_occupied(&s, stage_actor(&s, 2000 + i, 2000 + i, 1, others[i]), 0, at,
			       at + 20);
	stage_offcpu(&s, v, 0, 0, at, (uint64_t)at, 0);
	l = play(&s, &t);
	who = culprit_task(line_culprits(l), stage_actor(&s, 1000, 1000, 50, "cc1").thread,
			   v.process, 0);
	is_u64(parts_get(&t.off_parts[0], PART_PREEMPTED), (uint64_t)at, "all of it by somebody");
	is_u64(taken(&t.off_parts[0], PART_PREEMPTED, who), 800,
	       "most by one command, in 200 processes");
	line_free(l);
	stage_free(&s);
}

/* What the recorder takes is a state of its own, and nobody's fault: its threads on the CPU, its
 * stops, the memory map it held. A program of its name is another matter. */
static void recorder(void)
{
	static const struct {
		enum event_object object;
		bool by_recorder;
		enum part part;
	} blocked[] = {
		{ OBJECT_STOP, true, PART_ATTACH },  { OBJECT_FAULT, true, PART_ATTACH },
		{ OBJECT_FD, true, PART_FD },	     { OBJECT_STOP, false, PART_STOPPED },
		{ OBJECT_FAULT, false, PART_FAULT }, { OBJECT_MAP, true, PART_ATTACH },
		{ OBJECT_MAP, false, PART_LOCK },
	};
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     rec = stage_actor(&s, 300, 301, 1, "ingero-record"),
		     alike = stage_actor(&s, 400, 400, 1, "ingero-record");
	struct collected t = { .sink = { on_call, on_outside, on_off } };
	int64_t at = 200;
	struct line *l;

	stage_call(&s, v, OP_CUDA_LAUNCH, 0, 0, 100);
	stage_offcpu(&s, v, 1, 10, 60, 50, 1);
	stage_occupied(&s, rec, 1, 10, 40);
	stage_occupied(&s, alike, 1, 40, 60);
	for (size_t i = 0; i < sizeof(blocked) / sizeof(*blocked); i++, at += 100) {
		struct event *ev = stage_offcpu(&s, v, 0, at, at + 50, 10, 1);

		stage_set(ev, COL_OBJECT_KIND, blocked[i].object);
		stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
		stage_set(ev, COL_WAKER, blocked[i].by_recorder ? rec.thread : alike.thread);
	}
	stage_sort(&s);
	l = line_new(s.w, &t.sink);
	ok(culprits_recorded_by(line_culprits(l), 0, 300, 300000), "who recorded it");
	for (size_t i = 0; i < s.ev.n; i++)
		line_event(l, &s.ev.v[i], false, NULL);
	is_u64(parts_get(&t.call_parts[0], PART_RECORDER), 30, "the recorder had the CPU");
	is_u64(parts_get(&t.call_parts[0], PART_PREEMPTED), 20, "another of its name took it");
	is_u64(t.call_parts[0].nculprits, 1, "one culprit");
	ok(t.call_parts[0].nculprits == 1 &&
		   culprit_get(line_culprits(l), t.call_parts[0].c[0].culprit)->process ==
			   alike.process,
	   "who is not the recorder");
	for (size_t i = 0; i < sizeof(blocked) / sizeof(*blocked); i++)
		is_u64(parts_get(&t.off_parts[i + 1], blocked[i].part), 40, "%s, let go by %s: %s",
		       blocked[i].object == OBJECT_STOP	   ? "stopped"
		       : blocked[i].object == OBJECT_FAULT ? "in a fault"
		       : blocked[i].object == OBJECT_MAP   ? "for its map"
							   : "at a pipe",
		       blocked[i].by_recorder ? "the recorder" : "another",
		       part_name(blocked[i].part));
	line_free(l);
	stage_free(&s);
}

int main(void)
{
	recorder();
	nesting();
	itself();
	stolen();
	slices();
	throttle();
	given();
	locks();
	device();
	broken();
	folding();
	many();
	return tap_done();
}
