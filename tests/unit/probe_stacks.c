/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules by what processes say that they have mapped: their own words.
 */
#include "lib/probe/stacks.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

/* A mapping that is gone by now, and a FIFO where its file was. */
static void fifo(struct probe_stacks *s)
{
	char path[64];
	struct host_mapping m = { .start = 4096, .end = 8192, .inode = 1, .executable = true };

	snprintf(path, sizeof(path), "/tmp/ingero-unit.%d", (int)getpid());
	is_int(mkfifo(path, 0600), 0, "a FIFO");
	m.path = bytes_of(path);
	alarm(60);
	probe_stacks_maps_begin(s, (uint32_t)getpid());
	probe_stacks_maps_add(s, (uint32_t)getpid(), &m);
	alarm(0);
	ok(true, "under the name of a library is not waited for");
	unlink(path);
}

static unsigned native(struct probe_stacks *s, struct world *w, uint32_t tgid)
{
	const uint64_t ip[1] = { 0x10100 };
	const struct world_frame *f;
	const uint32_t *frames;
	unsigned n = 0;

	frames = world_get_stack(w, probe_stacks_resolve(s, tgid, ip, 1, NULL, 0, NULL), &n);
	f = frames && n == 1 ? world_get_frame(w, frames[0]) : NULL;
	return f && f->kind == FRAME_NATIVE;
}

/* Processes come and go by the million: what was mapped in them goes too, when their stacks can be no more. */
static void ended(struct probe_stacks *s, struct world *w)
{
	struct host_mapping m = { .start = 0x10000,
				  .end = 0x20000,
				  .inode = 2,
				  .executable = true,
				  .path = bytes_of("/tmp/ingero-unit-none") };

	for (uint32_t tgid = 1000; tgid < 1003; tgid++) {
		probe_stacks_maps_begin(s, tgid);
		probe_stacks_maps_add(s, tgid, &m);
	}
	probe_stacks_inherit(s, 1000, 1003);
	ok(native(s, w, 1001) && native(s, w, 1003), "what is mapped");
	/* Read too late there is nothing. */
	probe_stacks_maps_begin(s, 1003);
	ok(native(s, w, 1003),
	   "a copy that has ended before it could be looked at had what its parent has");
	probe_stacks_executed(s, 1003);
	probe_stacks_maps_begin(s, 1003);
	ok(!native(s, w, 1003), "another program has not");
	probe_stacks_ended(s, 1000);
	probe_stacks_ended(s, 1001);
	probe_stacks_ended(s, 2000);
	probe_stacks_forget(s);
	ok(native(s, w, 1000) && native(s, w, 1001), "is known a while after the end");
	probe_stacks_inherit(s, 1002, 1001);
	probe_stacks_forget(s);
	ok(!native(s, w, 1000), "and then no more");
	ok(native(s, w, 1001), "but of who has the number now");
	ok(native(s, w, 1002), "and of the others");
}

/* Code in no file is not taken for other code in no file. */
static void nameless(struct probe_stacks *s, struct world *w)
{
	static const char *const said[][2] = { { "[vdso]", "[vdso]" },
					       { "", "[anonymous code]" },
					       { "[anon:jit]", "[anon:jit]" },
					       { "", "[anonymous code]" } };
	struct host_mapping m = { .executable = true };
	const struct world_module *module;
	const struct world_frame *f;
	const uint32_t *frames;
	uint64_t ip;
	unsigned n;

	probe_stacks_maps_begin(s, 3000);
	for (unsigned i = 0; i < 4; i++) {
		m.start = (i + 1) * 0x100000ull;
		m.end = m.start + 0x1000;
		m.path = bytes_of(said[i][0]);
		probe_stacks_maps_add(s, 3000, &m);
	}
	for (unsigned i = 0; i < 4; i++) {
		ip = (i + 1) * 0x100000ull + 0x101;
		frames = world_get_stack(w, probe_stacks_resolve(s, 3000, &ip, 1, NULL, 0, NULL),
					 &n);
		f = frames ? world_get_frame(w, frames[0]) : NULL;
		module = f ? world_get_module(w, f->module) : NULL;
		is_str(module ? world_text(w, module->path).p : "none", said[i][1],
		       "code in no file, %u", i);
	}
}

int main(void)
{
	struct world *w = world_new();
	struct probe_stacks *s;
	struct err e = { 0 };

	if (!w || probe_stacks_new(&s, w, &e))
		return 1;
	fifo(s);
	ended(s, w);
	nameless(s, w);
	probe_stacks_free(s);
	world_free(w);
	return done_testing();
}
