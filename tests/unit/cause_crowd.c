/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose busy threads are more than its CPUs, and programs that look like it. Each stream
 * is two seconds; every ten milliseconds the main thread waits for each of its workers, and for a
 * CPU that these have one after another.
 */
#include "tests/unit/kinds.h"

#define LENGTH (2000 * MS)
#define EVERY  (10 * MS)
#define TURN   (1 * MS)
#define MANY   3

static void machine(struct stage *s, struct actor v, uint32_t cpus, const char *allowed)
{
	struct record *r = stage_record(s, RECORD_NODE);

	REC_SET(r, NODE, node, s->node);
	REC_SET(r, NODE, cpus, cpus);
	if (!*allowed)
		return;
	r = stage_record(s, RECORD_ALLOWED);
	REC_SET(r, ALLOWED, time_ns, 0);
	REC_SET(r, ALLOWED, process, v.process);
	REC_SET(r, ALLOWED, cpus, bytes_of(allowed));
}

static uint32_t stack_in(struct stage *s, const char *path)
{
	struct world_module module = { .path = world_string(s->w, bytes_of(path)) };
	struct world_frame frame = { .kind = FRAME_NATIVE,
				     .module = world_module(s->w, &module),
				     .offset = 0x1de8d };

	return world_stack(s->w, (uint32_t[]){ world_frame(s->w, &frame) }, 1);
}

/* The main thread waits until the worker is done, and then for the CPU that it still has. */
static void take_turn(struct stage *s, struct actor v, struct actor w, int64_t t)
{
	struct event *ev = stage_offcpu(s, v, 0, t, t + TURN, TURN - 100 * US, 0);

	stage_set(ev, COL_OBJECT_KIND, OBJECT_FUTEX);
	stage_set(ev, COL_OBJECT, 0x7000);
	stage_set(ev, COL_FUTEX_OP, 9);
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, w.thread);
	stage_occupied(s, w, 0, t + 100 * US, t + TURN);
	ev = stage_offcpu(s, w, 0, t + TURN, t + EVERY, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_FUTEX);
	stage_set(ev, COL_FUTEX_OP, 9);
}

/* n workers with work all the time, or one after another. */
static void play(struct stage *s, struct actor v, const struct actor *w, unsigned n, bool in_turn,
		 uint32_t stack)
{
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		unsigned only = (unsigned)(t * n / LENGTH);

		stage_call(s, v, OP_CUDA_LAUNCH, 0, t + 8 * MS, t + 8 * MS + 200 * US);
		for (unsigned i = 0; i < n; i++)
			take_turn(s, v, w[in_turn ? only : i], t + (i + 1) * TURN);
		for (unsigned i = 0; i < n && stack; i++) {
			struct event *ev = stage_event(s, OP_CPU_SAMPLE, w[i].ctx, 0,
						       t + (i + 1) * TURN + 500 * US,
						       t + (i + 1) * TURN + 500 * US);

			ev->stack = stack;
		}
	}
}

/* Steps that wait for the device, too, for most of the time or not. */
static void device_bound(bool most)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"), w[MANY];
	int64_t first = most ? 3900 * US : 100 * US, second = most ? 1700 * US : 100 * US;

	for (unsigned i = 0; i < MANY; i++)
		w[i] = stage_actor(&s, 100, 101 + i, 1, "train");
	machine(&s, v, 2, "");
	play(&s, v, w, MANY, false, 0);
	for (int64_t t = 0; t < LENGTH; t += EVERY) {
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 4050 * US, t + 4050 * US + first)
			->stack = stack_in(&s, "/srv/train");
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 8250 * US, t + 8250 * US + second)
			->stack = stack_in(&s, "/srv/libtrain.so");
	}
	if (most)
		not_told(&s, "cpu-oversubscribed", "the device is what takes the time");
	else
		told_among(&s, "cpu-oversubscribed", "up to 4 threads take turns on 2 CPUs",
			   MANY * (LENGTH / EVERY - 1) * (TURN - 100 * US));
	stage_free(&s);
}

static void workers(struct stage *s, struct actor *w, bool processes, const char *comm)
{
	for (unsigned i = 0; i < MANY; i++)
		w[i] = stage_actor(s, processes ? 101 + i : 100, 101 + i, processes ? 100 : 1,
				   comm);
}

static void others(void)
{
	static const struct {
		unsigned workers;
		uint32_t cpus;
		const char *allowed;
		bool in_turn;
		const char *what;
	} cases[] = {
		{ 1, 2, "", false, "a thread and its worker on two CPUs" },
		{ 3, 4, "", false, "four threads on four CPUs" },
		{ 3, 0, "", false, "how many CPUs there are is not known" },
		{ 3, 2, "", true, "workers that follow each other" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stage s = stage_new();
		struct actor v = stage_actor(&s, 100, 100, 1, "train"), w[MANY];

		workers(&s, w, false, "train");
		if (cases[i].cpus)
			machine(&s, v, cases[i].cpus, cases[i].allowed);
		play(&s, v, w, cases[i].workers, cases[i].in_turn, 0);
		not_told(&s, "cpu-oversubscribed", cases[i].what);
		stage_free(&s);
	}
}

/* What workers did before they were seen first, in their first turns, is not known. One chain of
 * it: how it is said, what to do about it, and what that promises. */
static void check_told(struct stage *s, const char *text, const char *action, const char *command)
{
	struct kinds_run p;
	unsigned n = 0;

	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		if (!bytes_equal(f->kind, bytes_of("cpu-oversubscribed")))
			continue;
		n++;
		is_str(f->summary.p, text, "%s", text);
		is_u64(f->lost_ns, MANY * (LENGTH / EVERY - 1) * (TURN - 100 * US), "the time");
		ok(f->fixes.n && bytes_equal(f->fixes.v[0].action, bytes_of(action)),
		   "\"%s\", not \"%.*s\"", action, f->fixes.n ? (int)f->fixes.v[0].action.n : 0,
		   f->fixes.n ? f->fixes.v[0].action.p : "");
		ok(f->fixes.n && bytes_equal(f->fixes.v[0].command, bytes_of(command)),
		   "\"%s\", not \"%.*s\"", command, f->fixes.n ? (int)f->fixes.v[0].command.n : 0,
		   f->fixes.n ? f->fixes.v[0].command.p : "");
		ok(f->without.n && f->without.v[0].low_ns < f->without.v[0].high_ns &&
			   f->without.v[0].high_ns == f->without.v[0].from_ns,
		   "perhaps nothing is gained");
	}
	ok(n == 1, "one chain of it");
	chain_list_free(&p.list);
}

static void threads(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"), w[MANY];

	workers(&s, w, false, "train");
	machine(&s, v, 2, "");
	play(&s, v, w, MANY, false, 0);
	check_told(
		&s,
		"train (pid 100) has up to 4 threads take turns on 2 CPUs: 3 others (train) had "
		"the CPU that "
		"it waited for, for 537 ms (26.8% of wall time, 597 times), mostly between traced "
		"calls",
		"Run no more busy threads than the program has CPUs",
		"ps -L -o tid,psr,pcpu,comm -p 100");
	/* A cpuset or taskset leaves one CPU of many. */
	machine(&s, v, 8, "3");
	play(&s, v, w, MANY, false, 0);
	check_told(&s,
		   "train (pid 100) has up to 4 threads take turns on 1 CPU: 3 others (train) had "
		   "the CPU "
		   "that it "
		   "waited for, for 537 ms (26.8% of wall time, 597 times), mostly between traced "
		   "calls",
		   "Run no more busy threads than the program has CPUs",
		   "ps -L -o tid,psr,pcpu,comm -p 100");
	stage_free(&s);
}

static void openmp(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"), w[MANY];

	workers(&s, w, false, "train");
	machine(&s, v, 2, "");
	play(&s, v, w, MANY, false, stack_in(&s, "/usr/lib/libgomp.so.1"));
	check_told(&s,
		   "train (pid 100) has up to 4 threads take turns on 2 CPUs: 3 others (train), "
		   "mostly in "
		   "libgomp.so.1+0x1de8d, had the CPU that it waited for, for 537 ms (26.8% of "
		   "wall time, 597 times), mostly between traced calls",
		   "Run no more OpenMP threads than there are CPUs for them: set this before the "
		   "program starts, or call torch.set_num_threads(2)",
		   "export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive");
	stage_free(&s);
}

static void processes(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"), w[MANY];

	workers(&s, w, true, "pt_data_worker");
	machine(&s, v, 2, "");
	play(&s, v, w, MANY, false, 0);
	check_told(&s,
		   "train (pid 100) and its processes have up to 4 threads take turns on 2 CPUs: "
		   "pt_data_worker (3 "
		   "processes: pid 101, 102, 103) had the CPU that train (pid 100) waited for, for "
		   "537 ms (26.8% of wall time, 597 times), mostly between traced calls",
		   "Start no more workers than there are CPUs", "DataLoader(..., num_workers=2)");
	stage_free(&s);
}

/* Two of its own threads and one worker: it would be told to start another. */
static void one_worker(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"), w[MANY];
	struct kinds_run p;
	unsigned n = 0;

	workers(&s, w, false, "train");
	w[0] = stage_actor(&s, 101, 101, 100, "pt_data_worker");
	machine(&s, v, 2, "");
	play(&s, v, w, MANY, false, 0);
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		if (!strstr(f->summary.p, "processes have"))
			continue;
		n++;
		ok(bytes_equal(f->fixes.v[0].action,
			       bytes_of("Run no more busy threads than the program has CPUs")),
		   "its threads");
		ok(bytes_equal(f->fixes.v[0].command,
			       bytes_of("ps -L -o pid,tid,psr,pcpu,comm -p 100,101")),
		   "of all its processes");
	}
	ok(n == 1, "one worker on two CPUs");
	chain_list_free(&p.list);
	stage_free(&s);
}

int main(void)
{
	others();
	threads();
	openmp();
	processes();
	one_worker();
	device_bound(false);
	device_bound(true);
	return done_testing();
}
