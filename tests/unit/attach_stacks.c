/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules by what processes say that they have mapped: their own words.
 */
#include "lib/attach/stacks.h"

#include <stdio.h>
#include <string.h>
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
	const struct wire_stack stack = { .tgid = tgid, .n = 1, .ip = { 0x10100 } };
	const struct world_frame *f;
	const uint32_t *frames;
	unsigned n = 0;

	frames = world_get_stack(w, probe_stacks_resolve(s, &stack, NULL, 0, NULL), &n);
	f = frames && n == 1 ? world_get_frame(w, frames[0]) : NULL;
	return f && f->kind == FRAME_NATIVE;
}

/* Processes come and go by the million: what was mapped in them goes too, when their stacks can be
 * no more. */
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
	probe_stacks_executed(s, 1003, 1);
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
	struct wire_stack stack = { .tgid = 3000, .n = 1 };
	unsigned n;

	probe_stacks_maps_begin(s, 3000);
	for (unsigned i = 0; i < 4; i++) {
		m.start = (i + 1) * 0x100000ull;
		m.end = m.start + 0x1000;
		m.path = bytes_of(said[i][0]);
		probe_stacks_maps_add(s, 3000, &m);
	}
	for (unsigned i = 0; i < 4; i++) {
		stack.ip[0] = (i + 1) * 0x100000ull + 0x101;
		frames = world_get_stack(w, probe_stacks_resolve(s, &stack, NULL, 0, NULL), &n);
		f = frames ? world_get_frame(w, frames[0]) : NULL;
		module = f ? world_get_module(w, f->module) : NULL;
		is_str(module ? world_text(w, module->path).p : "none", said[i][1],
		       "code in no file, %u", i);
	}
}

static const char here[] = "a text in a file that is mapped";

struct found {
	const char *at;
	struct host_mapping m;
	char path[512];
};

static bool find_mapping(void *ctx, const struct host_mapping *m)
{
	struct found *f = ctx;

	if ((uint64_t)(uintptr_t)f->at < m->start || (uint64_t)(uintptr_t)f->at >= m->end)
		return true;
	f->m = *m;
	snprintf(f->path, sizeof(f->path), "%s", m->path.p);
	f->m.path = bytes_of(f->path);
	return false;
}

static void map_one(struct probe_stacks *s, uint32_t tgid, const struct host_mapping *m)
{
	struct host_mapping code = *m;

	probe_stacks_maps_begin(s, tgid);
	probe_stacks_maps_add(s, tgid, m);
	code.start = m->end;
	code.end = m->end + 4096;
	code.executable = true;
	probe_stacks_maps_add(s, tgid,
			      &code); /* of a library's files only those with code are open */
}

static const char *text_at(struct probe_stacks *s, uint32_t tgid, uint64_t address, int64_t time_ns)
{
	static char out[sizeof(here)];
	size_t n = probe_stacks_bytes(s, tgid, address, time_ns, out, sizeof(out));

	return n == sizeof(out) ? out : "nothing";
}

/* What a probe could not read: of a process that lives, of one that has ended, of a library that is
 * gone from there. */
static void bytes(struct probe_stacks *s)
{
	struct found f = { .at = here };
	struct err ignored = { 0 };
	uint64_t at = (uint64_t)(uintptr_t)here;
	uint32_t self = (uint32_t)getpid(), other = 4000000; /* there is no such process */
	char out[16];

	host_maps_read(self, find_mapping, &f, &ignored);
	ok(f.m.inode != 0, "the test's own file");
	is_str(text_at(s, self, at, 100), here, "memory is read");
	is_str(text_at(s, other, at, 100), "nothing", "of nobody it is not");
	map_one(s, self, &f.m);
	map_one(s, other, &f.m);
	is_str(text_at(s, other, at, 100), here, "of a process that has ended the file is read");
	/* Another library there from 200 on. */
	f.m.offset += 4096;
	probe_stacks_changed(s, other, 200, false);
	map_one(s, other, &f.m);
	is_str(text_at(s, other, at, 199), here, "what was mapped there before");
	ok(strcmp(text_at(s, other, at, 200), here) != 0, "and not what is mapped since");
	/* What does not change does not count as gone. */
	f.m.offset -= 4096;
	probe_stacks_changed(s, self, 300, true);
	is_str(text_at(s, self, at, 100), here, "what may be gone from there is read in its file");
	is_str(text_at(s, self, at, 300), here, "what came later is read where it lies");
	map_one(s, self, &f.m);
	is_str(text_at(s, self, at, 100), here, "a new picture of the same");
	probe_stacks_ended(s, other);
	ok(probe_stacks_bytes(s, other, f.m.end - 8, 400, out, sizeof(out)) <= 8,
	   "no more than is mapped");
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
	bytes(s);
	probe_stacks_free(s);
	world_free(w);
	return done_testing();
}
