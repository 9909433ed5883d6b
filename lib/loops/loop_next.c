/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes where a loop behind another one of its function begins, and compares their iterations. A
 * jump to lines of the one before shows that both are parts of a loop around them.
 */
#include "lib/loops/loop_next.h"

/* When the function first came to that line, or one behind it, since the loop before; else this
 * jump. */
static struct loop_begin first_begin(const struct loop_level *level, uint32_t to, int64_t ns,
				     uint64_t calls)
{
	struct loop_begin b = {
		.ns = ns, .left_ns = LOOPS_NEVER, .calls = calls, .to = to, .level = LOOP_NO_LEVEL
	};

	for (unsigned i = 0; i < level->nvisits && level->visits_path == level->path; i++) {
		if (level->visits[i].line < to)
			continue;
		b.ns = level->visits[i].ns;
		b.calls = level->visits[i].calls;
		break;
	}
	return b;
}

void loop_next_note(struct loop_row *row, const struct loop_level *level, uint32_t to, int64_t ns,
		    uint64_t calls)
{
	if (row->next && to <= row->next_behind) {
		row->next = 0;
		row->is_next = false;
		return;
	}
	if (row->next ? to >= row->next : !row->beyond || to <= row->beyond)
		return;
	if (!row->next)
		row->next_behind = row->beyond;
	row->next = to;
	row->next_begin = first_begin(level, to, ns, calls);
}

bool loop_next_is_loop(const struct loop_row *row)
{
	uint64_t before = 0, behind = 0;

	for (unsigned i = 0; i < row->njumps && row->next; i++) {
		const struct loop_jump *j = &row->jumps[i];
		uint64_t *most = j->to < row->next ? &before : &behind;

		*most = j->n > *most ? j->n : *most;
	}
	return behind > before;
}

struct loop_begin loop_next_take(struct loop_row *row)
{
	unsigned kept = 0;

	row->total = 0;
	for (unsigned i = 0; i < row->njumps; i++) {
		if (row->jumps[i].to < row->next)
			continue;
		row->total += row->jumps[i].n;
		row->jumps[kept++] = row->jumps[i];
	}
	row->njumps = kept;
	row->last = -1;
	row->next = 0;
	row->is_next = false;
	return row->next_begin;
}
