/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of programs without Python frames: what calls they make, in which threads, and how many
 * steps there are of how many calls.
 */
#include "tests/tap.h"

#include "lib/event/tier.h"
#include "tests/unit/loops_play.h"

static void op(struct play *p, uint16_t op, const char *place)
{
	call_in(p, p->a, op, place);
}

/* A step of an inference: five calls that stand more than once in it, two that do not. */
static void decode(struct play *p, struct actor a)
{
	for (int i = 0; i < 3; i++) {
		call_in(p, a, OP_CUDA_MEMCPY_ASYNC, "set_tensor");
		call_in(p, a, OP_CUDA_STREAM_SYNC, "set_tensor");
	}
	for (int i = 0; i < 12; i++)
		call_in(p, a, OP_CUDA_LAUNCH, "layer");
	call_in(p, a, OP_CUDA_MEMCPY_ASYNC, "get_tensor");
	call_in(p, a, OP_CUDA_STREAM_SYNC, "synchronize");
}

static void load(struct play *p)
{
	char text[40];

	for (int i = 0; i < 60; i++) {
		snprintf(text, sizeof(text), "load %d", i);
		op(p, i % 3 ? OP_CUDA_MEMCPY : OP_CUDA_DEVICE_SYNC, text);
	}
}

static void inference(struct play *p)
{
	load(p);
	for (int i = 0; i < 300; i++)
		decode(p, p->a);
}

/* Its threads take turns. */
static void hopping(struct play *p)
{
	load(p);
	for (int i = 0; i < 300; i++)
		decode(p, i % 3 ? p->a : p->b);
}

static void few(struct play *p)
{
	for (int i = 0; i < 10; i++)
		decode(p, p->a);
}

static void only_waits(struct play *p)
{
	for (int i = 0; i < 500; i++) {
		op(p, OP_CUDA_LAUNCH, "main");
		op(p, OP_CUDA_STREAM_SYNC, "main");
	}
}

/* As many launches and copies as there are requests. */
static void growing(struct play *p)
{
	for (int i = 0; i < 400; i++) {
		for (int k = 0; k < 1 + i / 40; k++)
			op(p, OP_CUDA_MEMCPY_ASYNC, "request");
		op(p, OP_CUDA_STREAM_SYNC, "request");
	}
}

static void checkpoints(struct play *p)
{
	for (int i = 0; i < 400; i++) {
		decode(p, p->a);
		if (i % 50 == 49) {
			op(p, OP_CUDA_MEMCPY, "save");
			op(p, OP_CUDA_DEVICE_SYNC, "save");
		}
	}
}

/* The second half of the program makes other steps. */
static void two_loops(struct play *p)
{
	for (int i = 0; i < 400; i++)
		decode(p, p->a);
	for (int i = 0; i < 900; i++) {
		op(p, OP_CUDA_MEMCPY, "evaluate");
		op(p, OP_CUDA_STREAM_SYNC, "evaluate");
		op(p, OP_CUDA_MEMCPY, "metric");
	}
}

/* The first one is known when the second one begins. */
static void two_long_loops(struct play *p)
{
	for (int i = 0; i < 1500; i++)
		decode(p, p->a);
	for (int i = 0; i < 12000; i++) {
		op(p, OP_CUDA_MEMCPY, "evaluate");
		op(p, OP_CUDA_STREAM_SYNC, "evaluate");
		op(p, OP_CUDA_MEMCPY, "metric");
	}
}

/* Epochs of two loops: they are the same two each time. */
static void epochs(struct play *p)
{
	for (int epoch = 0; epoch < 5; epoch++) {
		for (int i = 0; i < 1500; i++)
			decode(p, p->a);
		for (int i = 0; i < 500; i++) {
			op(p, OP_CUDA_MEMCPY, "evaluate");
			op(p, OP_CUDA_STREAM_SYNC, "evaluate");
			op(p, OP_CUDA_MEMCPY, "metric");
		}
	}
}

/* Another thread makes calls in no order that goes with those. */
static void beside(struct play *p)
{
	uint32_t x = 1;

	for (int i = 0; i < 400; i++) {
		decode(p, p->a);
		x = x * 1664525 + 1013904223;
		for (uint32_t k = x >> 29; k < 6; k++)
			call_in(p, p->b, OP_CUDA_STREAM_SYNC, x >> 20 & 1 ? "poll" : "drain");
	}
}

/* Two threads make the same steps at the same time, and wait most of it. */
static void side_by_side(struct play *p)
{
	for (int i = 0; i < 6000; i++) {
		struct actor a = i % 2 ? p->a : p->b;

		p->now += (i * 7919) % 13 * US;
		call_in(p, a, OP_CUDA_MEMCPY_ASYNC, "batch");
		call_in(p, a, OP_CUDA_MEMCPY_ASYNC, "loss");
		p->step_ns *= 9;
		call_in(p, a, OP_CUDA_STREAM_SYNC, "loss");
		p->step_ns /= 9;
		p->now -= 7 * p->step_ns;
	}
}

/* What a layer does and what a step does look alike then. */
static void bare(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		op(p, OP_CUDA_MEMCPY_ASYNC, NULL);
		op(p, OP_CUDA_LAUNCH, NULL);
		op(p, OP_CUDA_STREAM_SYNC, NULL);
	}
}

static void graphs(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		op(p, OP_CUDA_MEMCPY_ASYNC, "step");
		op(p, OP_CUDA_GRAPH_LAUNCH, "step");
		op(p, OP_CUDA_STREAM_SYNC, "step");
	}
}

/* One wait for each half of a step. */
static void wait_inside(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		op(p, OP_CUDA_MEMCPY_ASYNC, "a");
		op(p, OP_CUDA_STREAM_SYNC, "a");
		op(p, OP_CUDA_MEMCPY_ASYNC, "b");
		op(p, OP_CUDA_DEVICE_SYNC, "b");
	}
}

/* A copy for each tensor: of some batches there are fewer. */
static void tensors(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		for (int k = i % 7 == 6 ? 2 : 0; k < 4; k++)
			op(p, OP_CUDA_MEMCPY_ASYNC, "tensor");
		op(p, OP_CUDA_MEMCPY_ASYNC, "label");
		op(p, OP_CUDA_STREAM_SYNC, "loss");
	}
}

static void launches_alone(struct play *p)
{
	for (int i = 0; i < 1000; i++) {
		op(p, OP_CUDA_LAUNCH, "a");
		op(p, OP_CUDA_LAUNCH, "b");
	}
}

static void no_order(struct play *p)
{
	static const char *const places[] = { "a", "b", "c", "d", "e" };
	uint32_t x = 1;

	for (int i = 0; i < 9000; i++) {
		x = x * 1664525 + 1013904223;
		op(p, x >> 16 & 1 ? OP_CUDA_MEMCPY : OP_CUDA_STREAM_SYNC, places[(x >> 20) % 5]);
	}
}

/* Threads of a Python program have no Python frames at times. */
static void python(struct play *p)
{
	call(p, "main:1");
	for (int i = 0; i < 400; i++)
		decode(p, p->b);
}

static void python_later(struct play *p)
{
	for (int i = 0; i < 3000; i++)
		decode(p, p->b);
	call(p, "main:1");
}

static const struct row {
	const char *name;
	void (*run)(struct play *p);
	const char *want;
} rows[] = {
	{ "an inference, after its start", inference, "300 of 8 calls" },
	{ "threads that take turns", hopping, "300 of 8 calls" },
	{ "ten steps", few, "10 of 8 calls" },
	{ "a wait", only_waits, "500 of 1 calls" },
	{ "copies, more each time", growing, "400 of 2 calls" },
	{ "a checkpoint now and then", checkpoints, "400 of 8 calls" },
	{ "two loops", two_loops, "400 of 8 calls" },
	{ "two long loops", two_long_loops, "12000 of 3 calls" },
	{ "epochs", epochs, "7500 of 8 calls" },
	{ "a thread beside", beside, "400 of 8 calls" },
	{ "two threads side by side", side_by_side, "3000 of 3 calls" },
	{ "calls without stacks", bare, "" },
	{ "graphs and a wait", graphs, "300 of 3 calls" },
	{ "a wait inside a step", wait_inside, "300 of 4 calls" },
	{ "a copy for each tensor", tensors, "300 of 3 calls" },
	{ "launches alone", launches_alone, "" },
	{ "no order", no_order, "" },
	{ "a Python program", python, "" },
	{ "a Python program, as it turns out", python_later, "" },
};

/* Of the process's loop that took longest. */
static const struct loop *longest(const struct play *p)
{
	const struct loop *best = NULL;

	for (size_t i = 0; i < loops_count(p->loops); i++) {
		const struct loop *l = loops_get(p->loops, i);

		if (!l->is_void && l->count && (!best || l->ns > best->ns))
			best = l;
	}
	return best;
}

static void table(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct play p = play_new();
		const struct loop *l;
		char text[100] = "";

		play_begin(&p);
		rows[i].run(&p);
		if (loops_finish(p.loops, NULL))
			abort();
		l = longest(&p);
		if (l)
			snprintf(text, sizeof(text), "%" PRIu64 " of %u calls", l->estimate,
				 l->period);
		is_str(text, rows[i].want, "%s", rows[i].name);
		is_u64(p.disorder, 0, "%s: steps come in order, without overlap", rows[i].name);
		play_free(&p);
	}
}

static void pause_tiers(struct play *p, unsigned tiers, int64_t since, int64_t until)
{
	for (unsigned tier = 0; tier < TIERS; tier++) {
		struct record r = { .kind = RECORD_PAUSED };

		if (!(tiers >> tier & 1))
			continue;
		REC_SET(&r, PAUSED, since_ns, since);
		if (until)
			REC_SET(&r, PAUSED, until_ns, until);
		REC_SET(&r, PAUSED, tier, tier);
		REC_SET(&r, PAUSED, node, p->s.node);
		if (loops_record(p->loops, &r, NULL))
			abort();
	}
}

/* Steps of which some tiers are recorded a fifth of the time only, the last ones, too. */
static const struct loop *in_windows(struct play *p, unsigned tiers)
{
	int64_t since = 0;

	for (int i = 0; i < 3000; i++) {
		bool paused = i > 600 && i % 100 < 80;
		int64_t began = p->now;

		if (paused && !since)
			pause_tiers(p, tiers, since = p->now - 10 * US, 0);
		else if (!paused && since)
			pause_tiers(p, tiers, since, p->now - 10 * US);
		since = paused ? since : 0;
		if (!paused || !(tiers >> TIER_SUBMITS & 1))
			op(p, OP_CUDA_MEMCPY_ASYNC, "batch");
		if (!paused || !(tiers >> TIER_WAITS & 1))
			op(p, OP_CUDA_STREAM_SYNC, "loss");
		p->now = began + 3 * p->step_ns;
	}
	if (loops_finish(p->loops, NULL))
		abort();
	return longest(p);
}

static void windows(void)
{
	struct play p = play_new(), q = play_new();
	const struct loop *l;

	play_begin(&p);
	l = in_windows(&p, 1u << TIER_SUBMITS);
	is_u64(l->estimate, 3000, "copies in windows: the waits tell steps");
	is_u64(l->uncertain, 0, "for certain");
	play_free(&p);
	play_begin(&q);
	l = in_windows(&q, 1u << TIER_SUBMITS | 1u << TIER_WAITS);
	is_near((double)l->estimate, 3000, 60, "all in windows: within 2 %%");
	ok(l->fewest <= 3000 && l->most >= 3000 && l->fewest > 2400 && l->most < 3600,
	   "%.0f to %.0f", l->fewest, l->most);
	ok(l->uncertain > 0, "not for certain");
	is_u64(q.disorder, 0, "steps come in order");
	play_free(&q);
}

/* Copies are not recorded any more when the loop is known: what tells its steps goes on. */
static void copies_paused(void)
{
	struct play p = play_new();
	const struct loop *l;

	play_begin(&p);
	for (int i = 0; i < 3000; i++) {
		if (i == 2000)
			pause_tiers(&p, 1u << TIER_SUBMITS, p.now - 10 * US, 0);
		if (i < 2000) {
			op(&p, OP_CUDA_MEMCPY_ASYNC, "batch");
			op(&p, OP_CUDA_MEMCPY_ASYNC, "loss");
		}
		op(&p, OP_CUDA_STREAM_SYNC, "loss");
	}
	if (loops_finish(p.loops, NULL))
		abort();
	l = longest(&p);
	is_u64(l->estimate, 3000, "copies are detached after the loop was found");
	is_u64(l->uncertain, 0, "the wait goes on to tell its steps");
	play_free(&p);
}

static void wait_in(struct play *p, struct actor a, uint64_t kind, int64_t from, int64_t to)
{
	const struct op_def *def = op_builtin(OP_SCHED_OFFCPU);
	struct event ev = {
		.end_ns = to, .dur_ns = (uint64_t)(to - from), .op = OP_SCHED_OFFCPU, .ctx = a.ctx
	};

	event_set(&ev, def, COL_SYSCALL, 7);
	event_set(&ev, def, COL_OBJECT_KIND, kind);
	if (loops_event(p->loops, &ev, NULL))
		abort();
}

/* A wait of the thread for its device, in the system call that the library makes for it. */
static void poll_device(struct play *p)
{
	wait_in(p, p->a, OBJECT_POLL, p->now + p->step_ns / 4, p->now + p->step_ns / 2);
	p->now += p->step_ns;
}

/* Calls are recorded in a third of the steps, and no more to the end. Once the program does
 * something else for as long as fifty of them. */
static const struct loop *paused_to_the_end(struct play *p, bool polls)
{
	for (int i = 0; i < 3000; i++) {
		if (i == 1000)
			pause_tiers(p, 1u << TIER_SUBMITS | 1u << TIER_WAITS, p->now - 10 * US, 0);
		if (i < 1000)
			op(p, OP_CUDA_MEMCPY_ASYNC, "batch");
		if (polls)
			poll_device(p);
		if (i < 1000)
			op(p, OP_CUDA_STREAM_SYNC, "loss");
		else
			p->now += 2 * p->step_ns;
		if (i == 2500)
			p->now += 50 * 3 * p->step_ns;
	}
	op(p, OP_CPU_SAMPLE, "end");
	if (loops_finish(p->loops, NULL))
		abort();
	return longest(p);
}

static void never_again(void)
{
	struct play p = play_new(), q = play_new();
	const struct loop *l;

	play_begin(&p);
	l = paused_to_the_end(&p, true);
	is_near((double)l->estimate, 3000, 2, "calls are detached to the end: a wait tells steps");
	ok(l->uncertain > 1900 && !l->least, "which are not certain");
	is_u64(p.steps, l->count, "each is told");
	is_near((double)l->ns / 3000, 3 * 100 * US, 1 * US,
		"and what the program did in between is no part of them");
	is_u64(p.disorder, 0, "steps come in order");
	play_free(&p);
	play_begin(&q);
	l = paused_to_the_end(&q, false);
	is_u64(l->count, 1000, "without one only those are told of which calls were recorded");
	ok(l->least, "there were at least so many");
	play_free(&q);
}

/* Steps and their number of the longest loop of a thread. */
static uint64_t steps_of(const struct play *p, struct actor a)
{
	int at = loops_main(p->loops, a.thread);

	return at < 0 ? 0 : loops_get(p->loops, (size_t)at)->count;
}

static void leave(struct play *p, struct actor a)
{
	struct event ev = { .end_ns = p->now, .op = OP_PROC_EXIT, .ctx = a.ctx };

	if (loops_event(p->loops, &ev, NULL))
		abort();
}

/* Each thread that makes calls at the same time as others has a loop of its own, from its first
 * step on: also one that comes later, and one that has ended when it is looked for them. */
static void at_once(void)
{
	struct play p = play_new();
	struct actor early = stage_actor(&p.s, 10, 12, 1, "early"),
		     late = stage_actor(&p.s, 10, 13, 1, "late"), v[3];
	size_t loops = 0;

	play_begin(&p);
	for (int i = 0; i < 9000; i++) {
		v[0] = p.a;
		v[1] = p.b;
		v[2] = i < 600 ? early : late;
		p.now += (i * 7919) % 13 * US;
		if (i == 600)
			leave(&p, early);
		if (i % 3 == 2 && i >= 600 && i < 3000)
			continue;
		call_in(&p, v[i % 3], OP_CUDA_MEMCPY_ASYNC, "batch");
		p.step_ns *= 9;
		call_in(&p, v[i % 3], OP_CUDA_STREAM_SYNC, "loss");
		p.step_ns /= 9;
		p.now -= 6 * p.step_ns;
	}
	if (loops_finish(p.loops, NULL))
		abort();
	is_u64(steps_of(&p, p.a), 3000, "a thread of several at once");
	is_u64(steps_of(&p, p.b), 3000, "another one");
	is_u64(steps_of(&p, early), 200, "one that ended early");
	is_u64(steps_of(&p, late), 2000, "one that came later");
	for (size_t i = 0; i < loops_count(p.loops); i++)
		loops += loops_get(p.loops, i)->count > 0;
	is_u64(loops, 4, "a loop each");
	play_free(&p);
}

/* Steps of two threads, none of whose calls overlap. turns: each waits while the other one makes a
 * step. */
static void make_turns(struct play *p, bool turns)
{
	int64_t slept[2] = { p->now, p->now };
	bool was_other = false;

	for (int i = 0; i < 1000; i++) {
		bool other = i % 7 == 2 || i % 7 == 5;
		struct actor a = other ? p->b : p->a;

		if (turns && i > 2 && other != was_other)
			wait_in(p, a, OBJECT_FUTEX, slept[other], p->now - 20 * US);
		if (other != was_other)
			slept[was_other] = p->now - 30 * US;
		was_other = other;
		wait_in(p, a, OBJECT_POLL, p->now - 10 * US, p->now - 5 * US);
		call_in(p, a, OP_CUDA_MEMCPY_ASYNC, "batch");
		call_in(p, a, OP_CUDA_STREAM_SYNC, "loss");
	}
	if (loops_finish(p->loops, NULL))
		abort();
}

/* Calls that are short seldom overlap: what the other one did meanwhile tells. */
static void awake(void)
{
	struct play p = play_new(), q = play_new();

	play_begin(&p);
	make_turns(&p, false);
	is_u64(steps_of(&p, p.a), 714, "a thread that goes on beside another one's calls");
	is_u64(steps_of(&p, p.b), 286, "has a loop of its own, and so has that one");
	play_free(&p);
	play_begin(&q);
	make_turns(&q, true);
	is_u64(steps_of(&q, q.a), 1000, "threads that wait for their turns have one loop");
	is_u64(steps_of(&q, q.b), 0, "and no other one");
	play_free(&q);
}

/* So many that not all are looked at: what is held of them is bounded. */
static void crowd(void)
{
	struct play p = play_new();
	struct actor v[40];
	unsigned with = 0;

	for (unsigned i = 0; i < 40; i++)
		v[i] = stage_actor(&p.s, 10, 100 + i, 1, "pool");
	play_begin(&p);
	for (unsigned i = 0; i < 20000; i++) {
		call_in(&p, v[i % 40], OP_CUDA_MEMCPY_ASYNC, "batch");
		p.step_ns *= 9;
		call_in(&p, v[i % 40], OP_CUDA_STREAM_SYNC, "loss");
		p.step_ns /= 9;
		p.now -= 9 * p.step_ns;
	}
	if (loops_finish(p.loops, NULL))
		abort();
	for (unsigned i = 0; i < 40; i++)
		with += steps_of(&p, v[i]) > 400;
	is_u64(with, 17, "of forty threads the loops of one, and of sixteen beside it");
	play_free(&p);
}

int main(void)
{
	table();
	windows();
	copies_paused();
	never_again();
	at_once();
	awake();
	crowd();
	return tap_done();
}
