/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of programs whose loop is in a task of an event loop, which waits between two turns and
 * gives turns to other tasks: the lines of each task go on where it awaited something.
 */
#include "tests/tap.h"

#include "tests/unit/loops_play.h"

#define LOOP "main:90 std.Runner.run:118 std.BaseEventLoop.run_forever:607 "
#define TURN LOOP "std.BaseEventLoop._run_once:1922 std.Handle._run:80 "
#define IDLE LOOP "std.BaseEventLoop._run_once:1884"

static void idle(struct play *p)
{
	add_event(p, p->a, OP_SCHED_OFFCPU, IDLE);
}

/* x = await load(); y = await load(); train(x, y) */
static void awaits(struct play *p)
{
	for (int i = 0; i < 200; i++) {
		idle(p);
		call(p, TURN "serve:11 load:5");
		idle(p);
		call(p, TURN "serve:12 load:5");
		call(p, TURN "serve:13 train:30");
	}
}

/* The same, and others have their turns meanwhile. */
static void takes_turns(struct play *p)
{
	for (int i = 0; i < 200; i++) {
		idle(p);
		call(p, TURN "serve:11 load:5");
		call(p, TURN "answer:50 write:7");
		call(p, TURN "serve:12 load:5");
		idle(p);
		if (i % 3 == 0) {
			call(p, TURN "watch:70");
			call(p, TURN "watch:72");
		}
		call(p, TURN "answer:51 write:7");
		call(p, TURN "serve:13 train:30");
	}
}

/* A sample meets what the event loop does between two of its tasks. */
static void looks_at_the_time(struct play *p)
{
	for (int i = 0; i < 200; i++) {
		call(p, TURN "serve:11 load:5");
		if (i % 3 == 1)
			add_event(p, p->a, OP_CPU_SAMPLE,
				  LOOP "std.BaseEventLoop._run_once:1890 "
				       "std.BaseEventLoop.time:707");
		call(p, TURN "serve:12 load:5");
		if (i % 7 == 2)
			add_event(p, p->a, OP_CPU_SAMPLE,
				  LOOP "std.BaseEventLoop._run_once:1887 "
				       "std.select.EpollSelector.select:472 "
				       "std.select.key:230");
		call(p, TURN "serve:13 train:30");
	}
}

/* A loop that runs an event loop in each step. */
static void around(struct play *p)
{
	for (int i = 0; i < 200; i++) {
		call(p, "main:88 prepare:3");
		call(p, TURN "serve:11");
		idle(p);
		call(p, TURN "other:20");
		call(p, TURN "serve:13");
	}
}

/* One task comes after the other, which does not come back. */
static void one_by_one(struct play *p)
{
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 300; i++) {
			call(p, k ? TURN "second:21" : TURN "first:11");
			idle(p);
			call(p, k ? TURN "second:22" : TURN "first:12");
			call(p, k ? TURN "second:23" : TURN "first:13");
			call(p, k ? TURN "second:24" : TURN "first:14");
		}
	}
}

/* Of more functions than are known at once one is a loop. */
static void many(struct play *p)
{
	char text[300];

	for (int i = 0; i < 200; i++) {
		call(p, TURN "serve:11");
		call(p, TURN "serve:12");
		for (int k = 0; k < 3; k++) {
			snprintf(text, sizeof(text), TURN "task%d:5", (3 * i + k) % 20);
			call(p, text);
		}
		call(p, TURN "serve:13");
		call(p, TURN "serve:14");
		call(p, TURN "serve:15");
		call(p, TURN "serve:16");
	}
}

/* A framework's functions stand around the handler, and samples meet them now and then. */
static void handles(struct play *p)
{
	for (int i = 0; i < 400; i++) {
		if (i % 40 == 7)
			add_event(p, p->a, OP_CPU_SAMPLE, TURN "std.app:31");
		if (i % 57 == 3)
			add_event(p, p->a, OP_CPU_SAMPLE, TURN "std.app:42 std.wrapped:8");
		add_event(p, p->a, OP_SCHED_OFFCPU, TURN "std.app:42 std.wrapped:9 predict:51");
		call(p, TURN "std.app:42 std.wrapped:9 predict:69 model:18");
		call(p, TURN "std.app:42 std.wrapped:9 predict:69 model:19");
	}
}

static void preempt(struct play *p, const char *stack)
{
	struct event ev = { .end_ns = p->now + p->step_ns / 2,
			    .dur_ns = (uint64_t)p->step_ns / 4,
			    .op = OP_SCHED_OFFCPU,
			    .ctx = p->a.ctx,
			    .stack = stack_of(p->s.w, stack) };

	stage_set(&ev, COL_WAIT_NS, ev.dur_ns);
	if (loops_event(p->loops, &ev, NULL))
		abort();
	p->now += p->step_ns;
}

/* On a busy machine the CPU is taken from it anywhere, too. */
static void is_preempted(struct play *p)
{
	for (int i = 0; i < 400; i++) {
		if (i % 7 == 3)
			preempt(p, TURN "std.app:42 std.wrapped:9 predict:70");
		if (i % 23 == 7)
			preempt(p, TURN "std.app:31");
		if (i % 19 == 5)
			preempt(p, TURN "std.app:42 std.wrapped:8");
		if (i % 5 == 1)
			preempt(p, TURN "std.app:42 std.wrapped:9 predict:69 model:18");
		call(p, TURN "std.app:42 std.wrapped:9 predict:69 model:18");
		call(p, TURN "std.app:42 std.wrapped:9 predict:69 model:19");
	}
}

/* It never has anything to do. */
static void nothing(struct play *p)
{
	for (int i = 0; i < 200; i++) {
		idle(p);
		add_event(p, p->a, OP_CPU_SAMPLE, LOOP "std.BaseEventLoop._run_once:1890");
	}
}

/* Requests that come seldom, and are answered by a model of two layers. */
static void answers(struct play *p, int requests)
{
	for (int i = 0; i < requests; i++) {
		idle(p);
		p->now += 3000 * MS;
		call(p, TURN "handle:9 infer:19");
		for (int k = 0; k < 4; k++) {
			call(p, TURN "handle:9 infer:20 forward:11 layer:952");
			call(p, TURN "handle:9 infer:20 forward:11 layer:956");
		}
		call(p, TURN "handle:9 infer:20 forward:12");
	}
}

static void answers_four(struct play *p)
{
	answers(p, 4);
}

static void answers_twelve(struct play *p)
{
	answers(p, 12);
}

/* A program that waits in a selector of its own. */
static void selects(struct play *p)
{
	for (int i = 0; i < 200; i++) {
		call(p, "main:90 wait:11 std.select:468");
		call(p, "main:90 wait:12 train:30");
	}
}

static const struct {
	const char *name;
	void (*run)(struct play *p);
	const char *want, *phases;
} rows[] = {
	{ "two awaits in a task", awaits, "200 steps of serve:11-13", NULL },
	{ "and other tasks between them", takes_turns, "200 steps of serve:11-13", NULL },
	{ "samples between two tasks", looks_at_the_time, "200 steps of serve:11-13", NULL },
	{ "an event loop in each step", around, "200 steps of main:88-90", "[main 200]" },
	{ "one task after the other", one_by_one, "300 steps of first:11-14",
	  "[first 300][second 300]" },
	{ "many tasks", many, "200 steps of serve:11-16", NULL },
	{ "a handler in a framework", handles, "400 steps of predict:51-69", NULL },
	{ "the same on a busy machine", is_preempted, "400 steps of predict:69-70", NULL },
	{ "an event loop without work", nothing, "", "[]" },
	{ "a server of four requests", answers_four, "", "[]" },
	{ "and of twelve", answers_twelve, "12 steps of infer:19-20", NULL },
	{ "a selector without an event loop", selects, "200 steps of wait:11-12", "[wait 200]" },
};

int main(void)
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
			is_str(put_phases(&p), rows[i].phases, "%s: from begin to end",
			       rows[i].name);
		is_u64(p.disorder, 0, "%s: steps come in order, without overlap", rows[i].name);
		play_free(&p);
	}
	return tap_done();
}
