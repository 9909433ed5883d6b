/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks from a thread's newest stack to its next one: down to the frame that differs, where the
 * line of a function went on or jumped back, and from there into functions that were entered.
 */
#include "lib/path/loops_state.h"

static uint64_t mix_path(uint64_t path, uint32_t function)
{
	uint64_t x = (path + function) * 0x9e3779b97f4a7c15;

	return x ^ x >> 29;
}

/* Frames from `from` on are not on the stack any more. */
static void drop_levels(struct loops_thread *th, unsigned from, int64_t ns)
{
	for (unsigned i = from; i < th->nlevels; i++) {
		th->levels[i].left_ns = ns;
		if (th->levels[i].row >= 0)
			th->rows[th->levels[i].row].left_ns = ns;
	}
	th->nlevels = from;
}

static void add_visit(const struct loops_thread *th, struct loop_level *level, int64_t ns,
		      int64_t left_ns)
{
	if (level->nvisits == LOOPS_VISITS) {
		level->nvisits = LOOPS_VISITS / 2;
		memmove(level->visits, level->visits + LOOPS_VISITS / 2, sizeof(level->visits) / 2);
	}
	level->visits[level->nvisits++] =
		(struct loop_visit){ ns, left_ns, th->calls, level->line };
}

/* The function of a row was entered, or went on to where its loop begins. */
static void enter_row(struct loops *l, struct loops_thread *th, struct loop_row *row, uint32_t line,
		      int64_t ns)
{
	struct loop_begin b = { .ns = ns, .left_ns = row->left_ns, .to = line };

	row->awaited = line < row->first;
	if (row->awaited || (row->beyond && line > row->beyond))
		return;
	row->left_ns = LOOPS_NEVER;
	row->beyond_ns = 0;
	loops_begin(l, th, row, b);
}

static void enter_levels(struct loops *l, struct loops_thread *th, const struct python_line *lines,
			 unsigned n, int64_t ns, enum loop_seen seen)
{
	for (unsigned i = th->nlevels; i < n; i++) {
		struct loop_level *level = &th->levels[i];
		uint64_t path = mix_path(i ? th->levels[i - 1].path : 1, lines[i].function);
		bool again = level->path == path;

		if (!again)
			level->nvisits = 0;
		level->path = path;
		level->function = lines[i].function;
		level->line = lines[i].line;
		level->seen = seen;
		level->row = loops_find_row(th, level->path);
		th->nlevels = i + 1;
		if (level->row < 0)
			add_visit(th, level, ns, again ? level->left_ns : ns);
		else
			enter_row(l, th, &th->rows[level->row], level->line, ns);
	}
}

/* Where the function was entered for the visit before that one; 0: earlier than is known. */
static unsigned entered_at(const struct loop_level *level, unsigned before)
{
	while (before > 0 && level->visits[--before].left_ns == LOOPS_NEVER)
		;
	return before;
}

/* The earliest visit of a function that was entered again and again, and not left for longer than it
 * took. */
static unsigned first_visit(const struct loop_level *level)
{
	unsigned first = entered_at(level, level->nvisits);

	while (first > 0) {
		const struct loop_visit *v = &level->visits[first];
		unsigned previous = entered_at(level, first);

		if (v->ns - v->left_ns > v->left_ns - level->visits[previous].ns)
			break;
		first = previous;
	}
	return first;
}

/* The iterations before a function jumped back for the first time began where that jump lands, or
 * at the next line that is known. */
static void begin_first(struct loops *l, struct loops_thread *th, struct loop_level *level,
			struct loop_row *row, uint32_t to)
{
	uint64_t calls = th->calls;
	bool begun = false;

	for (unsigned i = first_visit(level); i < level->nvisits; i++) {
		const struct loop_visit *v = &level->visits[i];
		bool last = i + 1 == level->nvisits || v[1].left_ns != LOOPS_NEVER;
		struct loop_begin b = { .ns = v->ns, .left_ns = LOOPS_NEVER, .to = v->line };

		if (v->left_ns != LOOPS_NEVER) {
			begun = false;
			row->left_ns = v->left_ns;
		}
		if (begun || (v->line < to && !last))
			continue;
		if (row->newest_ns != LOOPS_NEVER)
			b.left_ns = row->left_ns;
		begun = true;
		th->calls = v->calls;
		loops_begin(l, th, row, b);
	}
	th->calls = calls;
}

static void jump_back(struct loops *l, struct loops_thread *th, unsigned at, uint32_t to,
		      int64_t ns, enum loop_seen seen)
{
	struct loop_level *level = &th->levels[at];
	struct loop_row *row = loops_need_row(l, th, at);

	if (row && level->row < 0) {
		level->row = (int)(row - th->rows);
		begin_first(l, th, level, row, to);
		level->nvisits = 0;
	}
	if (row) {
		row->awaited = false;
		row->left_ns = LOOPS_NEVER;
		row->beyond_ns = 0;
		loop_row_add_jump(row, level->line, level->seen, to, seen);
		loops_begin(l, th, row,
			    (struct loop_begin){ .ns = ns,
						 .left_ns = LOOPS_NEVER,
						 .from = level->line,
						 .to = to,
						 .loose = seen != LOOP_SEEN_CALL ||
							  level->seen != LOOP_SEEN_CALL });
	}
	level->line = to;
	level->seen = seen;
}

static void go_on(struct loops *l, struct loops_thread *th, struct loop_level *level, uint32_t line,
		  int64_t ns, enum loop_seen seen)
{
	struct loop_row *row = level->row >= 0 ? &th->rows[level->row] : NULL;

	level->line = line;
	level->seen = seen;
	if (!row) {
		add_visit(th, level, ns, LOOPS_NEVER);
		return;
	}
	loop_row_add_line(row, line, seen);
	if (row->awaited && line >= row->first)
		enter_row(l, th, row, line, ns);
	if (row->beyond && line > row->beyond && !row->beyond_ns)
		row->beyond_ns = ns;
	if (level->row == th->current && line > row->beyond && th->beyond_ns == LOOPS_NEVER)
		th->beyond_ns = ns;
}

/* Those that anchors are looked for of. */
static void find_watched(struct loops_thread *th)
{
	th->nwatched = 0;
	for (unsigned i = 0; i < th->nlevels; i++) {
		if (th->levels[i].row >= 0)
			th->watched[th->nwatched++] = (uint8_t)th->levels[i].row;
	}
}

void loops_walk(struct loops *l, struct loops_thread *th, const struct python_line *lines,
		unsigned n, int64_t ns, enum loop_seen seen)
{
	unsigned at = 0;

	if (n > LOOPS_DEPTH)
		n = LOOPS_DEPTH;
	while (at < n && at < th->nlevels && th->levels[at].function == lines[at].function &&
	       th->levels[at].line == lines[at].line)
		at++;
	if (at < n && at < th->nlevels && th->levels[at].function == lines[at].function &&
	    lines[at].line) {
		drop_levels(th, at + 1, ns);
		if (lines[at].line < th->levels[at].line)
			jump_back(l, th, at, lines[at].line, ns, seen);
		else
			go_on(l, th, &th->levels[at], lines[at].line, ns, seen);
	} else {
		drop_levels(th, at, ns);
	}
	enter_levels(l, th, lines, n, ns, seen);
	find_watched(th);
}
