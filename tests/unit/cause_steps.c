/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step-stall: what the steps of a loop wait for, where it is not known for the most part whether
 * the device had work meanwhile. 400 steps of 10 ms, of which every twentieth waits for the device.
 */
#include "tests/tap.h"

#include "lib/event/tier.h"
#include "lib/report/report_parts.h"
#include "tests/unit/kinds.h"

#define STEP   (10 * MS)
#define STEPS  400
#define LENGTH (STEPS * STEP)

/* At a line of a function that main calls from that line of its own. */
static uint32_t call_from(struct stage *s, unsigned main_line, const char *file,
			  const char *function, unsigned line)
{
	uint32_t frames[2];

	for (unsigned i = 0; i < 2; i++)
		frames[i] = world_frame(
			s->w,
			&(struct world_frame){
				.kind = FRAME_PYTHON,
				.offset = i ? main_line : line,
				.file = world_string(s->w, bytes_of(i ? "/srv/train.py" : file)),
				.name = world_string(s->w, bytes_of(i ? "main" : function)) });
	return world_stack(s->w, frames, 2);
}

static uint32_t place_of(struct stage *s, const char *function, unsigned line)
{
	return call_from(s, 90, "/srv/train.py", function, line);
}

struct shape {
	const char *name;
	int64_t wait_ns;
	enum event_object kind;
	bool paced;	  /* the wait makes up for the work before it, which varies */
	unsigned workers; /* the first ends it, the second every eighth one; they compute until then
			   */
	int64_t sync_ns;  /* in each step: the device has work for so long */
	const char *says; /* NULL: it is no step-stall */
	uint32_t severity;
};

static const struct shape shapes[] = {
	{ "a sleep in each step", 6 * MS, OBJECT_TIMER, false, 0, 0,
	  "a sleep in fetch (train.py:31)", 3 },
	{ "a sleep that may keep a pace", 6 * MS, OBJECT_TIMER, false, 0, 0, NULL, 0 },
	{ "a child process", 6 * MS, OBJECT_CHILD, false, 0, 0,
	  "waiting for a child process in fetch (train.py:31)", 3 },
	{ "another process that computes", 6 * MS, OBJECT_FD, false, 1, 0,
	  "waiting in fetch (train.py:31) for loader (pid 200), which ran its own code", 3 },
	{ "nearly always the same of two", 6 * MS, OBJECT_FD, false, 2, 0,
	  "in fetch (train.py:31) for loader (pid 200) and 1 more like it, which ran", 3 },
	{ "what it computes, where samples show it", 9680 * US, OBJECT_NONE, false, 0, 0,
	  "spent 3.87 s (96.8% of wall time, 400 times): its own code in fetch (train.py:31)", 3 },
	{ "a sleep of 3 % of each step", 300 * US, OBJECT_TIMER, false, 0, 0, NULL, 0 },
	{ "a sleep that keeps a pace", 6 * MS, OBJECT_TIMER, true, 0, 0, NULL, 0 },
	{ "a wait while the device works for longer", 3 * MS, OBJECT_CHILD, false, 0, 6 * MS, NULL,
	  0 },
};

static void step(struct stage *s, struct actor v, const struct actor workers[2],
		 const struct shape *x, unsigned i)
{
	struct actor worker = workers[x->workers == 2 && i % 8 == 0];
	static const char *const lines[] = { "forward", "forward", "forward", "backward" };
	bool alike = !x->says && x->wait_ns == 6 * MS && !x->paced;
	int64_t t = i * STEP, at, rest = alike ? 0 : (i * i * 37 % 151) * 16 * US,
		jitter = alike || x->paced ? 0 : (i * 5 % 11) * 3 * US;
	struct event *ev;

	for (unsigned k = 0; k < 4; k++)
		stage_call(s, v, OP_CUDA_LAUNCH, 0, t + k * 100 * US, t + k * 100 * US + 10 * US)
			->stack = place_of(s, lines[k], 10 + k);
	at = t + 500 * US + (x->paced ? 0 : rest);
	if (x->sync_ns)
		ev = stage_call(s, v, OP_CUDA_STREAM_SYNC, 0, at + x->wait_ns, at + x->sync_ns);
	else if (i % 20 == 19)
		ev = stage_call(s, v, OP_CUDA_STREAM_SYNC, 0, t + 9 * MS, t + 9 * MS + 100 * US);
	else
		ev = NULL;
	if (ev)
		ev->stack = place_of(s, "read_loss", 60);
	if (x->kind == OBJECT_NONE) {
		for (unsigned k = 0; k < 6; k++)
			stage_event(s, OP_CPU_SAMPLE, v.ctx, 0, at + k * MS, at + k * MS)->stack =
				place_of(s, "fetch", 31);
		return;
	}
	ev = stage_offcpu(s, v, 0, at + (x->paced ? rest : 0), at + x->wait_ns + jitter, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, x->kind);
	ev->stack = place_of(s, "fetch", 31);
	if (!x->workers)
		return;
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, worker.thread);
	/* between two of its own */
	ev = stage_offcpu(s, worker, 1, at + x->wait_ns + 100 * US, t + STEP, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
}

static void try_shape(struct stage *s, struct actor v, const struct actor workers[2],
		      const struct shape *x)
{
	const struct finding *found = NULL;
	struct kinds_run p;
	unsigned n = 0;

	for (unsigned i = 0; i < STEPS; i++)
		step(s, v, workers, x, i);
	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		if (!bytes_equal(p.list.v.v[i].kind, bytes_of("step-stall")))
			continue;
		found = &p.list.v.v[i];
		n++;
	}
	is_u64(n, x->says != NULL, "%s: step-stall", x->name);
	if (x->says && found) {
		double of = (double)found->lost_ns / (double)(STEPS * x->wait_ns);

		like(found->summary.p, x->says, "it says what");
		ok(of > 0.98 && of < 1.01, "all of it is told: %.3f", of);
		is_u64(found->severity, x->severity, "as bad as it is");
	} else {
		for (size_t i = 0; i < p.list.v.n; i++)
			printf("# %s\n", p.list.v.v[i].summary.p);
	}
	chain_list_free(&p.list);
}

/* Launches are not recorded in the second half of the steps, which is a quarter of the time. */
static void paused_steps(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	struct record *r = stage_record(&s, RECORD_PAUSED);
	struct json paused, of;
	struct kinds_run p;
	double all, in_steps;

	REC_SET(r, PAUSED, since_ns, LENGTH / 2);
	REC_SET(r, PAUSED, until_ns, LENGTH);
	REC_SET(r, PAUSED, tier, TIER_LAUNCHES);
	REC_SET(r, PAUSED, reason, bytes_of("budget"));
	for (unsigned i = 0; i < STEPS; i++) {
		if (i < STEPS / 2)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, i * STEP, i * STEP + 10 * US)->stack =
				place_of(&s, "forward", 10);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, i * STEP + MS, i * STEP + 9 * MS)->stack =
			place_of(&s, "read_loss", 60);
	}
	stage_call(&s, v, OP_CUDA_MALLOC, 0, 2 * LENGTH, 2 * LENGTH + US);
	analyze(&s, &p);
	paused = json_get(p.list.analysis, "paused");
	of = json_at(paused, 0);
	all = report_number(of, "covered");
	in_steps = report_number(of, "covered_steps");
	ok(all > 0.74 && all < 0.76, "recorded for three quarters of the time: %.3f", all);
	ok(in_steps > 0.49 && in_steps < 0.51, "and for half of that of the steps: %.3f", in_steps);
	json_free(of);
	json_free(paused);
	chain_list_free(&p.list);
	stage_free(&s);
}

#define COMPILER "/usr/lib/python3/site-packages/torch/_dynamo/convert_frame.py"

/* A second of it. Now and then something is tried on the device. */
static int64_t compile_second(struct stage *s, struct actor v, uint32_t stack, int64_t t)
{
	for (unsigned i = 0; i < 4; i++, t += 250 * MS) {
		for (unsigned k = 0; k < 24; k++)
			stage_event(s, OP_CPU_SAMPLE, v.ctx, 0, t + k * 10 * MS, t + k * 10 * MS)
				->stack = stack;
		stage_call(s, v, OP_CUDA_LAUNCH, 0, t + 241 * MS, t + 242 * MS)->stack = stack;
		stage_call(s, v, OP_CUDA_STREAM_SYNC, 0, t + 242 * MS, t + 243 * MS)->stack = stack;
	}
	return t;
}

/* Ten seconds in all, in the first step or one in every tenth; 100 steps, each of which waits for
 * the device. */
static void compile_steps(bool each, uint32_t severity)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	uint32_t stack = call_from(&s, 91, COMPILER, "call", 20), worst = 0;
	struct kinds_run p;
	int64_t t = 0;

	for (unsigned i = 0; i < 100; i++) {
		stage_call(&s, v, OP_CUDA_MEMCPY_ASYNC, 0, t, t + 10 * US)->stack =
			call_from(&s, 90, "/srv/data.py", "fetch", 20);
		t += 100 * US;
		for (unsigned k = 0; k < (each ? i % 10 == 5 : i ? 0 : 10); k++)
			t = compile_second(&s, v, stack, t);
		for (unsigned k = 0; k < 4; k++, t += 100 * US)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + 10 * US)->stack =
				call_from(&s, 91, "/srv/model.py", "forward", 20);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t, t + 9 * MS)->stack =
			call_from(&s, 92, "/srv/model.py", "read_loss", 20);
		t += 9 * MS + 100 * US;
	}
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		struct bytes text = bytes_of(p.list.v.v[i].summary.p);

		if (memmem(text.p, text.n, "compiling", 9))
			worst = p.list.v.v[i].severity;
		printf("# %s\n", p.list.v.v[i].summary.p);
	}
	is_u64(worst, severity, "compiled in %s", each ? "every tenth step" : "the first step");
	chain_list_free(&p.list);
	stage_free(&s);
}

/* The finding of that kind; NULL: there is none. All are printed. */
static const struct finding *told(const struct kinds_run *p, const char *kind)
{
	const struct finding *found = NULL;

	for (size_t i = 0; i < p->list.v.n; i++) {
		printf("# %s\n", p->list.v.v[i].summary.p);
		if (bytes_equal(p->list.v.v[i].kind, bytes_of(kind)))
			found = &p->list.v.v[i];
	}
	return found;
}

/* A function computes 27 % of each step while the device works, and 15 % when that is done. */
static void partly_idle(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	const struct finding *found;
	struct kinds_run p;

	for (unsigned i = 0; i < STEPS; i++) {
		int64_t t = i * STEP;

		for (unsigned k = 0; k < 4; k++)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + k * 80 * US,
				   t + k * 80 * US + 10 * US)
				->stack = place_of(&s, "forward", 10);
		for (unsigned k = 0; k < 3; k++)
			stage_event(&s, OP_CPU_SAMPLE, v.ctx, 0, t + MS + k * 900 * US,
				    t + MS + k * 900 * US)
				->stack = place_of(&s, "fetch", 31);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 3 * MS, t + 8500 * US)->stack =
			place_of(&s, "read_loss", 60);
		stage_event(&s, OP_CPU_SAMPLE, v.ctx, 0, t + 9 * MS, t + 9 * MS)->stack =
			place_of(&s, "fetch", 31);
	}
	analyze(&s, &p);
	found = told(&p, "gpu-idle");
	ok(found, "what of a function lies in gaps is told, however much of it does not");
	if (found) {
		double of = (double)found->lost_ns / (STEPS * 1500.0 * US);

		like(found->summary.p, "its own code in fetch (train.py:31)", "it says what");
		ok(of > 0.98 && of < 1.02, "so much of it: %.3f", of);
		is_u64(found->severity, 2, "and it is not grave: a good step may have it");
	}
	chain_list_free(&p.list);
	stage_free(&s);
}

/* Every tenth step sleeps for 40 ms, which no pace of the steps is. */
static void seldom_sleep(unsigned every)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	const struct finding *found;
	struct kinds_run p;
	int64_t t = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		for (unsigned k = 0; k < 4; k++, t += 100 * US)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + 10 * US)->stack =
				place_of(&s, k < 3 ? "forward" : "backward", 10 + k);
		t += 8 * MS;
		if (i % 10 == 9) {
			stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t, t + 100 * US)->stack =
				place_of(&s, "read_loss", 60);
			t += 200 * US;
		}
		if (i % every)
			continue;
		stage_offcpu(&s, v, 0, t, t + 40 * MS, 0, 0)->stack = place_of(&s, "track", 31);
		stage_set(&s.ev.v[s.ev.n - 1], COL_OBJECT_KIND, OBJECT_TIMER);
		t += 40 * MS;
	}
	analyze(&s, &p);
	found = told(&p, "step-stall");
	is_int(found ? (int)found->severity : 0, every > 2 ? 2 : 0,
	       "a sleep in every %u. step, of which no pace is known", every);
	chain_list_free(&p.list);
	stage_free(&s);
}

/* In each step 100 launches, which the device is done with when it is waited for, and a sleep: up
 * to the next 40 ms, or of 30 ms. */
static void launches_and_sleep(bool paced)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "serve");
	const struct finding *found;
	struct kinds_run p;
	int64_t t = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		int64_t until = (int64_t)(i + 1) * 40 * MS, work = (i * i * 37 % 151) * 50 * US;

		for (unsigned k = 0; k < 100; k++, t += 20 * US)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + 10 * US)->stack =
				place_of(&s, "forward", 10 + k % 4);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t, t + 5 * US)->stack =
			place_of(&s, "read_loss", 60);
		t += work;
		until = paced ? until : t + 30 * MS;
		stage_offcpu(&s, v, 0, t, until, 0, 0)->stack = place_of(&s, "pace", 31);
		stage_set(&s.ev.v[s.ev.n - 1], COL_OBJECT_KIND, OBJECT_TIMER);
		t = until;
	}
	analyze(&s, &p);
	found = told(&p, "launch-bound");
	ok(found && (found->severity == 1) == paced && (found->without.n == 0) == paced &&
		   (found->fixes.v[0].gain_high_ns == 0) == paced,
	   "launching slowly %s",
	   paced ? "costs nothing where a pace leaves the time"
		 : "costs what it takes where it does not");
	chain_list_free(&p.list);
	stage_free(&s);
}

/* A native function that Python calls at that line of the loop. */
static uint32_t native_at(struct stage *s, const char *name, unsigned line)
{
	struct world_symbol symbol = { .name = world_string(s->w, bytes_of(name)) };
	const uint32_t *python;
	uint32_t frames[3];
	unsigned n;

	frames[0] = world_frame(s->w, &(struct world_frame){ .kind = FRAME_NATIVE,
							     .module = 1,
							     .offset = 4096 });
	world_symbol(s->w, frames[0], &symbol);
	python = world_get_stack(s->w, place_of(s, "norms", line), &n);
	memcpy(frames + 1, python, 2 * sizeof(frames[0]));
	return world_stack(s->w, frames, 3);
}

/* In each step values of tensors are read, or tensors are moved, and something is computed between:
 * several at one line are known work, a few are not. */
static const struct single {
	const char *function;
	unsigned each;
	const char *like;
} singles[] = {
	{ "at::_ops::item::call", 2, "its own code in norms (train.py:31)" },
	{ "at::_ops::item::call", 8, "reading single values of tensors in norms (train.py:31)" },
	{ "at::_ops::_to_copy::call", 6, "its own code in norms (train.py:31)" },
	{ "at::_ops::_to_copy::call", 10, "moving tensors one by one in norms (train.py:31)" },
};

static void try_single(const struct single *x)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train");
	const struct finding *found;
	struct kinds_run p;
	struct event *ev;
	int64_t t = 0, until;

	for (unsigned i = 0; i < STEPS; i++) {
		for (unsigned k = 0; k < 4; k++, t += 1400 * US)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + 10 * US)->stack =
				place_of(&s, k < 3 ? "forward" : "backward", 10 + k);
		for (until = t + 2 * MS; t < until; t += 2 * MS / x->each) {
			ev = stage_event(&s, OP_CPU_SAMPLE, v.ctx, 0, t + 50 * US, t + 50 * US);
			ev->stack = place_of(&s, "norms", 31);
			stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 150 * US, t + 155 * US)
				->stack = native_at(&s, x->function, 31);
		}
	}
	analyze(&s, &p);
	found = told(&p, "gpu-idle");
	if (found)
		like(found->summary.p, x->like, "%u of %s in each step", x->each, x->function);
	ok(found, "it is told");
	chain_list_free(&p.list);
	stage_free(&s);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		try_single(&singles[i]);
	launches_and_sleep(true);
	launches_and_sleep(false);
	seldom_sleep(10);
	seldom_sleep(1);
	paused_steps();
	partly_idle();
	compile_steps(false, 0);
	compile_steps(true, 3);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct stage s = stage_new();
		struct actor v, workers[2];

		v = stage_actor(&s, 100, 100, 1, "train");
		/* who is met first is not who takes most */
		workers[1] = stage_actor(&s, 201, 201, 1, "loader");
		workers[0] = stage_actor(&s, 200, 200, 1, "loader");
		try_shape(&s, v, workers, &shapes[i]);
		stage_free(&s);
	}
	return tap_done();
}
