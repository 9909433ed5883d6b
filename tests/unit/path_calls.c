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

int main(void)
{
	calls_without_events();
	return tap_done();
}
