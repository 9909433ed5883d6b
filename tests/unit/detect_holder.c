/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a lock, and where in the program that is: the line that a person would change, what
 * that called, and the thread that holds it rather than the one for which it waits itself.
 */
#include "tests/tap.h"

#include "lib/base/buf.h"
#include "lib/tracks/anatomy.h"
#include "lib/tracks/causes.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track.h"
#include "lib/world/own_site.h"
#include "lib/world/frame_parts.h"
#include "tests/unit/events.h"

#define FRAMES 6

/* "function /path/file.py:9" or "!function /path/module". */
static uint32_t frame_of(struct world *w, const char *text)
{
	const char *path = strchr(text, ' ') + 1, *line = strrchr(text, ':');
	struct world_frame f = { .kind = FRAME_PYTHON };
	struct world_module m;
	uint32_t id;

	if (*text != '!') {
		f.name = world_string(w, (struct bytes){ text, (size_t)(path - 1 - text) });
		f.file = world_string(w, (struct bytes){ path, (size_t)(line - path) });
		f.offset = strtoull(line + 1, NULL, 10);
		return world_frame(w, &f);
	}
	m = (struct world_module){ .path = world_string(w, bytes_of(path)) };
	f = (struct world_frame){ .kind = FRAME_NATIVE,
				  .offset = (uint64_t)(uintptr_t)text,
				  .module = world_module(w, &m) };
	id = world_frame(w, &f);
	if (path - text > 2)
		world_symbol(w, id,
			     &(struct world_symbol){
				     .name = world_string(
					     w, (struct bytes){ text + 1,
								(size_t)(path - 2 - text) }) });
	return id;
}

/* frames: innermost first. */
static uint32_t stack_of(struct world *w, const char *const *frames)
{
	uint32_t ids[FRAMES];
	unsigned n = 0;

	for (; n < FRAMES && frames[n]; n++)
		ids[n] = frame_of(w, frames[n]);
	return world_stack(w, ids, n);
}

#define LIBC	"/usr/lib/x86_64-linux-gnu/libc.so.6"
#define LIBZ	"/usr/lib/x86_64-linux-gnu/libz.so.1"
#define SQLITE	"/opt/conda/lib/libsqlite3.so.0"
#define PROGRAM "/home/u/bin/train"
#define PYTHON	"/usr/lib/libpython3.11.so.1.0"

static const struct {
	const char *what;
	const char *frames[FRAMES]; /* innermost first */
	const char *own, *inner;
} sites[] = {
	{ "a library's call in a program",
	  { "!deflate " LIBZ, "!compress2 " LIBZ, "!save " PROGRAM, "!main " PROGRAM },
	  "save+0x0 (train)",
	  "compress2+0x0 (libz.so.1)" },
	{ "libraries that call libraries",
	  { "!fsync " LIBC, "!unixSync " SQLITE, "!sqlite3_exec " SQLITE, "!store " PROGRAM },
	  "store+0x0 (train)",
	  "fsync+0x0 (libc.so.6)" },
	{ "a library of the program's own",
	  { "!read " LIBC, "!load_shard /home/u/build/libloader.so", "!main " PROGRAM },
	  "load_shard+0x0 (libloader.so)",
	  "read+0x0 (libc.so.6)" },
	{ "the program itself", { "!spin " PROGRAM, "!main " PROGRAM }, "spin+0x0 (train)", NULL },
	{ "a thread of libraries alone",
	  { "!read " LIBC, "!gemm /usr/lib/libopenblas.so.0", "!start " LIBC },
	  "gemm+0x0 (libopenblas.so.0)",
	  "read+0x0 (libc.so.6)" },
	{ "where callers are missing, what is left",
	  { "!read " LIBC },
	  "read+0x0 (libc.so.6)",
	  NULL },
	{ "a line of Python, and what it called",
	  { "!fsync " LIBC, "!os_fsync " PYTHON, "save /home/u/data.py:88" },
	  "save (data.py:88)",
	  "fsync+0x0 (libc.so.6)" },
	{ "Python's library below a line of one's own",
	  { "!scan " PYTHON, "loads /usr/lib/python3.11/json/__init__.py:9",
	    "save /home/u/data.py:7" },
	  "save (data.py:7)",
	  "loads (__init__.py:9)" },
	{ "the interpreter says no more than the line",
	  { "!_PyEval_EvalFrameDefault /usr/bin/python3.11", "save /home/u/data.py:7" },
	  "save (data.py:7)",
	  NULL },
};

static void check_sites(void)
{
	struct world *w = world_new();
	struct own_sites known = { 0 };

	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		uint32_t stack = stack_of(w, sites[i].frames);
		struct own_site at = own_sites_get(&known, w, stack);
		struct buf own = { 0 }, inner = { 0 };

		place_print_frame(&own, w, at.frame);
		is_str(buf_text(&own), sites[i].own, "%s", sites[i].what);
		if (at.inner)
			place_print_frame(&inner, w, at.inner);
		is_str(at.inner ? buf_text(&inner) : NULL, sites[i].inner, "%s: and in what",
		       sites[i].what);
		ok(own_sites_get(&known, w, stack).inner == at.inner, "the same once more");
		buf_free(&own);
		buf_free(&inner);
	}
	ok(!own_sites_get(&known, w, 0).frame, "without a stack there is none");
	map_free(&known.by);
	world_free(w);
}

static const char *const in_write[] = { "!fsync " LIBC, "!sqlite3_exec " SQLITE, "!store " PROGRAM,
					NULL };
static const char *const in_zlib[] = { "!deflate " LIBZ, "!save " PROGRAM, NULL };
static const char *const in_sleep[] = { "!clock_nanosleep@@GLIBC_2.17 " LIBC, "!feed " PROGRAM,
					NULL };
static const char *const in_read[] = { "!read " LIBC, "!take " PROGRAM, NULL };

/* Of main's causes those of that class. */
static void has_reason(struct path_tracks *t, uint32_t thread, enum path_class class,
		       const char *want)
{
	struct track_parts parts = { 0 };
	struct path_causes causes = { 0 };
	struct buf out = { 0 };
	size_t i = 0;

	while (i < path_tracks_count(t) && path_tracks_get(t, i).anchor != thread)
		i++;
	if (!path_tracks_parts(t, i, WINDOW_START, &parts) ||
	    !path_causes_make(&causes, path_tracks_names(t), thread, &parts))
		abort();
	for (size_t k = 0; k < causes.v.n && !out.n; k++)
		if (causes.v.v[k].class == class && causes.v.v[k].culprit)
			reason_print(&out, path_tracks_names(t), &causes.v.v[k]);
	is_str(buf_text(&out), want, "%s", want);
	buf_free(&out);
	path_causes_free(&causes);
	vec_free(&parts.v);
}

/* What the holder of main's lock does: it waits for a disk, computes, or waits for another thread. */
enum doing { DISK, COMPUTES, SLEEPS, AWAITS, QUEUES };

static void check_holder(enum doing doing, enum path_class class, const char *want)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main"),
		     b = stage_actor(&s, 10, 11, 1, "saver"),
		     c = stage_actor(&s, 10, 12, 1, "feeder");
	struct path_tracks *t = path_tracks_new(s.w);
	struct stream_item item = { .kind = STREAM_EVENTS };
	struct event *ev;

	stage_lock(&s, a, 0, 1 * MS, 2 * MS, 2 * MS, b, 4096);
	stage_lock(&s, b, 0, 1 * MS, 2 * MS, 2 * MS, a, 4096);
	stage_lock(&s, c, 0, 1 * MS, 2 * MS, 2 * MS, a, 4096);
	stage_set(stage_lock(&s, a, 0, 10 * MS, 100 * MS, 100 * MS, b, 4096), COL_WAKING_NS, 0);
	if (doing == DISK) {
		ev = stage_offcpu(&s, b, 0, 11 * MS, 99 * MS, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_DISK);
		stage_set(ev, COL_WAKER_KIND, WAKER_HARDIRQ);
		ev->stack = stack_of(s.w, in_write);
	}
	if (doing == SLEEPS) {
		ev = stage_offcpu(&s, b, 0, 11 * MS, 99 * MS, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		ev->stack = stack_of(s.w, in_sleep);
	}
	for (int64_t i = 11; i < 99 && doing == COMPUTES; i++)
		stage_event(&s, OP_CPU_SAMPLE, b.ctx, 0, i * MS, i * MS)->stack =
			stack_of(s.w, in_zlib);
	if (doing == QUEUES) {
		ev = stage_lock(&s, b, 0, 11 * MS, 99 * MS, 99 * MS, c, 4096);
		stage_set(ev, COL_WAKING_NS, 0);
	}
	if (doing == AWAITS) {
		ev = stage_offcpu(&s, b, 0, 11 * MS, 99 * MS, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
		stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
		stage_set(ev, COL_WAKER, c.thread);
		stage_set(ev, COL_WAKING_NS, 0);
		ev->stack = stack_of(s.w, in_read);
	}
	if (doing == AWAITS || doing == QUEUES) {
		ev = stage_offcpu(&s, c, 0, 12 * MS, 98 * MS, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		ev->stack = stack_of(s.w, in_sleep);
	}
	stage_offcpu(&s, b, 0, 110 * MS, 111 * MS, 0, 0);
	stage_offcpu(&s, c, 0, 110 * MS, 111 * MS, 0, 0);
	stage_sort(&s);
	item.events = s.ev.v;
	item.n = s.ev.n;
	if (!t || path_tracks_item(t, &item, NULL) || path_tracks_finish(t, NULL))
		abort();
	has_reason(t, a.thread, class, want);
	path_tracks_free(t);
	stage_free(&s);
}

/* Outside of a loop, the loader's many places are one line, and a library's is the program's that
 * calls it. */
static void check_start(void)
{
	static const char *const loader[][2] = { { "! /lib64/ld-linux-x86-64.so.2" },
						 { "!_dl_map /lib64/ld-linux-x86-64.so.2" } };
	struct world *w = world_new();
	struct track_names names;
	struct track_parts parts = { 0 };
	struct anatomy_root root = { 0 };
	struct anatomy a = { 0 };
	struct track_part p = { .class = PATH_OWN, .ns = 100, .pieces = 1 };
	uint32_t stacks[] = { stack_of(w, loader[0]), stack_of(w, in_zlib),
			      stack_of(w, loader[1]) };

	track_names_init(&names, w);
	for (size_t i = 0; i < 3; i++) {
		p.stack = stacks[i];
		if (!vec_push(&parts.v, p))
			abort();
	}
	ok(anatomy_make(&a, &names, 1, &root, &parts) && a.rows.n == 2 && a.rows.v[0].ns == 200 &&
		   own_site_is_loader(w, a.rows.v[0].frame),
	   "loading libraries is one line");
	ok(a.rows.n == 2 && a.rows.v[1].frame == own_site_of(w, stacks[1]).frame &&
		   !own_site_is_loader(w, a.rows.v[1].frame),
	   "and the program's line another");
	anatomy_free(&a);
	vec_free(&parts.v);
	track_names_free(&names);
	world_free(w);
}

int main(void)
{
	check_sites();
	check_start();
	check_holder(DISK, PATH_DISK,
		     "waits for a lock of saver (tid 11 of pid 10), which waited for a disk in "
		     "store+0x0 (train), in fsync");
	check_holder(COMPUTES, PATH_OWN,
		     "waits for a lock of saver (tid 11 of pid 10), which was on the CPU in "
		     "save+0x0 (train), in deflate (libz.so.1)");
	check_holder(
		SLEEPS, PATH_SLEEP,
		"waits for a lock of saver (tid 11 of pid 10), which slept in feed+0x0 (train)");
	check_holder(
		AWAITS, PATH_SLEEP,
		"waits for a lock of saver (tid 11 of pid 10), which waited for feeder (tid 12 "
		"of pid 10), which slept in feed+0x0 (train)");
	check_holder(QUEUES, PATH_SLEEP,
		     "waits for a lock of feeder (tid 12 of pid 10), which slept in feed+0x0 "
		     "(train)");
	return tap_done();
}
