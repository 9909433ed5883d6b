/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical paths with everything in them that may be: of a program of ten steps, and of one without.
 */
#ifndef TESTS_UNIT_PATHS_MADE_H
#define TESTS_UNIT_PATHS_MADE_H

#include "lib/model/paths.h"

static inline struct bytes path_text(struct paths *p, const char *text)
{
	return paths_copy(p, bytes_of(text));
}

static inline void put_causes(struct paths *p, struct paths_phase *phase)
{
	struct paths_cause *c = paths_add(p, &phase->causes);

	*c = (struct paths_cause){
		.text = path_text(p, "waits for loader (pid 7)"),
		.ns = 600,
		.class = path_text(p, "lock"),
		.has_culprit = true,
		.culprit = { path_text(p, "loader (pid 7)"), true, 7, 8, 2, true },
		.severity = 3,
		.pieces = UINT64_MAX,
		.longest_ns = 40,
		.longest_at_ns = INT64_MIN,
		.once = path_text(p, "waits for loader (pid 7) in load (l.py:9)")
	};
	*(struct paths_line *)paths_add(p, &c->lines) =
		(struct paths_line){ path_text(p, "step (a.py:3)"), { 0 }, { 0 }, true, 5 };
	c = paths_add(p, &phase->causes);
	*c = (struct paths_cause){ .text = path_text(p, "waits for the disk"),
				   .has_culprit = true,
				   .culprit = { .text = path_text(p, "disk 254:0") } };
	c = paths_add(p, &phase->causes);
	*c = (struct paths_cause){ .text = path_text(p, "sleeps in \x1b[31mrest (a.py:9)"),
				   .ns = 300,
				   .class = path_text(p, "sleep"),
				   .work = true };
}

static inline void put_rows(struct paths *p, struct paths_phase *phase)
{
	struct paths_row *row = paths_add(p, &phase->rows);

	*(struct bytes *)paths_add(p, &phase->lead) = path_text(p, "run (a.py:2)");
	*row = (struct paths_row){ .line = path_text(p, "step (a.py:3)"),
				   .site = path_text(p, "next (l.py:1)"),
				   .ns = 700 };
	*(struct paths_why *)paths_add(p, &row->why) =
		(struct paths_why){ path_text(p, "waits for loader (pid 7)"), 600, 3 };
	*(struct paths_why *)paths_add(p, &row->why) =
		(struct paths_why){ path_text(p, "on the CPU in step (a.py:3)"), 100, 0 };
	row = paths_add(p, &phase->rows);
	*row = (struct paths_row){ .ns = 300 };
}

static inline void put_note(struct paths *p, struct paths_phase *phase)
{
	struct paths_note *note = paths_add(p, &phase->notes);

	*note = (struct paths_note){ .kind = path_text(p, "bound"),
				     .text = path_text(p, "they may run on CPU 1 only"),
				     .ns = 200,
				     .matters = true,
				     .command = path_text(p, "taskset -a -c -p 0-1 7") };
}

static inline void make_paths(struct paths *p)
{
	struct paths_track *t = paths_add(p, &p->tracks);
	struct paths_phase *phase;

	*t = (struct paths_track){ .pid = 4821,
				   .node = path_text(p, ""),
				   .comm = path_text(p, "python3"),
				   .tid = UINT32_MAX,
				   .thread = path_text(p, "python3 (pid 4821)"),
				   .to_ns = INT64_MAX,
				   .has_steps = true,
				   .steps = { .function = path_text(p, "run"),
					      .file = path_text(p, "/srv/a.py"),
					      .first_line = 2,
					      .last_line = 9,
					      .count = 10,
					      .estimated = true,
					      .first_ns = 100,
					      .last_ns = 1100,
					      .total_ns = 1000,
					      .timed = true,
					      .p50_ns = 100 } };
	phase = paths_add(p, &t->phases);
	*phase = (struct paths_phase){ .name = path_text(p, "start"), .to_ns = 100, .ns = 100 };
	phase = paths_add(p, &t->phases);
	*phase = (struct paths_phase){ .name = path_text(p, "steps"),
				       .from_ns = 100,
				       .to_ns = 1100,
				       .ns = 1000,
				       .has_smaller = true,
				       .smaller = { 3, 100 } };
	put_causes(p, phase);
	put_rows(p, phase);
	put_note(p, phase);
	t = paths_add(p, &p->tracks);
	*t = (struct paths_track){ .pid = 7, .comm = path_text(p, "loader") };
}

#endif
