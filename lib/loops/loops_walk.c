/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks from a thread's newest stack to its next one: down to the frame that differs, where the
 * line of a function went on or jumped back, and from there into functions that were entered.
 */
#include "lib/base/compiler.h"
#include "lib/loops/loop_next.h"

/* It came to its line from another one. */
static inline void enter_line(const struct loops_thread *th, struct loop_level *level)
{
	level->line_row = th->has_line_rows ? loops_find_row(th, loops_line_path(level)) : -1;
	level->callees.n = level->callees.at = 0;
}

static void begin_gap(struct loop_level *level)
{
	level->gap_first = level->gap_last = level->line;
}

/* Frames from `from` on are not on the stack any more. */
static void drop_levels(struct loops_thread *th, unsigned from, int64_t ns)
{
	unsigned n = th->nlevels > from ? th->nlevels - from : 0;

	if (loops_leave_levels(th, th->levels + from, n, ns) && from > 0)
		begin_gap(&th->levels[from - 1]);
	th->nlevels = from;
}

static void forget_visits_of_others(struct loop_level *level)
{
	if (level->visits_path != level->path)
		level->nvisits = 0;
	level->visits_path = level->path;
}

static void add_visit(const struct loops_thread *th, struct loop_level *level, int64_t ns,
		      int64_t left_ns)
{
	forget_visits_of_others(level);
	if (level->nvisits == LOOPS_VISITS) {
		level->nvisits = LOOPS_VISITS / 2;
		memmove(level->visits, level->visits + LOOPS_VISITS / 2, sizeof(level->visits) / 2);
	}
	level->visits[level->nvisits++] =
		(struct loop_visit){ ns, left_ns, th->calls, level->line };
}

/* Where the function was entered for the visit before that one; 0: earlier than is known. */
static unsigned entered_at(const struct loop_level *level, unsigned before)
{
	while (before > 0 && level->visits[--before].left_ns == LOOPS_NEVER)
		;
	return before;
}

/* The earliest visit of a function that was entered again and again, and not left for longer than
 * it took. */
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
		struct loop_begin b = {
			.ns = v->ns, .left_ns = LOOPS_NEVER, .to = v->line, .level = LOOP_NO_LEVEL
		};

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

/* A loop that was reported is over once another one of its function has more iterations. */
static void add_jump(struct loops *l, struct loops_thread *th, struct loop_row *row,
		     struct loop_level *level, uint32_t to, int64_t ns, enum loop_seen seen)
{
	bool calls = level->seen == LOOP_SEEN_CALL && seen == LOOP_SEEN_CALL;

	th->loose_jump |= level->seen == LOOP_SEEN_CALL && !calls;
	if (calls)
		loop_next_note(row, level, to, ns, th->calls);
	if (!row->next)
		level->nvisits = 0;
	loop_row_add_jump(row, level->line, level->seen, to, seen);
	if (!calls || loop_next_is_loop(row) == row->is_next)
		return;
	row->is_next = !row->is_next;
	loop_row_find_first(row);
	if (row->is_next && row->loop >= 0)
		loops_move_on(l, th, row, ns);
}

/* left_ns: the function was left before it came there; or LOOPS_NEVER. */
static void jump_back(struct loops *l, struct loops_thread *th, unsigned at, uint32_t to,
		      int64_t ns, int64_t left_ns, enum loop_seen seen)
{
	struct loop_level *level = &th->levels[at];
	struct loop_row *row = loops_need_row(l, th, at);

	if (row && level->row < 0) {
		level->row = (int)(row - th->rows);
		row->reentered = left_ns != LOOPS_NEVER;
		forget_visits_of_others(level);
		begin_first(l, th, level, row, to);
		level->nvisits = 0;
	}
	if (row) {
		row->awaited = false;
		row->left_ns = LOOPS_NEVER;
		row->beyond_ns = 0;
		add_jump(l, th, row, level, to, ns, seen);
		loops_begin(l, th, row,
			    (struct loop_begin){ .ns = ns,
						 .left_ns = left_ns,
						 .stayed = left_ns != LOOPS_NEVER,
						 .from = level->line,
						 .to = to,
						 .level = LOOP_NO_LEVEL,
						 .seen = seen || !level->seen ? (uint8_t)seen
									      : LOOP_SEEN_WAIT });
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
		if (seen == LOOP_SEEN_CALL || !level->calls_path)
			add_visit(th, level, ns, LOOPS_NEVER);
		return;
	}
	if (line > row->beyond && !row->next)
		add_visit(th, level, ns, LOOPS_NEVER);
	loop_row_add_line(row, line, seen);
	if (row->awaited && line >= row->first)
		loops_enter_row(l, th, row, line, ns, false);
	if (row->beyond && line > row->beyond && !row->beyond_ns)
		row->beyond_ns = ns;
	if (level->row == th->current && row->caller < 0 && line > row->beyond &&
	    th->beyond_ns == LOOPS_NEVER)
		th->beyond_ns = ns;
}

/* Where the level's function changes to one that waits, that with calls is kept until calls come
 * again. */
static void swap_callers(struct loop_level *level, uint64_t path, enum loop_seen seen)
{
	if (seen != LOOP_SEEN_CALL && level->seen == LOOP_SEEN_CALL && level->path != path) {
		level->calls_path = level->path;
		level->calls_line = level->line;
		level->calls_left_ns = level->left_ns;
		return;
	}
	if (seen != LOOP_SEEN_CALL)
		return;
	if (level->calls_path == path && level->path != path) {
		level->path = path;
		level->line = level->calls_line;
		level->left_ns = level->calls_left_ns;
	}
	level->calls_path = 0;
}

/* A call is made in the n outermost functions: those that were entered by a wait or a sample, and
 * so beside one with calls, are that one now, from when they were entered on. */
NOINLINE static void come_to_call(struct loops_thread *th, unsigned n)
{
	th->aside = false;
	for (unsigned i = 0; i < n; i++) {
		struct loop_level *level = &th->levels[i];

		if (!level->calls_path)
			continue;
		level->calls_path = 0;
		if (level->row < 0)
			add_visit(th, level, level->entered_ns, level->entered_ns);
	}
}

/* A function was entered. unmoved: since it was left nothing around it changed. Whether that holds
 * for what it calls, too. */
static bool enter_level(struct loops *l, struct loops_thread *th, unsigned at,
			struct python_line to, int64_t ns, enum loop_seen seen, bool unmoved)
{
	struct loop_level *level = &th->levels[at];
	uint64_t path = loops_mix_path(at ? th->levels[at - 1].path : 1, to.function);
	bool again, stayed, aside; /* aside: the visits are those of the function before */

	swap_callers(level, path, seen);
	again = level->path == path;
	stayed = unmoved && again;

	aside = seen != LOOP_SEEN_CALL && level->calls_path;
	th->aside |= aside;
	if (!again && !aside)
		level->nvisits = 0;
	level->path = path;
	level->function = to.function;
	level->entered_ns = ns;
	level->gap_first = level->gap_last = to.line;
	level->moved = false;
	level->row = loops_find_row(th, path);
	th->nlevels = at + 1;
	unmoved = stayed && level->line == to.line;
	level->resumed_ns = unmoved ? level->left_ns : LOOPS_NEVER;
	if (stayed && to.line < level->line && level->row < 0 && to.line &&
	    seen == LOOP_SEEN_CALL) {
		jump_back(l, th, at, to.line, ns, level->left_ns, seen);
	} else {
		level->line = to.line;
		level->seen = seen;
		if (level->row < 0 && !aside)
			add_visit(th, level, ns, again ? level->left_ns : ns);
		else if (level->row >= 0)
			level->nvisits = 0;
		if (level->row >= 0)
			loops_enter_row(l, th, &th->rows[level->row], level->line, ns, stayed);
	}
	if (!unmoved)
		enter_line(th, level);
	return unmoved;
}

/* The lines of the stack call what stands below them, from the first on whose callee may be
 * another. */
static void call_lines(struct loops *l, struct loops_thread *th, unsigned from, int64_t ns,
		       uint32_t callee)
{
	bool same = true;

	if (from > th->ncalled)
		from = th->ncalled;
	for (unsigned i = from; i < th->nlevels; i++) {
		struct loop_level *level = &th->levels[i];
		uint32_t key = i + 1 < th->nlevels ? level[1].function : callee;

		if (!level->line) {
			same = false;
			continue;
		}
		/* Most are the first of their lines. */
		if (!level->callees.n && level->line_row < 0) {
			loop_callees_begin(&level->callees, key, ns, th->calls);
			same = false;
		} else {
			same &= loops_line_call(l, th, i, key, ns,
						same ? level->resumed_ns : LOOPS_NEVER);
		}
		level->resumed_ns = LOOPS_NEVER;
	}
	th->ncalled = th->nlevels;
}

/* Those that anchors are looked for of. */
static void find_watched(struct loops_thread *th)
{
	th->nwatched = 0;
	for (unsigned i = 0; i < th->nlevels; i++) {
		if (th->levels[i].row >= 0)
			th->watched[th->nwatched++] = (uint8_t)th->levels[i].row;
		if (th->has_line_rows && th->levels[i].line_row >= 0)
			th->watched[th->nwatched++] = (uint8_t)th->levels[i].line_row;
	}
}

/* The function at that level went on or jumped back. */
static void change_line(struct loops *l, struct loops_thread *th, unsigned at, uint32_t line,
			int64_t ns, enum loop_seen seen)
{
	struct loop_level *level = &th->levels[at];

	drop_levels(th, at + 1, ns);
	loops_leave_line(th, level, ns);
	if (level->line_row >= 0)
		begin_gap(level);
	level->gap_first = line < level->gap_first ? line : level->gap_first;
	level->gap_last = line > level->gap_last ? line : level->gap_last;
	if (line < level->line)
		jump_back(l, th, at, line, ns, LOOPS_NEVER, seen);
	else
		go_on(l, th, level, line, ns, seen);
	enter_line(th, level);
	if (at + 1 < LOOPS_DEPTH)
		level[1].moved = true;
}

/* How many levels from `at` on are as they were. */
static unsigned find_change(const struct loops_thread *th, const struct python_line *lines,
			    unsigned n, unsigned at)
{
	while (at < n && at < th->nlevels && th->levels[at].function == lines[at].function &&
	       th->levels[at].line == lines[at].line)
		at++;
	return at;
}

/* A call is made: a jump that a wait or a sample showed before it is one between calls, unless its
 * function was left since. */
NOINLINE static void confirm_jumps(struct loops_thread *th)
{
	th->loose_jump = false;
	for (unsigned i = 0; i < th->nlevels; i++) {
		struct loop_level *level = &th->levels[i];

		if (level->row >= 0 && th->rows[level->row].loose_from)
			loop_row_confirm_jump(&th->rows[level->row], level->line);
	}
}

void loops_walk(struct loops *l, struct loops_thread *th, const struct python_line *lines,
		unsigned n, unsigned task, int64_t ns, enum loop_seen seen)
{
	unsigned at = find_change(th, lines, n < LOOPS_DEPTH ? n : LOOPS_DEPTH, 0);
	bool unmoved = false;

	if (n > LOOPS_DEPTH)
		n = LOOPS_DEPTH;
	if (th->aside && seen == LOOP_SEEN_CALL)
		come_to_call(th, at + (at < n && at < th->nlevels &&
				       th->levels[at].function == lines[at].function));
	if (at < th->task_at) {
		loops_tasks_drop(th);
	} else if (task && at == task && at < n && at < th->nlevels &&
		   th->levels[at].function != lines[at].function) {
		loops_tasks_switch(l, th, lines[at].function, ns);
		at = find_change(th, lines, n, at);
	}
	if (task < n)
		th->task_at = task;
	if (at < n && at < th->nlevels && th->levels[at].function == lines[at].function &&
	    lines[at].line) {
		change_line(l, th, at, lines[at].line, ns, seen);
		at++;
	} else {
		drop_levels(th, at, ns);
		unmoved = at < n && !th->levels[at].moved;
	}
	for (unsigned i = th->nlevels; i < n; i++)
		unmoved = enter_level(l, th, i, lines[i], ns, seen, unmoved);
	if (th->callee)
		call_lines(l, th, at ? at - 1 : 0, ns, th->callee);
	else if (th->ncalled >= at)
		th->ncalled = at ? at - 1 : 0;
	find_watched(th);
	if (th->loose_jump && seen == LOOP_SEEN_CALL)
		confirm_jumps(th);
}

void loops_walk_leaf(struct loops *l, struct loops_thread *th, int64_t ns, uint32_t callee)
{
	if (th->aside)
		come_to_call(th, th->nlevels);
	call_lines(l, th, th->nlevels - 1, ns, callee);
	if (th->loose_jump)
		confirm_jumps(th);
	if (th->has_line_rows)
		find_watched(th);
}
