/* SPDX-License-Identifier: Apache-2.0 */
/* The function that makes a loop of calls, by the stacks of these. */
#include "tests/tap.h"

#include "lib/tracks/loop_caller.h"
#include "lib/world/frame_parts.h"
#include "tests/unit/events.h"

/* "main:31": a frame of a function whose call stands in that line, "main:h7": in one of a header
 * that was inlined; "*": of a library. */
static uint32_t frame_of(struct world *w, const char *text, size_t n)
{
	struct world_module m = { 0 };
	struct world_frame f = { .kind = FRAME_NATIVE };
	struct world_symbol s = { 0 };
	size_t name = strcspn(text, ": ");

	m.path = world_string(w, bytes_of(*text == '*' ? "/usr/lib/libcudart.so.12" : "/bin/run"));
	f.module = world_module(w, &m);
	for (size_t i = 0; i < n; i++)
		f.offset = f.offset * 131 + (uint64_t)text[i];
	s.name = world_string(w, (struct bytes){ text, name });
	if (text[name] == ':') {
		name += 1 + (text[name + 1] == 'h');
		s.file = world_string(w, bytes_of(text[name - 1] == 'h' ? "one.h" : "main.cpp"));
		s.line = (uint32_t)strtoul(text + name, NULL, 10);
	}
	world_symbol(w, world_frame(w, &f), &s);
	return world_frame(w, &f);
}

/* Innermost first. */
static uint32_t stack_of(struct world *w, const char *text)
{
	uint32_t frames[16];
	unsigned n = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		frames[n++] = frame_of(w, text, length);
		text += length + (text[length] == ' ');
	}
	return world_stack(w, frames, n);
}

static const struct row {
	const char *name, *stacks[3], *want;
} rows[] = {
	{ "one function", { "generate:31 main:9", "generate:33 main:9" }, "generate 31-33" },
	{ "functions that it calls",
	  { "copy:5 step:31 main:9", "launch:7 pass:2 step:30 main:9", "wait:1 step:35 main:9" },
	  "step 30-35" },
	{ "the library that is called",
	  { "*:1 read:80 main:9", "*:1 read:80 main:9" },
	  "read 80-80" },
	{ "lines of what was inlined from another file",
	  { "generate:31 main:9", "generate:h7 main:9", "generate:33 main:9" },
	  "generate 31-33" },
	{ "no lines", { "copy step main", "wait step main" }, "step 0-0" },
	{ "nothing in common", { "copy:5", "wait:7" }, "" },
	{ "what starts every thread", { "copy:5 start_thread", "wait:7 start_thread" }, "" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new();
		struct loop loop = { .period = 3 };
		struct loop_caller c;
		char text[100] = "";

		for (unsigned k = 0; k < 3 && rows[i].stacks[k]; k++)
			loop.stacks[loop.nstacks++] = stack_of(w, rows[i].stacks[k]);
		c = loop_caller_of(w, &loop);
		if (c.frame)
			snprintf(text, sizeof(text), "%s %" PRIu64 "-%" PRIu64,
				 place_of(w, c.frame).function.p, c.first_line, c.last_line);
		is_str(text, rows[i].want, "%s", rows[i].name);
		world_free(w);
	}
	return tap_done();
}
