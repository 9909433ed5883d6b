/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of loops that stand on one line, whose line never jumps back: what their stacks are at each
 * call, how many steps there are, and in which function. And programs of which each line calls the
 * same again and again that are no loops.
 */
#include "tests/tap.h"

#include "lib/event/tier.h"
#include "tests/unit/loops_play.h"

static void op(struct play *p, uint16_t op, const char *stack)
{
	add_event(p, p->a, op, stack);
}

static void sleep_in(struct play *p, const char *stack)
{
	add_event(p, p->a, OP_SCHED_OFFCPU, stack);
}

/* while True: forward(); synchronize(); empty_cache(), whose loops are of one line, too. */
static void callees_in_turn(struct play *p)
{
	op(p, OP_CUDA_MALLOC, "main:2");
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 10; k++)
			op(p, OP_CUDA_MALLOC, "main:15 forward:7");
		for (int k = 0; k < 8; k++)
			op(p, OP_CUDA_LAUNCH, "main:15 forward:9");
		op(p, OP_CUDA_STREAM_SYNC, "main:15");
		for (int k = 0; k < 10; k++)
			op(p, OP_CUDA_FREE, "main:15 empty_cache:11");
	}
}

/* while True: answer(run(requests)), where run() copies to the device, runs a model and copies back
 * in one line. Steps are from one copy back to the next, so that there is one more. */
static void copies_in_and_back(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		op(p, OP_CUDA_MEMCPY_ASYNC, "main:19 run:12");
		op(p, OP_CUDA_STREAM_SYNC, "main:19 run:12");
		for (int k = 0; k < 8; k++)
			call(p, "main:19 run:12 model:7");
		call(p, "main:19 run:12");
		op(p, OP_CUDA_MEMCPY_ASYNC, "main:19 run:12");
		op(p, OP_CUDA_STREAM_SYNC, "main:19 run:12");
	}
}

/* for n in range(100): request(n); time.sleep(0.001), with more launches each time. */
static void sleeps_between(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 1 + i / 10; k++)
			call(p, "main:11 request:9 launch:7");
		op(p, OP_CUDA_STREAM_SYNC, "main:11 request:10");
		sleep_in(p, "main:11");
	}
}

/* Not every sleep is long enough to be recorded. */
static void sleeps_sometimes(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		for (int k = 0; k < 3; k++)
			call(p, "main:11 request:9 launch:7");
		op(p, OP_CUDA_STREAM_SYNC, "main:11 request:10");
		if (i % 3)
			sleep_in(p, "main:11");
	}
}

/* run(size) launches a graph and waits for it on one line, and captures one now and then. */
static void two_calls_of_a_line(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		for (int k = 0; i % 50 == 0 && k < 20; k++)
			call(p, "main:16 run:14 record:10");
		op(p, OP_CUDA_GRAPH_LAUNCH, "main:16 run:15");
		op(p, OP_CUDA_STREAM_SYNC, "main:16 run:15");
		sleep_in(p, "main:16");
	}
}

/* The same, called through a function of one line, and nothing is recorded between. */
static void two_calls_without_a_wait(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		op(p, OP_CUDA_GRAPH_LAUNCH, "main:16 serve:4 run:15");
		op(p, OP_CUDA_STREAM_SYNC, "main:16 serve:4 run:15");
	}
}

static void waits_through_a_function(struct play *p)
{
	for (int i = 0; i < 300; i++) {
		op(p, OP_CUDA_GRAPH_LAUNCH, "main:16 serve:4 run:15");
		op(p, OP_CUDA_MEMSET, "main:16 serve:4 run:15");
		if (i % 2 == 0)
			sleep_in(p, "main:16");
	}
}

/* The function waits before it makes a call. */
static void waits_at_its_start(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		sleep_in(p, "main:16 run:15");
		op(p, OP_CUDA_LAUNCH, "main:16 run:15");
		op(p, OP_CUDA_MEMSET, "main:16 run:15");
		sleep_in(p, "main:16");
	}
}

/* while True: a(); b(); a(); c() */
static void called_twice(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:5 a:20");
		call(p, "main:5 b:30");
		call(p, "main:5 a:20");
		call(p, "main:5 c:40");
	}
}

static void callee_at_the_end(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:5 a:20");
		call(p, "main:5 b:30");
		if (i % 10 == 9)
			call(p, "main:5 log:40");
	}
}

static void callee_at_first(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		if (i % 10 == 0)
			call(p, "main:5 load:40");
		call(p, "main:5 a:20");
		call(p, "main:5 b:30");
	}
}

/* Its first iteration lacks what the others do in the middle. */
static void callee_met_later(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:5 a:20");
		if (i % 4)
			call(p, "main:5 optimize:40");
		call(p, "main:5 b:30");
	}
}

static void samples_between(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:5 a:20 f:1");
		if (i % 3 == 0)
			op(p, OP_CPU_SAMPLE, "main:5");
		if (i % 5 == 0)
			op(p, OP_CPU_SAMPLE, "main:5 b:30");
		if (i % 7 == 0)
			op(p, OP_CPU_SAMPLE, "main:5 a:20 g:3");
		call(p, "main:5 b:30");
	}
}

/* Epochs of several lines, whose steps are a line. */
static void line_in_epochs(struct play *p)
{
	for (int epoch = 0; epoch < 3; epoch++) {
		call(p, "main:3 warm:10");
		for (int i = 0; i < 100; i++) {
			call(p, "main:4 train:12 step:20");
			op(p, OP_CUDA_STREAM_SYNC, "main:4 train:12");
		}
		call(p, "main:5 validate:30");
	}
}

/* A loop of several lines, one of which is a loop itself. */
static void line_in_a_step(struct play *p)
{
	for (int i = 0; i < 100; i++) {
		call(p, "main:10");
		for (int k = 0; k < 20; k++) {
			call(p, "main:11 f:1");
			call(p, "main:11 g:1");
		}
		call(p, "main:12");
	}
}

/* One call into a library launches and allocates in turn for a long time. */
static void one_long_call(struct play *p)
{
	for (int i = 0; i < 1000; i++) {
		op(p, OP_CUDA_MALLOC, "main:5 model:20");
		op(p, OP_CUDA_LAUNCH, "main:5 model:20");
	}
}

/* Modules import modules: the same functions at ever greater depth, then back. */
static void imports(struct play *p)
{
	char text[1000] = "main:1";
	size_t n = strlen(text);

	for (int i = 0; i < 20; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, " find:%d load:2", 5 + i % 2);
		call(p, text);
		op(p, OP_CUDA_MALLOC, text);
	}
	for (int i = 0; i < 20; i++) {
		*strrchr(text, ' ') = '\0';
		*strrchr(text, ' ') = '\0';
		if (*text && strchr(text, ' '))
			call(p, text);
	}
	for (int i = 2; i < 300; i++) {
		snprintf(text, sizeof(text), "main:%d find:5 load:2", i);
		call(p, text);
		snprintf(text, sizeof(text), "main:%d find:7", i);
		call(p, text);
	}
}

static void recursion(struct play *p)
{
	for (int i = 0; i < 200; i++) {
		call(p, "main:10 walk:20 walk:20 walk:20");
		call(p, "main:10 walk:20 walk:20 leaf:1");
		call(p, "main:10 walk:20 leaf:1");
		call(p, "main:10 leaf:1");
	}
}

static const struct row {
	const char *name;
	void (*run)(struct play *p);
	const char *want;
} rows[] = {
	{ "callees in turn", callees_in_turn, "100 steps of main:15-15" },
	{ "a copy at the start, and one at the end", copies_in_and_back,
	  "101 steps of run:12-12" },
	{ "a sleep between", sleeps_between, "100 steps of main:11-11" },
	{ "a sleep that is not always seen", sleeps_sometimes, "100 steps of main:11-11" },
	{ "two calls of a line, with a sleep between", two_calls_of_a_line,
	  "300 steps of main:16-16" },
	{ "two calls of a line, of which one waits", two_calls_without_a_wait,
	  "300 steps of run:15-15" },
	{ "two calls of a line that do not wait, with a sleep that is not always seen",
	  waits_through_a_function, "300 steps of run:15-15" },
	{ "a sleep at its start, too", waits_at_its_start, "100 steps of main:16-16" },
	{ "a callee twice", called_twice, "100 steps of main:5-5" },
	{ "a callee at the end, now and then", callee_at_the_end, "100 steps of main:5-5" },
	{ "a callee at first, now and then", callee_at_first, "100 steps of main:5-5" },
	{ "a callee that the first iteration lacks", callee_met_later, "100 steps of main:5-5" },
	{ "with CPU samples in between", samples_between, "100 steps of main:5-5" },
	{ "a line in epochs", line_in_epochs, "300 steps of train:12-12" },
	{ "a line in a step", line_in_a_step, "100 steps of main:10-12" },
	{ "one long call", one_long_call, "" },
	{ "imports", imports, "" },
	{ "recursion", recursion, "200 steps of main:10-10" },
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

static void pause_all(struct play *p, int64_t since, int64_t until)
{
	for (unsigned tier = TIER_LAUNCHES; tier < TIERS; tier++) {
		struct record r = { .kind = RECORD_PAUSED };

		REC_SET(&r, PAUSED, since_ns, since);
		if (until)
			REC_SET(&r, PAUSED, until_ns, until);
		REC_SET(&r, PAUSED, tier, tier);
		REC_SET(&r, PAUSED, node, p->s.node);
		if (loops_record(p->loops, &r, NULL))
			abort();
	}
}

/* All calls are recorded in windows only: the sleep between two iterations is left. */
static void windows(void)
{
	struct play p = play_new();
	char text[200];
	int64_t since = 0;

	play_begin(&p);
	for (int i = 0; i < 2000; i++) {
		bool paused = i > 100 && i % 200 >= 40;

		if (paused && !since)
			pause_all(&p, since = p.now - 10 * US, 0);
		else if (!paused && since)
			pause_all(&p, since, p.now - 10 * US);
		since = paused ? since : 0;
		for (int k = 0; k < 3 && !paused; k++)
			call(&p, "main:11 request:9 launch:7");
		if (!paused)
			op(&p, OP_CUDA_STREAM_SYNC, "main:11 request:10");
		p.now += paused ? 4 * p.step_ns : 0;
		sleep_in(&p, "main:11");
	}
	if (since)
		pause_all(&p, since, p.now);
	if (loops_finish(p.loops, NULL))
		abort();
	summary_of(&p, p.a.thread, text, sizeof(text));
	is_near(strtod(text + 1, NULL), 2000, 40, "calls in windows, %s: within 2 %%", text);
	ok(p.uncertain > 0, "they are not certain");
	is_u64(p.disorder, 0, "steps come in order");
	play_free(&p);
}

/* The thread sleeps in cudaStreamSynchronize: inside the call where that is recorded; where it is
 * not, the functions on its stack say so. */
static void wait_inside(struct play *p, bool recorded, const char *stack)
{
	struct world_frame native = { .kind = FRAME_NATIVE, .offset = 4711 };
	struct world_symbol name = {
		.name = world_string(p->s.w, bytes_of("cudaStreamSynchronize")), .delta = 5
	};
	uint32_t frames[8] = { world_frame(p->s.w, &native) };
	struct event ev = { .end_ns = p->now + p->step_ns,
			    .dur_ns = (uint64_t)p->step_ns / 2,
			    .op = OP_SCHED_OFFCPU,
			    .depth = recorded,
			    .ctx = p->a.ctx };
	unsigned n;
	const uint32_t *python = world_get_stack(p->s.w, stack_of(p->s.w, stack), &n);

	memcpy(frames + 1, python, n * sizeof(*python));
	world_symbol(p->s.w, frames[0], &name);
	if (!recorded)
		ev.stack = world_stack(p->s.w, frames, n + 1);
	if (loops_event(p->loops, &ev, NULL))
		abort();
	p->now += p->step_ns;
}

/* Nothing but that wait is left of a step where calls are not recorded. */
static void waits_in_windows(void)
{
	struct play p = play_new();
	char text[200];
	int64_t since = 0;

	play_begin(&p);
	for (int i = 0; i < 2000; i++) {
		bool paused = i > 100 && i % 200 >= 40;

		if (paused && !since)
			pause_all(&p, since = p.now - 10 * US, 0);
		else if (!paused && since)
			pause_all(&p, since, p.now - 10 * US);
		since = paused ? since : 0;
		for (int k = 0; k < 3 && !paused; k++)
			call(&p, "main:11 request:9 launch:7");
		p.now += paused ? 3 * p.step_ns : 0;
		wait_inside(&p, !paused, "main:11 request:10");
		if (!paused)
			op(&p, OP_CUDA_STREAM_SYNC, "main:11 request:10");
		p.now += paused ? p.step_ns : 0;
	}
	if (since)
		pause_all(&p, since, p.now);
	if (loops_finish(p.loops, NULL))
		abort();
	summary_of(&p, p.a.thread, text, sizeof(text));
	is_near(strtod(text + 1, NULL), 2000, 10, "waits in calls that were not recorded, %s",
		text);
	is_u64(p.disorder, 0, "steps come in order");
	play_free(&p);
}

static void wait_for(struct play *p, uint64_t object, const char *stack)
{
	struct event ev = { .end_ns = p->now + p->step_ns / 2,
			    .dur_ns = (uint64_t)p->step_ns / 4,
			    .op = OP_SCHED_OFFCPU,
			    .ctx = p->a.ctx,
			    .stack = stack_of(p->s.w, stack) };

	stage_set(&ev, COL_OBJECT_KIND, object);
	if (loops_event(p->loops, &ev, NULL))
		abort();
	p->now += p->step_ns;
}

/* A worker of a pool waits for the next job, and for the interpreter's lock anywhere: of a step
 * whose calls are not recorded those waits are left. */
static void jobs_in_windows(void)
{
	static const char *const places[] = { "run:13 get:5 wait:320", "run:24 model:18",
					      "run:24 model:19", "run:33" };
	struct play p = play_new();
	char text[200];
	int64_t since = 0;

	play_begin(&p);
	for (int i = 0; i < 2000; i++) {
		bool paused = i > 100 && i % 200 >= 40;

		if (paused && !since)
			pause_all(&p, since = p.now - 10 * US, 0);
		else if (!paused && since)
			pause_all(&p, since, p.now - 10 * US);
		since = paused ? since : 0;
		wait_for(&p, OBJECT_FUTEX, places[0]);
		for (unsigned k = 0; k < 3; k++)
			if ((unsigned)i * 7 % (k + 3) < 2)
				wait_for(&p, OBJECT_GIL, places[k]);
		if (!paused)
			call(&p, "run:24 model:18");
		if (!paused)
			op(&p, OP_CUDA_STREAM_SYNC, "run:24 model:19");
	}
	if (since)
		pause_all(&p, since, p.now);
	if (loops_finish(p.loops, NULL))
		abort();
	is_str(summary_of(&p, p.a.thread, text, sizeof(text)), "2000 steps of run:13-24",
	       "waits for jobs tell steps whose calls were not recorded");
	is_u64(p.disorder, 0, "steps come in order");
	play_free(&p);
}

int main(void)
{
	table();
	windows();
	jobs_in_windows();
	waits_in_windows();
	return tap_done();
}
