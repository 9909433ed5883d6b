/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of programs whose loop calls a function once in each iteration and does something else now
 * and then: the loop is the caller's, whatever is seen of it between two calls and however long
 * that takes. And programs that look like these and whose function is a loop.
 */
#include "tests/tap.h"

#include "tests/unit/loops_play.h"

static void step(struct play *p, const char *caller)
{
	static const char *const lines[] = { "473", "477", "479", "485" };
	char text[100];

	for (unsigned i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "%s step:%s", caller, lines[i]);
		call(p, text);
	}
}

static void wait_for(struct play *p, const char *stack, int64_t ns)
{
	int64_t usual = p->step_ns;

	p->step_ns = ns;
	add_event(p, p->a, OP_SCHED_OFFCPU, stack);
	p->step_ns = usual;
}

/* Each comes to line 526, which is only seen where it waits: in the first iterations, then in some.
 * The last one of a few takes as long as twenty steps. */
static void plants(struct play *p)
{
	for (int i = 0; i < 400; i++) {
		step(p, "main:574 run:525");
		if (i % 70 < 6)
			wait_for(p, "main:574 run:526 plant:514", i % 70 < 5 ? 300 * US : 8 * MS);
	}
}

/* All on one line, with a wait in another function before most of them. */
static void serve(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		if (i % 10)
			wait_for(p, "main:40 engine:24 get:180 wait:320", 4 * MS);
		step(p, "main:40 engine:24");
	}
}

/* train(next(batches)): what the loader does is seen by samples in most iterations, and train() has
 * layers. */
static void decodes(struct play *p)
{
	for (int i = 0; i < 150; i++) {
		if (i % 5)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:17 next:4 item:11");
		call(p, "main:17 train:51");
		for (int k = 0; k < 3; k++) {
			call(p, "main:17 train:53 forward:20 block:10 up:3");
			call(p, "main:17 train:53 forward:20 block:10 down:4");
		}
		call(p, "main:17 train:55");
	}
}

/* All calls on one line; what follows on another is mostly seen by a sample, at first each time. */
static void encodes(struct play *p)
{
	p->step_ns = 10 * MS;
	for (int i = 0; i < 182; i++) {
		call(p, "main:15 infer:19");
		for (int k = 0; k < 6; k++)
			call(p, "main:15 infer:20 forward:10");
		if (i < 10 || i % 7 < 6)
			add_event(p, p->a, OP_CPU_SAMPLE, "main:18 encode:5");
	}
}

/* batch(); sleep(): a loop in the function that waits at one line, and is met at the line before it
 * by a sample in some of the steps. */
static void ingests(struct play *p)
{
	for (int i = 0; i < 132; i++) {
		if (i % 3 == 0)
			add_event(p, p->a, OP_SCHED_OFFCPU, "main:13 batch:6");
		for (int k = 0; k < 20; k++) {
			if (k == 10 && i % 12 > 6)
				add_event(p, p->a, OP_CPU_SAMPLE, "main:13 batch:8 normalize:4");
			add_event(p, p->a, OP_SCHED_OFFCPU, "main:13 batch:9");
		}
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:13 batch:10");
		add_event(p, p->a, OP_SCHED_OFFCPU, "main:14");
	}
}

static void one_statement(struct play *p, const char *line)
{
	static const char *const within[] = { " model:7 forward:9 module:7 layer:3",
					      " model:7 forward:9", " model:7 forward:9" };
	char text[100];

	call(p, line);
	for (unsigned k = 0; k < 12; k++) {
		snprintf(text, sizeof(text), "%s%s", line, within[k % 3]);
		call(p, text);
	}
	call(p, line);
	call(p, line);
	snprintf(text, sizeof(text), "%s wrapper:70 step:90", line);
	for (unsigned k = 0; k < 3; k++)
		call(p, text);
}

/* All calls of a step in one statement, some in layers; the loader's line is met where it waits. */
static void statement(struct play *p, unsigned seen)
{
	for (unsigned i = 0; i < 650; i++) {
		if (i && i * 7919 % 101 < seen)
			wait_for(p, "main:10 next:50 data:55 get:60", 20 * MS);
		one_statement(p, "main:13");
	}
}

static void often_seen(struct play *p)
{
	statement(p, 60);
}

static void seldom_seen(struct play *p)
{
	statement(p, 14);
}

/* The same, and a bar on the next line, whose terminal is slow every 40 steps. */
static void slow_terminal(struct play *p)
{
	for (int i = 0; i < 800; i++) {
		one_statement(p, "main:10");
		if (i % 40 == 20)
			wait_for(p, "main:11 update:7", 400 * MS);
	}
}

/* Two of the calls of a step on one line, the others on the next. */
static void two_copies(struct play *p)
{
	p->step_ns = 2 * MS;
	for (int i = 0; i < 400; i++) {
		if (i % 10)
			wait_for(p, "main:15", 3 * MS);
		call(p, "main:16");
		call(p, "main:16");
		for (int k = 0; k < 20; k++)
			call(p, "main:17 step:70");
	}
}

/* The loader is slow at every second batch and at some others: few iterations between, seldom a
 * single one. What came before the first wait is one more. */
static void slow_worker(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		if (i % 2 || i % 20 == 4)
			wait_for(p, "main:19", 2 * MS);
		step(p, "main:20");
	}
}

/* for i in range(800): train(); if i % 20 == 19: save(). */
static void saves(struct play *p)
{
	for (int i = 0; i < 800; i++) {
		step(p, "main:10");
		for (int k = 0; i % 20 == 19 && k < 12; k++)
			call(p, "main:13 save:5");
	}
}

/* for update in range(40): rollout(), which is called many times; learn(), which makes most of the
 * calls. */
static void rollouts(struct play *p)
{
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 16; k++) {
			call(p, "main:10 act:30");
			call(p, "main:10 act:31");
		}
		for (int k = 0; k < 60; k++)
			call(p, "main:11 learn:50");
	}
}

/* Something else is called before, where the loop's function is later, which is first seen where it
 * waits. */
static void builds_before(struct play *p)
{
	call(p, "main:10 init:92 to:1388");
	call(p, "main:10 init:92 to:1390");
	wait_for(p, "main:10 init:94", 2000 * MS);
	wait_for(p, "main:30 run:164 step:473", 3 * MS);
	for (int i = 0; i < 300; i++)
		step(p, "main:30 run:164");
}

/* At last it waits for somebody who does not come. */
static void plants_and_hang(struct play *p)
{
	plants(p);
	step(p, "main:574 run:525");
	wait_for(p, "main:574 run:526 plant:514", 500 * MS);
}

/* The first wait is the longest, and the next ones come much later. */
static void plant_at_first(struct play *p)
{
	for (int i = 0; i < 400; i++) {
		step(p, "main:574 run:525");
		if (i == 0 || i % 90 > 84)
			wait_for(p, "main:574 run:526 plant:514", i ? 300 * US : 88 * MS);
	}
}

/* Never after a single iteration, but after ever different numbers of them. */
static void plants_unevenly(struct play *p)
{
	int left = 5;

	for (int i = 0; i < 500; i++) {
		step(p, "main:574 run:525");
		if (left-- > 0)
			continue;
		wait_for(p, "main:574 run:526 plant:514", 3 * MS);
		left = 2 + i * 7 % 10;
	}
}

/* So often that the caller alone would be taken for a loop of fewer steps. */
static void plants_often(struct play *p)
{
	for (int i = 0; i < 600; i++) {
		step(p, "main:574 run:525");
		if (i % 7 < 2)
			wait_for(p, "main:574 run:526 plant:514", 200 * US);
	}
}

/* On one line of a function that is called on one line, too. */
static void through_functions(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		step(p, "main:20 serve:4");
		if (i % 3)
			wait_for(p, "main:20", i % 50 ? 200 * US : 20 * MS);
	}
}

/* What calls it is no loop of the program's. */
static void from_a_library(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		step(p, "main:20 std.run_once:4");
		wait_for(p, "main:20 std.run_once:4", 100 * US);
	}
}

/* It is called in two places, one after the other: the caller's lines tell. */
static void in_two_places(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		step(p, "main:20");
		step(p, "main:21");
	}
}

/* for epoch: train_epoch(); validate() */
static void epochs(struct play *p)
{
	for (int epoch = 0; epoch < 12; epoch++) {
		for (int i = 0; i < 40; i++) {
			call(p, "main:10 train_epoch:30");
			call(p, "main:10 train_epoch:31");
		}
		wait_for(p, "main:11 validate:50", 20 * MS);
	}
}

/* Answers of different lengths, each after a prompt. */
static void answers(struct play *p)
{
	for (int i = 0; i < 40; i++) {
		call(p, "main:10 generate:30 prompt:60");
		for (int k = 0; k < 5 + i * 7 % 11; k++) {
			call(p, "main:10 generate:32");
			call(p, "main:10 generate:33");
		}
		wait_for(p, "main:10", 2 * MS);
	}
}

static const struct row {
	const char *name;
	void (*run)(struct play *p);
	const char *want, *phases;
} rows[] = {
	{ "now and then a wait", plants, "400 steps of run:525-526", "[run 400]" },
	{ "and a wait that does not end", plants_and_hang, "401 steps of run:525-526",
	  "[run 401][]" },
	{ "a long wait at first", plant_at_first, "400 steps of run:525-526", "[run 400]" },
	{ "waits after different numbers", plants_unevenly, "500 steps of run:525-526",
	  "[run 500]" },
	{ "waits after some of many", plants_often, "600 steps of run:525-526", "[run 600]" },
	{ "a wait in another function of the line", serve, "300 steps of engine:24-24",
	  "[engine 300]" },
	{ "samples in another function of the line, and layers", decodes, "150 steps of main:17-17",
	  "[main 150]" },
	{ "samples of another line, in most iterations", encodes, "182 steps of main:15-18",
	  "[main 182]" },
	{ "samples in a loop of the function, in some", ingests, "132 steps of main:13-14",
	  "[main 132]" },
	{ "one statement, waits before most", often_seen, "650 steps of main:10-13", "[main 650]" },
	{ "one statement, waits before a few", seldom_seen, "650 steps of main:10-13",
	  "[main 650]" },
	{ "a line that is slow now and then", slow_terminal, "800 steps of main:10-11",
	  "[main 800]" },
	{ "two equal calls on one line of two", two_copies, "400 steps of main:16-17",
	  "[main 400]" },
	{ "waits before every second call and a few more", slow_worker, "301 steps of main:19-20",
	  NULL },
	{ "calls of another function every so often", saves, "800 steps of step:473-485", NULL },
	{ "most calls in another function", rollouts, "40 steps of main:10-11", "[main 40]" },
	{ "other calls before, and a wait at first", builds_before, "300 steps of step:473-485",
	  "[][step 300]" },
	{ "through a function of one line", through_functions, "300 steps of main:20-20",
	  "[main 300]" },
	{ "from a library", from_a_library, "300 steps of step:473-485", "[step 300][]" },
	{ "called in two places", in_two_places, "300 steps of main:20-21", "[main 300]" },
	{ "epochs of a function that has a loop", epochs, "480 steps of train_epoch:30-31", NULL },
	{ "answers of different lengths", answers, "402 steps of generate:32-33", NULL },
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
		if (rows[i].phases)
			is_str(put_phases(&p), rows[i].phases,
			       "%s: none of it is start, and none between", rows[i].name);
		is_u64(p.disorder, 0, "%s: steps come in order, without overlap", rows[i].name);
		play_free(&p);
	}
}

/* for epoch: for batch: step(batch) [525]; validate() [528]: nothing else is seen of the caller
 * than a wait in some of the steps. Validation lasts longer than ten steps. */
static void validation(void)
{
	struct play p = play_new();
	char text[200];

	play_begin(&p);
	for (int epoch = 0; epoch < 4; epoch++) {
		for (int i = 0; i < 100; i++) {
			step(&p, "main:574 run:525");
			if (i % 5 < 2)
				wait_for(&p, "main:574 run:526 plant:514", i ? 200 * US : 9 * MS);
		}
		for (int i = 0; i < 90; i++)
			call(&p, "main:574 run:528 validate:50");
	}
	if (loops_finish(p.loops, NULL))
		abort();
	is_str(summary_of(&p, p.a.thread, text, sizeof(text)), "400 steps of run:525-526",
	       "validation behind an inner loop: the steps of that loop");
	is_str(put_phases(&p), "[run 100][][run 100][][run 100][][run 100][]",
	       "and a phase of its own after each epoch");
	play_free(&p);
}

int main(void)
{
	table();
	validation();
	return tap_done();
}
