/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares native frames by the names of their functions. What starts a program or a thread is on
 * all stacks, and no loop's function.
 */
#include "lib/tracks/loop_caller.h"

#include <stdbool.h>
#include <string.h>

#include "lib/world/frame_parts.h"

static bool is_same_function(const struct world *w, uint32_t a, uint32_t b)
{
	struct place p = place_of(w, a), q = place_of(w, b);

	return p.function.n && bytes_equal(p.function, q.function) &&
	       bytes_equal(p.module, q.module);
}

static bool is_start(const struct world *w, uint32_t frame)
{
	static const char *const names[] = { "_start",	     "__libc_start_main",
					     "clone",	     "__libc_start_call_main",
					     "start_thread", "clone3" };
	struct bytes function = place_of(w, frame).function;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (bytes_equal(function, bytes_of(names[i])))
			return true;
	}
	return false;
}

/* A library that is called, and not what makes the loop. */
static bool is_library(const struct world *w, uint32_t frame)
{
	static const char *const names[] = { "/libcudart.", "/libcuda.", "/libnccl." };
	struct bytes module = place_of(w, frame).module;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (module.n && memmem(module.p, module.n, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

/* The frame of that one's function in a stack; 0: it is not there. */
static uint32_t find_in(const struct world *w, uint32_t stack, uint32_t frame)
{
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(w, stack, &n);

	for (unsigned i = 0; frames && i < n; i++) {
		if (is_same_function(w, frames[i], frame))
			return frames[i];
	}
	return 0;
}

/* Lines of what was inlined from another file are no part of a range. */
static bool add_line(struct loop_caller *c, const struct world *w, uint32_t frame)
{
	struct place p = place_of(w, frame);
	uint64_t line = bytes_equal(p.file, place_of(w, c->frame).file) ? p.line : 0;

	if (line && (!c->first_line || line < c->first_line))
		c->first_line = line;
	if (line > c->last_line)
		c->last_line = line;
	return frame != 0;
}

struct loop_caller loop_caller_of(const struct world *w, const struct loop *loop)
{
	unsigned n = 0;
	const uint32_t *frames = loop->nstacks ? world_get_stack(w, loop->stacks[0], &n) : NULL;

	for (unsigned i = 0; frames && i < n && !is_start(w, frames[i]); i++) {
		struct loop_caller c = { .frame = frames[i] };
		bool all = !is_library(w, frames[i]);

		for (unsigned k = 0; all && k < loop->nstacks; k++)
			all = add_line(&c, w, find_in(w, loop->stacks[k], frames[i]));
		if (all)
			return c;
	}
	return (struct loop_caller){ 0 };
}
