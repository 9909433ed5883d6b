/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose probes were detached: the stacks of waits and samples name them. */
#include "tests/tap.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/loops/stack_calls.h"
#include "tests/unit/path_run.h"

/* A stack of functions, innermost first; a name that begins with "py:" is Python's, "?" not known. */
static uint32_t stack_of(struct stage *s, const char *const *names, unsigned n)
{
	uint32_t frames[8];

	for (unsigned i = 0; i < n; i++) {
		bool python = !strncmp(names[i], "py:", 3);
		struct world_frame f = {
			.kind = python ? FRAME_PYTHON : FRAME_NATIVE,
			.offset = python ? 0 : hash_bytes(names[i], strlen(names[i]), 1)
		};
		struct world_symbol symbol = { .delta = 16 };

		f.name = python ? world_string(s->w, bytes_of(names[i] + 3)) : 0;
		frames[i] = world_frame(s->w, &f);
		symbol.name = world_string(s->w, bytes_of(names[i]));
		if (!python && names[i][0] != '?')
			world_symbol(s->w, frames[i], &symbol);
	}
	return world_stack(s->w, frames, n);
}

/* The probes of a call were detached: the stack of a wait, or of a sample, says which call it is
 * in. */
static void calls_without_events(void)
{
	static const char *const sync[] = { "poll", "cuStreamSynchronize", "cudaStreamSynchronize",
					    "py:step" };
	static const char *const versioned[] = { "ioctl", "cuMemcpyDtoH_v2", "py:step" };
	static const char *const launch[] = { "cudaLaunchKernel_ptsz", "py:step" };
	static const char *const others[] = { "poll", "py:cudaStreamSynchronize",
					      "cudaStreamSynchronize" };
	static const struct {
		const char *const *names;
		unsigned n;
		uint16_t op;
		bool sync;
		const char *what;
	} cases[] = {
		{ sync, 4, OP_CUDA_STREAM_SYNC, true, "the outermost call" },
		{ versioned, 3, OP_CU_MEMCPY_DTOH, true, "by another version of its name" },
		{ launch, 2, OP_CUDA_LAUNCH, false, "one that does not wait" },
		{ others, 3, 0, false, "a function of Python's is none, nor is what calls it" },
	};
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	struct stack_calls calls = { 0 };
	const struct stack_call *found;
	struct event *ev;
	struct outcome t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ok(stack_calls_find(&calls, s.w, stack_of(&s, cases[i].names, cases[i].n),
				    &found) &&
			   found->op == cases[i].op && found->sync == cases[i].sync,
		   "%s", cases[i].what);
	stack_calls_free(&calls);
	sleep_for(&s, a, 0, 1 * MS);
	ev = stage_offcpu(&s, a, 0, 10 * MS, 50 * MS, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_POLL);
	ev->stack = stack_of(&s, sync, 4);
	ev = stage_event(&s, OP_CPU_SAMPLE, a.ctx, 0, 60 * MS, 60 * MS);
	ev->stack = stack_of(&s, sync, 4);
	t = run(&s, a.thread, 60 * MS);
	is_u64(ns_of(&t, PATH_OUTSIDE, 0), 0, "it waits for no socket");
	is_u64(ns_of(&t, PATH_DEVICE, 0), 50 * MS, "but 40 ms for the device, and spins 10 ms");
	outcome_free(&t);
	stage_free(&s);
}

/* ns of what took the CPU at this place; unplaced: somewhere behind it. */
static uint64_t taken_at(const struct outcome *t, uint32_t stack, bool unplaced)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < t->parts.list.v.n; i++) {
		const struct track_part *p = &t->parts.list.v.v[i];

		if (p->class == PATH_TAKEN && p->stack == stack && p->unplaced == unplaced &&
		    p->before == (unplaced ? stack : 0) && p->met == !unplaced)
			ns += p->ns;
	}
	return ns;
}

/* Where a thread was when its CPU was taken from it: nobody knows behind a call, but a sample, or
 * the interval's own stack, says so. */
static void lost_its_cpu(void)
{
	static const char *const names[][2] = { { "py:launch", "py:main" },
						{ "py:encode", "py:main" },
						{ "py:decode", "py:main" } };
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"), b = stage_actor(&s, 20, 20, 1, "hog");
	uint32_t call = stack_of(&s, names[0], 2), sampled = stack_of(&s, names[1], 2),
		 own = stack_of(&s, names[2], 2);
	struct outcome t;

	stage_call(&s, a, OP_CUDA_LAUNCH, 0, 1 * MS, 2 * MS)->stack = call;
	stage_offcpu(&s, a, 0, 5 * MS, 15 * MS, 10 * MS, 0);
	stage_event(&s, OP_CPU_SAMPLE, a.ctx, 0, 16 * MS, 16 * MS)->stack = sampled;
	stage_offcpu(&s, a, 0, 17 * MS, 19 * MS, 2 * MS, 0);
	stage_offcpu(&s, a, 0, 20 * MS, 23 * MS, 3 * MS, 0);
	stage_call(&s, a, OP_CUDA_LAUNCH, 0, 24 * MS, 25 * MS)->stack = call;
	stage_offcpu(&s, a, 0, 30 * MS, 37 * MS, 7 * MS, 0)->stack = own;
	stage_offcpu(&s, a, 0, 38 * MS, 39 * MS, 1 * MS, 0);
	stage_occupied(&s, b, 0, 5 * MS, 15 * MS);
	stage_occupied(&s, b, 0, 17 * MS, 19 * MS);
	stage_occupied(&s, b, 0, 20 * MS, 23 * MS);
	stage_occupied(&s, b, 0, 30 * MS, 37 * MS);
	stage_occupied(&s, b, 0, 38 * MS, 39 * MS);
	t = run(&s, a.thread, 40 * MS);
	is_u64(taken_at(&t, call, true), 11 * MS, "CPU taken behind a call: somewhere");
	is_u64(taken_at(&t, sampled, false), 5 * MS, "behind a sample: there");
	is_u64(taken_at(&t, own, false), 7 * MS, "with a stack of its own: there");
	is_u64(ns_of(&t, PATH_OWN, 0), 14 * MS, "own code is the rest");
	outcome_free(&t);
	stage_free(&s);
}

int main(void)
{
	calls_without_events();
	lost_its_cpu();
	return tap_done();
}
