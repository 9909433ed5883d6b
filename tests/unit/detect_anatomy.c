/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes, the lines of a loop and their phrases, of a window of a training loop: rows sum to it,
 * one cause has all lines of it, and the lead goes down to where the lines differ.
 */
#include "tests/tap.h"

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/tracks/anatomy.h"
#include "lib/tracks/reason.h"

static struct world *w;
static struct track_names names;
static struct track_parts parts;
static uint32_t culprit_thread;

static uint32_t frame(const char *function, unsigned line)
{
	struct world_frame f = { .kind = FRAME_PYTHON,
				 .offset = line,
				 .name = world_string(w, bytes_of(function)),
				 .file = world_string(w, bytes_of("/srv/train.py")) };

	return world_frame(w, &f);
}

/* Of lines in run, step and a third function; 0: the stack ends before it. */
static uint32_t stack(unsigned run, unsigned step, const char *inner, unsigned line)
{
	uint32_t frames[4];
	unsigned n = 0;

	if (inner)
		frames[n++] = frame(inner, line);
	if (step)
		frames[n++] = frame("step", step);
	frames[n++] = frame("run", run);
	frames[n++] = frame("main", 3);
	return world_stack(w, frames, n);
}

static uint32_t thread(uint32_t pid, uint32_t tid, const char *comm)
{
	struct world_process p = { .node = 1, .tgid = pid };
	struct world_thread t = { .tid = tid, .comm = world_string(w, bytes_of(comm)) };

	t.process = world_process(w, &p);
	return world_thread(w, &t);
}

static void add(enum path_class class, uint32_t stack_id, uint32_t culprit, uint32_t line,
		uint64_t ns)
{
	struct track_part p = { .class = class,
				.stack = stack_id,
				.culprit = culprit,
				.thread = culprit ? culprit_thread : 0,
				.line = line,
				.ns = ns,
				.pieces = 1,
				.longest_ns = ns,
				.sampled = true };

	if (!vec_push(&parts.v, p))
		abort();
}

static void is_reason(const struct path_cause *c, const char *want)
{
	struct buf out = { 0 };

	reason_print(&out, &names, c);
	is_str(buf_text(&out), want, "%s", want);
	buf_free(&out);
}

/* Threads of a pool that gave themselves no names, and one that does something else. */
static void check_pools(uint32_t own)
{
	static const struct {
		uint32_t tid;
		const char *name;
		unsigned line;
		uint64_t ns;
	} threads[] = {
		{ 71, "python", 80, 100 }, { 72, "python", 80, 90 }, { 73, "python", 99, 50 },
		{ 74, "named", 80, 40 },   { 75, "python", 80, 30 },
	};
	struct path_causes causes = { 0 };

	parts.v.n = 0;
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		uint32_t id = culprit_thread = thread(7, threads[i].tid, threads[i].name);

		add(PATH_OWN, stack(21, 31, NULL, 0), path_culprit_of(&names.culprits, id),
		    frame("work", threads[i].line), threads[i].ns);
	}
	ok(path_causes_make(&causes, &names, own, &parts) && causes.ns == 310 && causes.v.n == 3 &&
		   causes.v.v[0].ns == 220,
	   "threads without names that do the same are a pool");
	is_reason(&causes.v.v[0], "waits for python (tid 71 of pid 7) and 2 more like it, which "
				  "was on the CPU in work "
				  "(train.py:80)");
	is_reason(&causes.v.v[1],
		  "waits for python (tid 73 of pid 7), which was on the CPU in work (train.py:99)");
	path_causes_free(&causes);
}

/* Each is the child of another script, and so a culprit of its own. */
static void check_commands(uint32_t own)
{
	static const struct {
		uint32_t pid;
		const char *name;
		unsigned line;
		uint64_t ns;
	} processes[] = {
		{ 101, "sleep", 21, 90 }, { 102, "sleep", 21, 80 }, { 103, "curl", 21, 75 },
		{ 104, "sleep", 22, 70 }, { 105, "sleep", 21, 60 },
	};
	struct path_causes causes = { 0 };

	parts.v.n = 0;
	for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++) {
		uint32_t pid = processes[i].pid,
			 id = culprit_thread = thread(pid, pid, processes[i].name);

		add(PATH_SLEEP, stack(21, processes[i].line, NULL, 0),
		    path_culprit_of(&names.culprits, id), 0, processes[i].ns);
	}
	ok(path_causes_make(&causes, &names, own, &parts) && causes.ns == 375 && causes.v.n == 3 &&
		   causes.v.v[0].ns == 230 && causes.v.v[0].pieces == 3,
	   "processes of one command at one line are one cause");
	is_reason(&causes.v.v[0], "waits for sleep (pid 101) and 2 more like it, which slept");
	path_causes_free(&causes);
}

/* One line of the loop has nearly all; another one has a tenth, which keeps its line. */
static void check_left(uint32_t own)
{
	struct anatomy_root root = { .depth = 1, .frame = frame("run", 20) };
	struct anatomy a = { 0 };

	parts.v.n = 0;
	add(PATH_OWN, stack(21, 31, NULL, 0), 0, frame("step", 31), 500);
	add(PATH_OWN, stack(21, 32, NULL, 0), 0, frame("step", 32), 400);
	add(PATH_DEVICE, stack(22, 41, NULL, 0), 0, frame("step", 41), 100);
	ok(anatomy_make(&a, &names, own, &root, &parts) && a.nlead == 1 && a.rows.n == 3 &&
		   a.rows.v[2].frame == frame("run", 22) && a.rows.v[2].ns == 100,
	   "what left the lead has the line where it did");
	anatomy_free(&a);
}

#define LIBC "/usr/lib/libc.so.6"

/* "name module": a frame of native code; without a name it was stripped. */
static uint32_t native(const char *text, uint64_t offset)
{
	const char *module = strchr(text, ' ') + 1;
	struct bytes name = { text, (size_t)(module - text - 1) };
	struct world_module m = { .path = world_string(w, bytes_of(module)) };
	struct world_frame f = { .kind = FRAME_NATIVE,
				 .offset =
					 hash_bytes(text, strlen(text), offset) >> 8 << 8 | offset,
				 .module = world_module(w, &m) };
	uint32_t id = world_frame(w, &f);

	if (name.n)
		world_symbol(w, id,
			     &(struct world_symbol){ .name = world_string(w, name),
						     .delta = offset });
	return id;
}

/* Parts of native code, innermost first, with the bytes into each function. */
static const struct native_part {
	struct {
		const char *text;
		unsigned offset;
	} frames[6];
	bool met;
	uint64_t ns;
} native_parts[] = {
	{ { { "crunch /srv/prog", 1 }, { "augment /srv/prog", 8 }, { "main /srv/prog", 3 } },
	  true,
	  300 },
	{ { { "crunch /srv/prog", 2 }, { "augment /srv/prog", 8 }, { "main /srv/prog", 3 } },
	  true,
	  200 },
	{ { { "crunch /srv/prog", 2 }, { "main /srv/prog", 4 } }, true, 200 },
	{ { { "read " LIBC, 9 }, { "main /srv/prog", 5 } }, false, 50 },
	{ { { "main /srv/prog", 6 } }, false, 30 },
	{ { { "main /srv/prog", 6 } }, true, 20 },
	{ { { "main /srv/prog", 7 } }, true, 60 },
	{ { { "crunch /srv/prog", 1 },
	    { "on_tick /srv/prog", 2 },
	    { " " LIBC, 5 },
	    { "crunch /srv/prog", 1 },
	    { "main /srv/prog", 4 } },
	  true,
	  140 },
};

/* In native code the calls of the program's own functions are the rows; a function that samples met
 * at several addresses is one, and so is it in the causes. */
static void check_native(uint32_t own)
{
	static const struct {
		const char *line, *site;
		uint64_t ns;
	} want[] = {
		{ "main+0x3 (prog)", "crunch (prog)", 500 },
		{ "main+0x4 (prog)", "crunch (prog)", 200 },
		{ "on_tick+0x2 (prog)", "crunch (prog)", 140 },
		{ "main (prog)", "", 80 },
		{ "main+0x5 (prog)", "", 50 },
		{ "main+0x6 (prog)", "", 30 },
	};
	struct path_causes causes = { 0 };
	struct anatomy_root root = { 0 };
	struct anatomy a = { 0 };
	struct buf line = { 0 }, site = { 0 };

	parts.v.n = 0;
	for (size_t i = 0; i < sizeof(native_parts) / sizeof(native_parts[0]); i++) {
		const struct native_part *p = &native_parts[i];
		uint32_t frames[6];
		unsigned n = 0;

		for (; n < 6 && p->frames[n].text; n++)
			frames[n] = native(p->frames[n].text, p->frames[n].offset);
		add(PATH_OWN, world_stack(w, frames, n), 0, p->met ? frames[0] : 0, p->ns);
		parts.v.v[i].met = parts.v.v[i].line_met = parts.v.v[i].sampled = p->met;
	}
	ok(anatomy_make(&a, &names, own, &root, &parts), "the calls of a native program");
	is_u64(a.rows.n, 6, "a function that was met is one row, a call is one");
	for (size_t i = 0; i < a.rows.n && i < 6; i++) {
		buf_reset(&line);
		buf_reset(&site);
		track_names_print(&line, w, a.rows.v[i].frame);
		if (a.rows.v[i].site)
			track_names_print(&site, w, a.rows.v[i].site);
		is_str(buf_text(&line), want[i].line, "row %s", want[i].line);
		is_str(buf_text(&site), want[i].site, "its site");
		is_u64(a.rows.v[i].ns, want[i].ns, "its time");
	}
	ok(path_causes_make(&causes, &names, own, &parts) && causes.v.n == 1 &&
		   causes.v.v[0].lines[0].ns == 840,
	   "a function is one line of the cause, whoever called it");
	is_reason(&causes.v.v[0], "on the CPU in crunch (prog)");
	path_causes_free(&causes);
	anatomy_free(&a);
	buf_free(&line);
	buf_free(&site);
}

int main(void)
{
	struct path_causes causes = { 0 };
	struct path_cause few;
	struct anatomy a = { 0 };
	struct anatomy_root root = { .depth = 1 };
	uint32_t own, other, worker, decode;

	w = world_new();
	track_names_init(&names, w);
	own = thread(7, 7, "python");
	other = culprit_thread = thread(8, 8, "pt_data_worker");
	worker = path_culprit_of(&names.culprits, other);
	decode = frame("decode", 75);
	root.frame = frame("run", 20);

	/* 1,000 ns: 600 waiting for the worker at two places, 250 own code, 100 device, 50
	 * elsewhere. */
	add(PATH_OWN, stack(21, 31, NULL, 0), worker, decode, 500);
	add(PATH_OWN, stack(21, 31, "next", 41), worker, decode, 60);
	add(PATH_OWN, stack(21, 32, NULL, 0), worker, decode, 40);
	add(PATH_OWN, stack(21, 33, "compute", 51), 0, frame("compute", 51), 250);
	add(PATH_DEVICE, stack(21, 34, NULL, 0), 0, frame("step", 34), 100);
	add(PATH_SLEEP, 0, 0, 0, 30);
	add(PATH_TAKEN, stack(21, 33, NULL, 0), worker, 0, 20);

	ok(path_causes_make(&causes, &names, own, &parts) && causes.ns == 1000,
	   "causes sum to the window");
	is_int(causes.v.n, 5, "one for each class and culprit");
	ok(causes.v.v[0].ns == 600 && causes.v.v[0].nlines == 3 &&
		   causes.v.v[0].lines[0].ns == 500 && causes.v.v[0].other_process,
	   "the largest first, with its lines");
	is_int(path_cause_severity(&causes.v.v[0], 1000), 3,
	       "waiting for another process is a loss");
	is_int(path_cause_severity(&causes.v.v[1], 1000), 0, "own code is none");
	is_int(path_cause_severity(&causes.v.v[3], 1000), 2, "a sleep of 3 %% is medium");
	is_reason(&causes.v.v[0],
		  "waits for pt_data_worker (pid 8), which was on the CPU in decode (train.py:75)");
	is_reason(&causes.v.v[1], "on the CPU in compute (train.py:51)");
	few = causes.v.v[1];
	few.lines[0].ns = few.ns / 2;
	few.lines[0].sampled = false;
	is_reason(&few, "on the CPU in compute (train.py:51) (50%) and elsewhere");
	few.lines[0].ns = few.ns / 100;
	is_reason(&few, "on the CPU");
	/* A function that is called at several lines has more than each of them. */
	few = causes.v.v[1];
	few.nlines = 4;
	few.lines[3] = few.lines[2] = few.lines[1] = few.lines[0];
	few.lines[0].ns = few.ns * 4 / 10;
	few.lines[1].ns = few.ns * 3 / 10;
	few.lines[2].ns = few.ns * 2 / 10;
	few.lines[3].ns = few.ns / 10;
	few.lines[1].line = frame("on_alarm", 12);
	few.lines[2].line = frame("on_alarm", 11);
	few.lines[3].line = frame("step", 34);
	is_reason(&few,
		  "on the CPU in on_alarm (train.py:12) (50%), compute (train.py:51) (40%) and "
		  "elsewhere");
	few.lines[0].ns += few.lines[3].ns;
	few.nlines = 3;
	is_reason(&few, "on the CPU in compute (train.py:51) (50%), on_alarm (train.py:12) (50%)");
	is_reason(&causes.v.v[2], "waits for the device in step (train.py:34)");
	is_reason(&causes.v.v[3], "sleeps");
	is_reason(&causes.v.v[4], "pt_data_worker (pid 8) had the CPU");

	ok(anatomy_make(&a, &names, own, &root, &parts), "the lines of the loop");
	ok(a.nlead == 1 && a.lead[0] == frame("run", 21),
	   "one line of run has nearly all of it: lines of step are shown");
	is_int(a.rows.n, 5, "each line is a row, and what has none");
	ok(a.rows.v[0].frame == frame("step", 31) && a.rows.v[0].ns == 560, "the largest first");
	ok(a.rows.v[1].frame == frame("step", 33) && a.rows.v[1].ns == 270 &&
		   a.rows.v[1].why.v.n == 2,
	   "a row has its own causes");
	ok(a.rows.v[4].frame == 0 && a.rows.v[4].ns == 30, "without a line comes last");
	anatomy_free(&a);

	memset(&a, 0, sizeof(a));
	root.frame = 0;
	ok(anatomy_make(&a, &names, own, &root, &parts) && a.nlead == 0, "without a loop");
	is_int(a.rows.n, 7, "without a loop the rows are call sites");
	anatomy_free(&a);

	check_left(own);
	check_pools(own);
	check_commands(own);
	check_native(own);
	path_causes_free(&causes);
	vec_free(&parts.v);
	track_names_free(&names);
	world_free(w);
	return done_testing();
}
