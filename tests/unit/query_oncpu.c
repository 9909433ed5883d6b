/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPU samples were, on streams made by hand: functions with their callers and what they
 * called, of everything and of a window; and what is left of more samples than are kept.
 */
#include "lib/query/oncpu.h"

#include <string.h>

#include "lib/query/cpu_samples.h"
#include "tests/tap.h"
#include "tests/unit/events.h"

enum { DECODE, GETITEM, MAIN, COPY, EVALUATE, FRAMES };

static uint32_t python_frame(struct world *w, const char *name, unsigned line)
{
	struct world_frame f = { .kind = FRAME_PYTHON,
				 .offset = line,
				 .name = world_string(w, bytes_of(name)),
				 .file = world_string(w, bytes_of("/job/train.py")) };

	return world_frame(w, &f);
}

static uint32_t native_frame(struct world *w, const char *module, const char *name, uint64_t at)
{
	struct world_module m = { .path = world_string(w, bytes_of(module)) };
	struct world_frame f = { .kind = FRAME_NATIVE, .offset = at };
	struct world_symbol s = { .name = world_string(w, bytes_of(name)) };
	uint32_t frame;

	f.module = world_module(w, &m);
	frame = world_frame(w, &f);
	world_symbol(w, frame, &s);
	return frame;
}

/* Innermost first: a copy in decode(), the interpreter in decode(), __getitem__() itself. */
struct stacks {
	uint32_t copy, decode, getitem;
};

static struct stacks stacks_of(struct world *w)
{
	uint32_t f[FRAMES] = { [DECODE] = python_frame(w, "Text.decode", 73),
			       [GETITEM] = python_frame(w, "Text.__getitem__", 67),
			       [MAIN] = python_frame(w, "main", 240),
			       [COPY] = native_frame(w, "/lib/numpy.so", "copy_rows", 64),
			       [EVALUATE] = native_frame(w, "/lib/libpython3.so",
							 "_PyEval_EvalFrameDefault", 99) };
	const uint32_t copy[] = { f[COPY], f[DECODE], f[GETITEM], f[MAIN] },
		       decode[] = { f[EVALUATE], f[DECODE], f[GETITEM], f[MAIN] },
		       getitem[] = { f[GETITEM], f[MAIN] };

	return (struct stacks){ world_stack(w, copy, 4), world_stack(w, decode, 4),
				world_stack(w, getitem, 2) };
}

static void sample(struct stage *s, struct actor a, uint32_t stack, int64_t ms)
{
	stage_event(s, OP_CPU_SAMPLE, a.ctx, 0, ms * MS, ms * MS)->stack = stack;
}

static const struct oncpu *ask(struct query_oncpu *q, struct stage *s, const struct oncpu_window *w)
{
	struct stream_item item = { .kind = STREAM_EVENTS };
	struct err e;

	stage_sort(s);
	item.events = s->ev.v;
	item.n = s->ev.n;
	is_int(query_oncpu_item(q, &item, &e), 0, "events are taken");
	return query_oncpu_end(q, w);
}

static bool is_text(struct bytes got, const char *want)
{
	return got.n == strlen(want) && memcmp(got.p ? got.p : "", want, got.n) == 0;
}

/* The first second is in __getitem__ itself, the next in decode(), three of four samples of it in a
 * copy. */
static void check_places(void)
{
	const struct oncpu_window second = { .steps = true,
					     .from_ns = 1000 * MS,
					     .until_ns = 2000 * MS };
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 0, "python"),
		     b = stage_actor(&s, 200, 200, 0, "worker");
	struct stacks at = stacks_of(s.w);
	struct query_oncpu *q = query_oncpu_new(s.w), *p = query_oncpu_new(s.w);
	const struct oncpu *got;
	const struct oncpu_thread *t;

	for (int i = 0; i < 100; i++)
		sample(&s, a, at.getitem, 5 + i * 10);
	for (int i = 0; i < 100; i++)
		sample(&s, a, i % 4 ? at.copy : at.decode, 1005 + i * 10);
	for (int i = 0; i < 20; i++)
		sample(&s, b, at.getitem, 1505 + i * 10);
	stage_offcpu(&s, b, 0, 1700 * MS, 3000 * MS, 0, 1);
	got = ask(q, &s, NULL);
	t = got->v.v;
	is_int((long)got->v.n, 2, "both threads");
	ok(!got->window.steps && t->tid == 100 && t->count == 200 && t->nplaces == 2 &&
		   t->wall_ns == 1990 * MS,
	   "everything: all samples of a thread, and its time");
	ok(t->places[0].count == 100 && t->places[1].count == 100, "and of each function");
	got = ask(p, &s, &second);
	t = got->v.v;
	ok(got->window.steps && got->count == 220 && t->tid == 100 && t->count == 100 &&
		   t->nplaces == 1 && t->wall_ns == 995 * MS,
	   "a window: the samples in it, and the thread's time in it");
	ok(is_text(t->places[0].text, "Text.decode (train.py:73)") &&
		   is_text(t->places[0].caller, " < Text.__getitem__"),
	   "with who called it");
	ok(is_text(t->places[0].leaf, "copy_rows (numpy.so)") && t->places[0].leaf_count == 75,
	   "and what it called in most of them, which is not Python's own interpreter");
	t = &got->v.v[1];
	ok(t->tid == 200 && t->count == 20 && t->wall_ns == 495 * MS && !t->places[0].leaf.n,
	   "another thread: from its first event on; at the line itself nothing was called");
	query_oncpu_free(q);
	query_oncpu_free(p);
	stage_free(&s);
}

static void count(void *ctx, uint32_t spot, bool inside, uint64_t times)
{
	uint64_t *sums = ctx;

	sums[spot] += times;
	sums[2] += inside ? times : 0;
}

/* Two threads in turn on two CPUs, one of three samples of the second one: what is dropped must not
 * be one's. */
static void check_thinned(void)
{
	struct cpu_samples s = { 0 };
	uint64_t all[3] = { 0 }, half[3] = { 0 }, n = CPU_SAMPLES_KEPT * 6ull;
	bool good = true;

	for (uint64_t i = 0; i < n && good; i++)
		good = cpu_samples_add(&s, i % 3 == 0, i & 1, (int64_t)i * 5 * MS);
	cpu_samples_for_each(&s, 0, INT64_MAX, count, all);
	cpu_samples_for_each(&s, 0, (int64_t)(n / 2) * 5 * MS, count, half);
	ok(good && s.v.n <= CPU_SAMPLES_KEPT && s.n == n,
	   "of %llu samples no more are kept than there is room for", (unsigned long long)n);
	ok(all[0] > n * 0.66 && all[0] < n * 0.673 && all[1] > n * 0.33 && all[1] < n * 0.337,
	   "each thread's share is what it was: %llu %llu", (unsigned long long)all[0],
	   (unsigned long long)all[1]);
	ok(all[2] > n * 0.495 && all[2] < n * 0.505, "and that inside calls");
	ok(half[0] + half[1] > n * 0.495 && half[0] + half[1] < n * 0.505,
	   "and half of the time has half of them");
	cpu_samples_free(&s);
}

int main(void)
{
	check_places();
	check_thinned();
	return done_testing();
}
