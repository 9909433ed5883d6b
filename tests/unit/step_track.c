/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loops a report shows: one of each program, then other threads' with most time behind that of their program; the rest is
 * counted.
 */
#include "lib/emit/step_track.h"

#include <string.h>

#include "lib/emit/report_path.h"
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

static void add_why(struct paths_row *row, const char *text, uint64_t ns)
{
	struct paths_why *why = paths_add(&chains.paths, &row->why);

	*why = (struct paths_why){ .text = bytes_of(text), .ns = ns };
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

int main(void)
{
	equal_work();
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
	return tap_done();
}
