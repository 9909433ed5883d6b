/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loops a report shows: one of each program, then other threads' with most time behind that
 * of their program; the rest is counted.
 */
#include "lib/report/step_track.h"

#include <string.h>

#include "lib/report/report_internal.h"
#include "tests/tap.h"

static struct chain_list chains;

static void add_at(uint32_t pid, const char *thread, uint64_t ns, const char *line)
{
	struct paths_track *t = paths_add(&chains.paths, &chains.paths.tracks);
	struct paths_phase *phase = paths_add(&chains.paths, &t->phases);
	struct paths_row *row;

	*phase = (struct paths_phase){ .name = bytes_of("steps"), .ns = ns };
	row = paths_add(&chains.paths, &phase->rows);
	*row = (struct paths_row){ .line = bytes_of(line), .ns = ns };
	t->pid = pid;
	t->node = t->comm = bytes_of("a");
	t->thread = bytes_of(thread);
	t->has_steps = true;
	t->steps = (struct paths_steps){ .function = bytes_of("run"),
					 .file = bytes_of("lib.so"),
					 .count = 100 };
}

static void add(uint32_t pid, const char *thread, uint64_t ns)
{
	add_at(pid, thread, ns, "run (lib.c:3)");
}

static void expect(const char *names, unsigned more, const char *what)
{
	struct report r = { .chains = &chains };
	struct step_track shown[STEP_PROGRAMS];
	struct buf text = { 0 }, table = { 0 };
	unsigned rest, n = step_track_shown(&r, shown, &rest);

	for (unsigned i = 0; i < n; i++)
		buf_printf(&text, "%s%.*s", i ? " " : "", (int)shown[i].track->thread.n,
			   shown[i].track->thread.p);
	is_str(buf_text(&text), names, "%s", what);
	is_u64(rest, more, "%s: the rest", what);
	report_path_text(&table, &r, false);
	for (unsigned i = 0; i < n; i++) {
		buf_reset(&text);
		buf_printf(&text, "A step of %.*s: ", (int)shown[i].track->thread.n,
			   shown[i].track->thread.p);
		like(buf_text(&table), buf_text(&text), "%s: in the table", what);
	}
	ok(!strstr(buf_text(&table), "more thread") == !more, "%s: what is not is counted", what);
	buf_free(&text);
	buf_free(&table);
}

static struct paths_why *add_why(struct paths_row *row, const char *text, uint64_t ns)
{
	struct paths_why *why = paths_add(&chains.paths, &row->why);

	*why = (struct paths_why){ .text = bytes_of(text), .ns = ns };
	return why;
}

/* Two lines of a loop wait for the same thread: what they do together is told once. */
static void equal_work(void)
{
	struct report r = { .chains = &chains };
	size_t at = 0;
	struct step_track t;
	struct buf out = { 0 };
	struct paths_phase *phase;
	struct paths_row *row;

	add_at(1, "main", 10000000, "map (lib.c:3)");
	phase = &chains.paths.tracks.v[0].phases.v[0];
	add_why(&phase->rows.v[0], "waits for mapper", 3000000);
	add_why(&phase->rows.v[0], "on the CPU in map", 2500000);
	row = paths_add(&chains.paths, &phase->rows);
	*row = (struct paths_row){ .line = bytes_of("unmap (lib.c:4)"), .ns = 4500000 };
	add_why(row, "waits for mapper", 2000000);
	add_why(row, "on the CPU in unmap", 2500000);
	ok(step_track_next(&r, &at, &t), "a program with steps");
	step_track_print_verdict(&out, &t);
	like(buf_text(&out),
	     "50.0 us (50.0%) waits for mapper; 25.0 us (25.0%) on the CPU in map; 25.0",
	     "what two lines wait for is told once");
	buf_free(&out);
	paths_free(&chains.paths);
	chains = (struct chain_list){ 0 };
}

static void add_cause(struct paths_phase *phase, const char *text, uint64_t ns, unsigned severity)
{
	struct paths_cause *c = paths_add(&chains.paths, &phase->causes);

	*c = (struct paths_cause){
		.text = bytes_of(text), .ns = ns, .severity = severity, .work = !severity
	};
}

/* line: what the line says of it, which knows where the other thread was while this one was there. */
static void add_wait(struct paths_phase *phase, const char *text, const char *line, uint32_t tid,
		     uint64_t ns, unsigned severity)
{
	struct paths_cause *c;
	struct paths_why *why;

	add_cause(phase, text, ns, severity);
	c = &phase->causes.v[phase->causes.n - 1];
	c->has_culprit = true;
	c->culprit = (struct paths_culprit){ .known = true, .pid = 1, .tid = tid, .threads = 1 };
	if (severity)
		return;
	why = add_why(&phase->rows.v[0], line, ns);
	why->has_culprit = true;
	why->culprit = c->culprit;
}

/* A thread that holds a lock, has the CPU and is waited for is one part. */
static void one_thread(void)
{
	static const struct {
		const char *what, *want;
		unsigned held; /* severity of the lock */
		uint32_t tid;  /* of who has the CPU */
	} rows[] = {
		{ "work and a loss",
		  "each: 24.0 us (24.0%) waits for a CPU of parser, with 15.0 us for the same "
		  "thread in other ways; 20.0 us (20.0%) on the CPU",
		  2, 2 },
		{ "work alone",
		  "each: 24.0 us (24.0%) waits for a CPU of parser (60%), with 15.0 us for the "
		  "same thread in other ways; 20.0 us (20.0%) on the CPU",
		  0, 2 },
		{ "of two threads",
		  "each: 20.0 us (20.0%) on the CPU; 15.0 us (15.0%) waits for parser, with 7.00",
		  2, 3 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct report r = { .chains = &chains };
		struct paths_phase *phase;
		struct step_track t;
		struct buf out = { 0 };
		size_t at = 0;

		add(1, "main", 10000000);
		phase = &chains.paths.tracks.v[0].phases.v[0];
		add_why(&phase->rows.v[0], "on the CPU", 2000000);
		add_wait(phase, "waits for a CPU of parser", "waits for a CPU of parser (60%)",
			 rows[i].tid, 900000, 0);
		add_wait(phase, "waits for parser", "waits for parser", 2, 800000, 0);
		add_wait(phase, "waits for a lock of parser", "waits for a lock of parser (70%)", 2,
			 700000, rows[i].held);
		ok(step_track_next(&r, &at, &t), "a program with steps");
		step_track_print_verdict(&out, &t);
		like(buf_text(&out), rows[i].want, "%s", rows[i].what);
		buf_free(&out);
		paths_free(&chains.paths);
		chains = (struct chain_list){ 0 };
	}
}

/* What a long start was: work as well as losses, the largest until they are most of it, and the
 * line with much of it. */
static void long_start(void)
{
	static const struct {
		const char *text[4], *line, *want;
		uint64_t ns[4], line_ns;
		const char *what;
	} all[] = {
		{ { "clang had the CPU", "cc had the CPU", "on the CPU in burn (run.py:43)", "x" },
		  "burn (run.py:43)",
		  "; 1.00 s before the first, 500 ms of it in burn (run.py:43): 550 ms clang had "
		  "the CPU, 220 ms cc had the CPU, 150 ms on the CPU in burn (run.py:43)",
		  { 550, 220, 150, 80 },
		  500,
		  "losses, and the work they were taken from" },
		{ { "on the CPU in burn (run.py:43)", "clang had the CPU", "x" },
		  "burn (run.py:43)",
		  "; 1.00 s before the first: 850 ms on the CPU in burn (run.py:43)",
		  { 850, 110, 40 },
		  900,
		  "one cause that is most of it, with its line" },
		{ { "waits for a disk in load (run.py:7)", "clang had the CPU", "on the CPU" },
		  "burn (run.py:43)",
		  "; 1.00 s before the first: 700 ms waits for a disk in load (run.py:7)",
		  { 700, 99, 98 },
		  240,
		  "small causes and a line with little of it are not named" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct report r = { .chains = &chains };
		struct paths_phase *phase;
		struct paths_row *row;
		struct step_track t;
		struct buf out = { 0 };
		size_t at = 0;

		add(1, "main", 100 * 1000000);
		phase = paths_add(&chains.paths, &chains.paths.tracks.v[0].phases);
		*phase = (struct paths_phase){ .name = bytes_of("start"), .ns = 1000 * 1000000 };
		row = paths_add(&chains.paths, &phase->rows);
		*row = (struct paths_row){ .line = bytes_of(all[i].line),
					   .ns = all[i].line_ns * 1000000 };
		for (unsigned k = 0; k < 4 && all[i].text[k]; k++)
			add_cause(phase, all[i].text[k], all[i].ns[k] * 1000000, k & 1);
		ok(step_track_next(&r, &at, &t), "a program with a long start");
		step_track_print_verdict(&out, &t);
		is_str(strrchr(buf_text(&out), ';'), all[i].want, "%s", all[i].what);
		buf_free(&out);
		paths_free(&chains.paths);
		chains = (struct chain_list){ 0 };
	}
}

/* How many steps there were, as far as that is known. */
static void counts(void)
{
	static const struct {
		struct paths_steps steps;
		const char *want;
	} rows[] = {
		{ { .count = 1200 }, "1,200" },
		{ { .count = 122, .estimated = true, .fewest = 100, .most = 167 }, "100 to 167" },
		{ { .count = 150, .estimated = true, .fewest = 144, .most = 160 }, "~150" },
		{ { .count = 58, .estimated = true, .at_least = true, .fewest = 58, .most = 90 },
		  ">=58" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct paths_track track = { .steps = rows[i].steps };
		struct step_track t = { .track = &track };
		struct buf out = { 0 };

		step_track_print_count(&out, &t);
		is_str(buf_text(&out), rows[i].want, "%s", rows[i].want);
		buf_free(&out);
	}
}

/* A few steps that have much of the time are no mean. */
static void medians(void)
{
	static const struct {
		uint64_t p50_ns;
		bool at_least;
		uint64_t most; /* 0: they are known */
		const char *want;
	} rows[] = {
		{ 95000, false, 0, "100 us each:" },
		{ 20000, false, 0, "100 us each (median 20.0 us):" },
		{ 20000, true, 0, "10.0 ms in all:" },
		{ 0, false, 0, "100 us each:" },
		{ 95000, false, 150, "100 to 150 steps of run (lib.so:0), ~100 us each:" },
		{ 20000, false, 1800,
		  "100 to 1,800 steps of run (lib.so:0), 10.0 ms in all: 9.00 ms" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct report r = { .chains = &chains };
		struct step_track t;
		struct buf out = { 0 };
		size_t at = 0;

		add(1, "main", 10000000);
		chains.paths.tracks.v[0].steps.timed = rows[i].p50_ns > 0;
		chains.paths.tracks.v[0].steps.p50_ns = rows[i].p50_ns;
		chains.paths.tracks.v[0].steps.at_least = rows[i].at_least;
		chains.paths.tracks.v[0].steps.estimated = rows[i].most > 0;
		chains.paths.tracks.v[0].steps.fewest = 100;
		chains.paths.tracks.v[0].steps.most = rows[i].most;
		add_why(&chains.paths.tracks.v[0].phases.v[0].rows.v[0], "on the CPU", 9000000);
		ok(step_track_next(&r, &at, &t), "a program with steps");
		step_track_print_verdict(&out, &t);
		like(buf_text(&out), rows[i].want, "%s", rows[i].want);
		buf_free(&out);
		paths_free(&chains.paths);
		chains = (struct chain_list){ 0 };
	}
}

/* The end of a track: a wait that never ended. */
static void add_hang(struct paths_track *t)
{
	struct paths_phase *end = paths_add(&chains.paths, &t->phases);
	struct paths_cause *c;

	*end = (struct paths_phase){ .name = bytes_of("end"), .ns = 9000000000 };
	add_cause(end, "waits to the end for a lock", 9000000000, FINDING_HIGH);
	c = &end->causes.v[0];
	c->class = bytes_of("never ended");
	c->longest_ns = 9000000000;
	t->steps.last_ns = 1000000000;
	t->to_ns = 10000000000;
}

/* Of ranks that do the same the report is about the one that is stuck, whichever made more calls;
 * not about a small program beside the work. */
static void stuck(void)
{
	static const struct {
		const char *calls, *want;
	} rows[] = {
		{ "[{\"pid\":1,\"calls\":100},{\"pid\":2,\"calls\":90}]", "b" },
		{ "[{\"pid\":1,\"calls\":90},{\"pid\":2,\"calls\":100}]", "b" },
		{ "[{\"pid\":1,\"calls\":100},{\"pid\":2,\"calls\":9}]", "a" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct report r = { .chains = &chains };
		struct step_track t = { 0 };
		struct buf analysis = { 0 };

		add(1, "a", 5000000);
		add(2, "b", 5000000);
		for (size_t k = 0; k < 2; k++)
			chains.paths.tracks.v[k].node = (struct bytes){ 0 };
		add_hang(&chains.paths.tracks.v[1]);
		buf_printf(&analysis, "{\"processes\":%s}", rows[i].calls);
		ok(json_parse(buf_bytes(&analysis), &chains.analysis, NULL) == 0, "processes");
		ok(step_track_main(&r, &t), "a loop to lead");
		ok(t.track && bytes_equal(t.track->thread, bytes_of(rows[i].want)), "leads: %s", rows[i].calls);
		json_free(chains.analysis);
		buf_free(&analysis);
		paths_free(&chains.paths);
		chains = (struct chain_list){ 0 };
	}
}

int main(void)
{
	stuck();
	counts();
	medians();
	equal_work();
	one_thread();
	long_start();
	expect("", 0, "none");
	add(1, "a", 5000000);
	expect("a", 0, "one loop");
	add(1, "a2", 2000000);
	expect("a a2", 0, "two loops of one process");
	add(1, "a3", 7000000);
	expect("a a3 a2", 0, "by time");
	add_at(1, "autograd", 6000000, "");
	expect("a a3 a2", 0, "a thread that is in no line of the loop");
	add(2, "b", 1000000);
	expect("a a3 b", 1, "another program");
	add(3, "c", 1000000);
	expect("a b c", 2, "three programs");
	add(4, "d", 9000000);
	expect("a b c", 3, "four");
	paths_free(&chains.paths);
	chains = (struct chain_list){ 0 };
	add_at(1, "server", 9000000, "");
	add(1, "worker", 5000000);
	add(1, "worker2", 6000000);
	expect("worker worker2", 0, "a main thread that waits for its workers");
	paths_free(&chains.paths);
	return tap_done();
}
