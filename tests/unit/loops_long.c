/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of programs over time: phases, several threads, probes that are detached, events that are
 * lost, and what is held of a program that never repeats itself.
 */
#include "tests/tap.h"

#include "lib/event/tier.h"
#include "tests/unit/loops_play.h"

static void train(struct play *p, int n)
{
	for (int i = 0; i < n; i++) {
		call(p, "main:5 train:10");
		call(p, "main:5 train:11");
		call(p, "main:5 train:12");
	}
}

/* Training, validation, training, and an end. */
static void phases(void)
{
	struct play p = play_new();
	char text[200];

	play_begin(&p);
	for (int i = 1; i < 200; i++)
		call(&p, i % 2 ? "main:2" : "main:3");
	train(&p, 300);
	for (int i = 0; i < 300; i++) {
		call(&p, "main:6 validate:20");
		call(&p, "main:6 validate:21");
	}
	train(&p, 300);
	for (int i = 8; i < 100; i++) {
		snprintf(text, sizeof(text), "main:%d save:30", i);
		call(&p, text);
	}
	if (loops_finish(p.loops, NULL))
		abort();
	is_str(summary_of(&p, p.a.thread, text, sizeof(text)), "600 steps of train:10-12",
	       "the loop that took longest");
	like(put_phases(&p), "[train 300][validate 300][train 300][]",
	     "phases in order, and an end without steps");
	is_u64(p.disorder, 0, "steps come in order");
	play_free(&p);
}

static void threads(void)
{
	struct play p = play_new();
	char text[200];

	play_begin(&p);
	for (int i = 0; i < 300; i++) {
		call(&p, "main:10");
		add_event(&p, p.b, p.op, i % 2 ? "run:30 pull:2" : "run:31");
		call(&p, "main:12");
	}
	if (loops_finish(p.loops, NULL))
		abort();
	is_str(summary_of(&p, p.a.thread, text, sizeof(text)), "300 steps of main:10-12",
	       "one thread");
	is_str(summary_of(&p, p.b.thread, text, sizeof(text)), "151 steps of run:30-31",
	       "another one, at the same time");
	play_free(&p);
}

static void pause_tier(struct play *p, enum op_tier tier, int64_t since, int64_t until)
{
	struct record r = { .kind = RECORD_PAUSED };

	REC_SET(&r, PAUSED, since_ns, since);
	if (until)
		REC_SET(&r, PAUSED, until_ns, until);
	REC_SET(&r, PAUSED, tier, tier);
	REC_SET(&r, PAUSED, node, p->s.node);
	if (loops_record(p->loops, &r, NULL))
		abort();
}

/* Steps of 1 ms of a copy, six launches and, if so, a wait; a CPU sample every 10.1 ms. Launches
 * are recorded for 23 ms in 211. The first `slow` steps take twice as long. */
static void windowed(struct play *p, int steps, bool copies, bool waits, int slow)
{
	static const char *const launches[] = { "main:6 f:2", "main:7 f:2", "main:8 f:2",
						"main:8 g:2", "main:9 f:2", "main:9 g:2" };
	int64_t paused_ns = 0, sample_ns = 0;

	p->step_ns = 100 * US;
	for (int i = 0; i < steps; i++) {
		bool paused = i > 40 && i % 211 >= 23;

		if (paused && !paused_ns) {
			paused_ns = p->now - 10 * US;
			pause_tier(p, TIER_LAUNCHES, paused_ns, 0);
		} else if (!paused && paused_ns) {
			pause_tier(p, TIER_LAUNCHES, paused_ns, p->now - 10 * US);
			paused_ns = 0;
		}
		if (copies)
			add_event(p, p->a, OP_CUDA_MEMCPY_ASYNC, "main:5 to:1");
		else
			p->now += p->step_ns;
		for (int k = 0; k < 6; k++) {
			if (!paused)
				call(p, launches[k]);
			else
				p->now += p->step_ns;
			if (p->now < sample_ns)
				continue;
			sample_ns = p->now + 10100 * US;
			add_event(p, p->a, OP_CPU_SAMPLE, launches[k]);
			p->now -= p->step_ns;
		}
		if (waits && i % 10 == 9)
			add_event(p, p->a, OP_CUDA_STREAM_SYNC, "main:9 item:4");
		p->now += (i < slow ? 15 : 3) * p->step_ns;
	}
	if (paused_ns)
		pause_tier(p, TIER_LAUNCHES, paused_ns, p->now);
}

static void pauses(void)
{
	struct play p = play_new(), q = play_new(), r;
	const struct loop *loop;
	char text[200];

	play_begin(&p);
	windowed(&p, 3000, true, true, 0);
	if (loops_finish(p.loops, NULL))
		abort();
	is_str(summary_of(&p, p.a.thread, text, sizeof(text)), "3000 steps of main:5-9",
	       "launches recorded in windows: a copy counts the steps");
	play_free(&p);

	play_begin(&q);
	windowed(&q, 3000, false, true, 0);
	if (loops_finish(q.loops, NULL))
		abort();
	loop = loops_get(q.loops, (size_t)loops_main(q.loops, q.a.thread));
	ok(loop->uncertain >= 10, "no call in each step: they are not certain");
	is_near((double)loop->estimate, 3000, 150, "and their number is estimated");
	ok(loop->fewest <= 3000 && loop->most >= 3000 && loop->fewest > 1800 && loop->most < 6000,
	   "within %.0f to %.0f", loop->fewest, loop->most);
	is_u64(loop->count, q.steps, "what was told is fewer");
	play_free(&q);

	for (int slow = 0; slow <= 4; slow += 4) {
		r = play_new();
		play_begin(&r);
		windowed(&r, 200, false, false, slow);
		if (loops_finish(r.loops, NULL))
			abort();
		loop = loops_get(r.loops, (size_t)loops_main(r.loops, r.a.thread));
		is_near((double)loop->estimate, 200, 15,
			"from few steps that are known, %d of them slow", slow);
		ok(loop->fewest <= 200 && loop->most >= 200 && loop->most < 400, "%.0f to %.0f",
		   loop->fewest, loop->most);
		play_free(&r);
	}
}

static void losses(void)
{
	struct play p = play_new();

	play_begin(&p);
	train(&p, 300);
	loops_lost(p.loops, p.now, p.now + 10 * MS);
	p.now += 10 * MS;
	train(&p, 300);
	if (loops_finish(p.loops, NULL))
		abort();
	is_u64(p.steps, 600, "events were lost between");
	is_u64(p.uncertain, 1, "one step is not certain");
	is_near((double)loops_get(p.loops, 0)->estimate, 633, 3,
		"and counts for as many as would fit");
	play_free(&p);
}

/* Events that are no program's: the order holds all the same. */
static void contradictions(void)
{
	struct play p = play_new();
	uint32_t x = 1;

	play_begin(&p);
	for (int i = 0; i < 20000; i++) {
		struct event ev = { .op = OP_CUDA_LAUNCH, .ctx = p.a.ctx };

		x = x * 1664525 + 1013904223;
		p.now += x >> 16 & 0xfffff;
		ev.end_ns = p.now;
		ev.dur_ns = x >> 28 ? x >> 12 & 0xffff : x >> 2;
		ev.stack = stack_of(p.s.w, i % 3 ? "main:3 f:0" : "main:2");
		if (x >> 8 & 1)
			ev.stack = x & 0x3ff;
		ev.depth = x >> 20 & 15 ? 0 : 3;
		if (loops_event(p.loops, &ev, NULL))
			abort();
	}
	if (loops_finish(p.loops, NULL))
		abort();
	ok(p.steps > 0, "there are steps");
	is_u64(p.disorder, 0, "they come in order, without overlap");
	play_free(&p);
}

/* A program that wanders through many functions. */
static void bound(void)
{
	struct play p = play_new();
	struct loops_memory m;
	uint32_t x = 1;
	char text[200];
	size_t rows_most = 0, begins_most = 0;

	play_begin(&p);
	for (int i = 0; i < 300000; i++) {
		x = x * 1664525 + 1013904223;
		snprintf(text, sizeof(text), "main:%u f%u:%u g%u:%u", 5 + (x >> 30), x >> 24 & 15,
			 x >> 12 & 15, x >> 8 & 15, x >> 20 & 15);
		call(&p, text);
		if (i % 1000)
			continue;
		loops_memory(p.loops, &m);
		rows_most = m.rows > rows_most ? m.rows : rows_most;
		begins_most = m.begins > begins_most ? m.begins : begins_most;
	}
	ok(rows_most > 1 && rows_most <= LOOPS_ROWS, "functions that may be loops: %zu", rows_most);
	ok(begins_most <= LOOPS_ROWS * LOOPS_BEGINS, "beginnings held: %zu", begins_most);
	if (loops_finish(p.loops, NULL))
		abort();
	loops_memory(p.loops, &m);
	is_u64(m.rows + m.begins + m.threads, 0, "nothing is held of a thread that ended");
	play_free(&p);
}

/* A thread that makes no calls waits in each iteration, or in two of three: nothing is seen of the
 * others, but that the one before takes as long as two. */
static void waits_without_calls(bool each)
{
	struct play p = play_new();
	const struct loop *loop;

	p.loops = loops_new(p.s.w, &p.listener);
	if (!p.loops)
		abort();
	for (int i = 0; i < 300; i++) {
		if (each || i % 3 != 0) {
			add_event(&p, p.a, OP_SCHED_OFFCPU, "main:11");
			add_event(&p, p.a, OP_SCHED_OFFCPU, "main:12");
		} else {
			p.now += 2 * p.step_ns;
		}
	}
	if (loops_finish(p.loops, NULL))
		abort();
	loop = loops_get(p.loops, (size_t)loops_main(p.loops, p.a.thread));
	ok(loop->count >= (each ? 298 : 198) && loop->count <= (each ? 300 : 200),
	   "%" PRIu64 " steps are seen", loop->count);
	is_int(loop->least, !each, "there %s be more", each ? "cannot" : "may");
	loops_free(p.loops);
	vec_free(&p.phases);
	buf_free(&p.text);
	stage_free(&p.s);
}

int main(void)
{
	waits_without_calls(true);
	waits_without_calls(false);
	phases();
	threads();
	pauses();
	losses();
	contradictions();
	bound();
	return tap_done();
}
