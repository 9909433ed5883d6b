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

int main(void)
{
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
