/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of small programs whose loops are written down here: what their stacks are at each call,
 * how many steps there are, and in which function.
 */
#include "tests/tap.h"

#include "tests/unit/loops_play.h"

static void plain(struct play *p)
{
	call(p, "main:2");
	for (int i = 0; i < 100; i++) {
		call(p, "main:5 f:1");
		call(p, "main:6");
		call(p, "main:7 f:1");
	}
	call(p, "main:9");
}

static void nested(struct play *p)
{
	for (int epoch = 0; epoch < 3; epoch++) {
		call(p, "main:3 train:10");
		for (int i = 0; i < 100; i++) {
			call(p, "main:3 train:12");
			for (int layer = 0; layer < 12; layer++) {
				call(p, "main:3 train:13 layer:20");
				call(p, "main:3 train:13 layer:21");
			}
			call(p, "main:3 train:14");
		}
		call(p, "main:4");
	}
}

/* More layers than a loop has iterations when it is decided, and a first step that is slow. */
static void layers(struct play *p)
{
	for (int i = 0; i < 40; i++) {
		p->step_ns = i ? 10 * US : 50 * MS;
		call(p, "main:12");
		for (int layer = 0; layer < 80; layer++) {
			call(p, "main:13 layer:20");
			call(p, "main:13 layer:21");
		}
		call(p, "main:14");
	}
	call(p, "main:15");
}

static void several_landings(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		if (i % 3)
			call(p, "main:10");
		call(p, "main:11");
		call(p, "main:14");
	}
}

static void inner_landing(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:10");
		for (int k = 0; k < 4; k++) {
			call(p, "main:12");
			call(p, "main:13");
		}
		call(p, "main:15");
	}
}

/* model(                line 10
 *     x.to(device),     line 11 */
static void statement(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:11");
		call(p, "main:10 model:30");
		call(p, "main:20");
	}
}

static void both_lines_of_statement(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:10 to:1");
		call(p, "main:11 to:1");
		call(p, "main:10 model:30");
		call(p, "main:20");
	}
}

/* Leaving a with block is done at its first line. */
static void with_block(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:10");
		call(p, "main:11 enter:1");
		call(p, "main:12");
		call(p, "main:13");
		call(p, "main:11 exit:1");
		call(p, "main:15");
	}
}

static void log_every(struct play *p, int every)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:10");
		call(p, "main:11");
		if (i % every == every - 1)
			call(p, "main:14");
	}
}

static void log_second(struct play *p)
{
	log_every(p, 2);
}

static void log_tenth(struct play *p)
{
	log_every(p, 10);
}

static void generator(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:10 batches:50 load:70");
		call(p, "main:10 batches:52");
		call(p, "main:11 model:30");
		call(p, "main:12 model:30");
	}
}

static void comprehension(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 5; k++)
			call(p, "main:10 <listcomp>:10 to:90");
		call(p, "main:11");
	}
}

static void called_again(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:10 step:20");
		call(p, "main:10 step:21");
		call(p, "main:10 step:24");
	}
}

/* A sample finds the caller between the first two iterations, the first of which has a short end. */
static void left_at_first(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:10 step:20");
		p->now += i ? 0 : 10 * MS;
		call(p, "main:10 step:24");
		if (i == 0)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:10");
		p->now += i ? 0 : 1 * MS;
	}
}

/* The first that is known of a thread is a wait without a stack. */
static void waited_at_first(struct play *p)
{
	add_event(p, p->a, OP_SCHED_OFFCPU, "");
	plain(p);
}

static void recursion(struct play *p)
{
	for (int i = 0; i < 60; i++) {
		call(p, "main:10 walk:20");
		call(p, "main:10 walk:22 walk:20");
		call(p, "main:10 walk:22 walk:22 walk:20");
		call(p, "main:10 walk:22 walk:24");
		call(p, "main:10 walk:24");
	}
}

/* Requests come in waves, each of many steps of the engine. */
static void waves(struct play *p)
{
	for (int wave = 0; wave < 12; wave++) {
		call(p, "serve:5 receive:8");
		for (int i = 0; i < 48; i++) {
			call(p, "serve:6 engine:20");
			call(p, "serve:6 engine:21 model:30");
			call(p, "serve:6 engine:22");
		}
		call(p, "serve:7 answer:9");
	}
}

static void attached(struct play *p)
{
	call(p, "main:12");
	for (int i = 0; i < 100; i++) {
		call(p, "main:10");
		call(p, "main:12");
	}
}

static void sampled(struct play *p)
{
	static const char *const lines[] = { "main:9",	"main:10 f:1", "main:11",    "main:12",
					     "main:13", "main:14",     "main:15 f:2" };

	for (int i = 0; i < 400; i++) {
		call(p, "main:10 f:1");
		if (i % 3 == 0)
			add_event(p, p->a, OP_CPU_SAMPLE, lines[1 + i % 6]);
		call(p, "main:15 f:1");
		if (i % 7 == 0)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:15 f:2");
		if (i % 5 == 0)
			add_event(p, p->a, OP_CPU_SAMPLE, lines[0]);
	}
}

/* A thread that makes no calls: a few samples and a wait for the interpreter at the loop's head. */
static void waits_alone(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		if (i == 5)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:10");
		if (i > 200 && i % 10 == 0)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:10");
		if (i == 250)
			add_event(p, p->a, OP_SCHED_OFFCPU, "main:10");
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:11");
		if (i % 10 == 7)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:11");
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:12");
	}
}

/* Its first jump is one that a sample shows. */
static void sample_before_waits(struct play *p)
{
	add_event(p, p->a, OP_SCHED_OFFCPU, "main:12");
	add_event(p, p->a, OP_CPU_SAMPLE, "main:10");
	for (int i = 0; i < 299; i++) {
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:11");
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:12");
	}
}

/* The batch is read before the first call of each step, which a sample always sees; the line before
 * it, once. */
static void samples_before_calls(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		if (i == 70)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:17");
		add_event(p, p->a, OP_CPU_SAMPLE, "main:18 read:12");
		call(p, "main:18 read:13");
		call(p, "main:19 train:24");
		call(p, "main:19 train:26");
	}
}

/* train(); publish(), which makes no call and waits each time: a sample at the loop's head is seen
 * once. */
static void waits_behind_calls(struct play *p)
{
	for (int i = 0; i < 150; i++) {
		if (i == 70)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:11");
		call(p, "main:12 train:51");
		call(p, "main:12 train:55");
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:15 publish:6");
	}
}

/* for batch in batches: wait for it, train(batch); and one call at the loop's head when it ends,
 * which is taken for one more. */
static void call_at_the_end(struct play *p)
{
	for (int i = 0; i < 150; i++) {
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:20 sample:6");
		call(p, "main:21 train:51");
		call(p, "main:21 train:55");
	}
	call(p, "main:18 batches:43");
}

static void gaps_in_stacks(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:3 step:10");
		call(p, "? step:10 f:2");
		call(p, "main:3 step:12");
	}
}

/* The function is entered once for every forty of its steps. */
static void entered_again(struct play *p)
{
	for (int epoch = 0; epoch < 20; epoch++) {
		for (int i = 0; i < 40; i++) {
			call(p, "main:3 train:12");
			call(p, "main:3 train:13");
		}
		call(p, "main:4");
	}
}

static void nothing_repeats(struct play *p)
{
	char text[64];

	for (int i = 1; i < 300; i++) {
		snprintf(text, sizeof(text), "main:%d f:1", i);
		call(p, text);
	}
}

static void eight(struct play *p)
{
	for (int i = 0; i < 8; i++) {
		call(p, "main:10");
		for (int k = 0; k < 5; k++) {
			call(p, "main:12 f:3");
			call(p, "main:12 f:5");
		}
		call(p, "main:15");
	}
}

/* for i in range(setup): lines 9 and 10; for step in range(steps): lines 15 to 20, with an inner
 * loop over 17 and 18. */
static void two_loops(struct play *p, int setup, int steps, int inner)
{
	call(p, "main:5");
	for (int i = 0; i < setup; i++) {
		call(p, "main:9");
		call(p, "main:10");
	}
	call(p, "main:12");
	p->step_ns = 500 * MS;
	call(p, "main:13");
	p->step_ns = 100 * US;
	for (int i = 0; i < steps; i++) {
		call(p, "main:15");
		call(p, "main:16");
		for (int k = 0; k < inner; k++) {
			call(p, "main:17");
			call(p, "main:18");
		}
		call(p, "main:20");
	}
	call(p, "main:22");
}

static void layers_first(struct play *p)
{
	two_loops(p, 12, 60, 0);
}

static void layers_first_and_few(struct play *p)
{
	two_loops(p, 12, 20, 0);
}

static void many_layers_first(struct play *p)
{
	two_loops(p, 48, 1000, 0);
}

static void layers_first_and_inner(struct play *p)
{
	two_loops(p, 12, 60, 4);
}

/* Two loops, again and again. */
static void training_and_validation(struct play *p)
{
	for (int epoch = 0; epoch < 20; epoch++) {
		call(p, "main:8");
		for (int i = 0; i < 5; i++) {
			call(p, "main:10");
			call(p, "main:12");
		}
		for (int i = 0; i < 8; i++) {
			call(p, "main:20");
			call(p, "main:22");
		}
	}
}

/* All calls of the first step are recorded, few of the others, which begin at a line that the first
 * one did not show. */
static void dense_at_first(struct play *p)
{
	for (int layer = 0; layer < 12; layer++) {
		for (int k = 0; k < 10; k++)
			call(p, "main:12 layer:20");
		call(p, "main:12 layer:21");
	}
	for (int i = 0; i < 60; i++) {
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:15 rest:6");
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:13 load:7");
		for (int layer = 0; layer < 2; layer++) {
			call(p, "main:12 layer:20");
			call(p, "main:12 layer:21");
		}
	}
}

/* Where another function of the program made calls before. */
static void seen_aside(struct play *p)
{
	call(p, "main:8 init:3");
	call(p, "main:8 init:3");
	add_event(p, p->a, OP_SCHED_OFFCPU, "main:9 step:46");
	add_event(p, p->a, OP_CPU_SAMPLE, "main:9 step:50");
	for (int i = 0; i < 100; i++) {
		if (i)
			call(p, "main:9 step:46");
		call(p, "main:9 step:50");
		call(p, "main:9 step:50 forward:7");
	}
}

static const struct row {
	const char *name;
	void (*run)(struct play *p);
	const char *want;
} rows[] = {
	{ "a loop", plain, "100 steps of main:5-7" },
	{ "a loop that is first seen by a wait and a sample", seen_aside, "100 steps of step:46-50" },
	{ "epochs, steps and layers", nested, "300 steps of train:12-14" },
	{ "more layers than the decision takes", layers, "40 steps of main:12-14" },
	{ "iterations that begin at two lines", several_landings, "100 steps of main:10-14" },
	{ "an inner loop of the same function", inner_landing, "100 steps of main:10-15" },
	{ "a statement whose arguments come first", statement, "100 steps of main:11-20" },
	{ "a statement with work at both lines", both_lines_of_statement,
	  "100 steps of main:10-20" },
	{ "a with block", with_block, "100 steps of main:10-15" },
	{ "a line at the end in every second iteration", log_second, "100 steps of main:10-14" },
	{ "a line at the end in every tenth iteration", log_tenth, "100 steps of main:10-14" },
	{ "a generator", generator, "100 steps of main:10-12" },
	{ "a comprehension", comprehension, "100 steps of main:10-11" },
	{ "a function that is called again", called_again, "100 steps of step:20-24" },
	{ "a caller that is seen in between", left_at_first, "100 steps of step:20-24" },
	{ "a wait without a stack", waited_at_first, "100 steps of main:5-7" },
	{ "recursion", recursion, "60 steps of walk:20-24" },
	{ "waves of requests", waves, "576 steps of engine:20-22" },
	{ "recorded from the middle of an iteration", attached, "101 steps of main:10-12" },
	{ "with CPU samples in between", sampled, "400 steps of main:10-15" },
	{ "waits alone, samples at the head", waits_alone, "300 steps of main:11-12" },
	{ "waits alone, a sample first", sample_before_waits, "300 steps of main:11-12" },
	{ "samples before the first call, one at the head", samples_before_calls,
	  "100 steps of main:18-19" },
	{ "a wait behind the calls, a sample at the head", waits_behind_calls,
	  "150 steps of main:12-15" },
	{ "a wait before the calls, one call at the head", call_at_the_end,
	  "151 steps of main:20-21" },
	{ "stacks that are cut off", gaps_in_stacks, "100 steps of step:10-12" },
	{ "a function entered for forty steps each", entered_again, "800 steps of train:12-13" },
	{ "a loop behind that over layers", layers_first, "60 steps of main:15-20" },
	{ "few iterations behind that", layers_first_and_few, "20 steps of main:15-20" },
	{ "many layers, and many iterations", many_layers_first, "1000 steps of main:15-20" },
	{ "an inner loop behind that", layers_first_and_inner, "60 steps of main:15-20" },
	{ "all calls at first, then few", dense_at_first, "61 steps of main:12-15" },
	{ "training and validation in turn", training_and_validation, "20 steps of main:8-22" },
	{ "eight iterations", eight, "8 steps of main:10-15" },
	{ "no loop", nothing_repeats, "" },
};

static void table(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct play p = play_new();
		char text[200];

		play_begin(&p);
		rows[i].run(&p);
		if (loops_finish(p.loops, NULL))
			abort();
		is_str(summary_of(&p, p.a.thread, text, sizeof(text)), rows[i].want, "%s",
		       rows[i].name);
		is_u64(p.disorder, 0, "%s: steps come in order, without overlap", rows[i].name);
		play_free(&p);
	}
}

/* What a program builds, and does before its loop, is no part of the first step. */
static void first_step(void)
{
	struct play p = play_new();

	play_begin(&p);
	layers_first(&p);
	if (loops_finish(p.loops, NULL))
		abort();
	ok(p.phases.n && p.phases.v[0].begin_ns - p.begin_ns > 500 * MS,
	   "the first step begins at its first line");
	ok(p.phases.n && p.phases.v[0].end_ns - p.phases.v[0].begin_ns < 30 * MS,
	   "and is as long as the others");
	play_free(&p);
}

/* An interpreter that collects what is left, without a Python frame on the stack, is no part of the
 * last step. */
static void last_step(void)
{
	struct play p = play_new();

	play_begin(&p);
	for (int i = 0; i < 100; i++) {
		call(&p, "main:15");
		call(&p, "main:16");
	}
	p.step_ns = 10 * MS;
	for (int i = 0; i < 50; i++)
		add_event(&p, p.a, OP_CPU_SAMPLE, "!");
	if (loops_finish(p.loops, NULL))
		abort();
	ok(p.last.number == 100 && p.last.end_ns - p.last.begin_ns < 1 * MS,
	   "the last step ends where the program does no more Python");
	play_free(&p);
}

int main(void)
{
	table();
	last_step();
	first_step();
	return tap_done();
}
