/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops whose body is one line: an iteration begins where what the line calls jumps back in the
 * order in which it was first called. Library calls of one line that take turns without a function
 * between them or a wait for the device may be those of one long call into a library, and are no
 * loop.
 */
#include "lib/loops/loops_internal.h"

/* The first iteration began when what begins the second one was called before. */
static void begin_first(struct loops *l, struct loops_thread *th, struct loop_row *row, unsigned to,
			int64_t ns, uint64_t calls_before)
{
	uint64_t calls = th->calls;
	struct loop_begin b = { .ns = ns, .left_ns = LOOPS_NEVER, .to = to, .level = LOOP_NO_LEVEL };

	th->calls = calls_before;
	loops_begin(l, th, row, b);
	th->calls = calls;
}

static struct loop_row *need_row(struct loops *l, struct loops_thread *th, unsigned depth)
{
	struct loop_level *level = &th->levels[depth];
	struct loop_row *row = loops_need_line_row(l, th, depth);

	if (row) {
		row->callees = level->callees;
		level->line_row = (int)(row - th->rows);
		th->has_line_rows = true;
	}
	return row;
}

static void jump_back(struct loops *l, struct loops_thread *th, struct loop_row *row, unsigned from,
		      unsigned to, int64_t ns, int64_t left_ns)
{
	struct loop_begin b = {
		.ns = ns, .left_ns = left_ns, .from = from, .to = to, .level = LOOP_NO_LEVEL
	};

	b.stayed = left_ns != LOOPS_NEVER;
	row->awaited = false;
	row->left_ns = LOOPS_NEVER;
	row->beyond_ns = 0;
	loop_row_add_jump(row, from, LOOP_SEEN_CALL, to, LOOP_SEEN_CALL);
	loops_begin(l, th, row, b);
}

static void go_on(struct loops *l, struct loops_thread *th, struct loop_row *row, unsigned to,
		  int64_t ns)
{
	loop_row_add_line(row, to, LOOP_SEEN_CALL);
	if (row->awaited && to >= row->first)
		loops_enter_row(l, th, row, to, ns, false);
}

/* The first jump back in a line makes it a row. */
static struct loop_row *need_begun_row(struct loops *l, struct loops_thread *th, unsigned depth,
				       unsigned to)
{
	const struct loop_callees *c = &th->levels[depth].callees;
	struct loop_row *row = need_row(l, th, depth);

	if (row)
		begin_first(l, th, row, to, c->v[to - 1].ns, c->v[to - 1].calls);
	return row;
}

bool loops_line_call(struct loops *l, struct loops_thread *th, unsigned depth, uint32_t key,
		     int64_t ns, int64_t left_ns)
{
	struct loop_level *level = &th->levels[depth];
	struct loop_row *row = level->line_row >= 0 ? &th->rows[level->line_row] : NULL;
	struct loop_callees *c = row ? &row->callees : &level->callees;
	unsigned from = c->at, to = loop_callees_find(c, key);

	if (!to)
		return false;
	c->at = (uint8_t)to;
	if (row && row->left_ns != LOOPS_NEVER) {
		loops_enter_row(l, th, row, to, ns, left_ns != LOOPS_NEVER);
	} else if (to < from && (row || c->round_trip || left_ns != LOOPS_NEVER)) {
		row = row ? row : need_begun_row(l, th, depth, to);
		if (row)
			jump_back(l, th, row, from, to, ns, left_ns);
	} else if (row && to > from) {
		go_on(l, th, row, to, ns);
	}
	c->v[to - 1].ns = ns;
	c->v[to - 1].calls = th->calls;
	return to == from;
}
