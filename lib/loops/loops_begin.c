/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a thread: places in its program that jumped back, by the path of functions to them,
 * and the beginnings of their iterations. Where events may be missing, an iteration also begins
 * when the call that each makes once is made again.
 */
#include "lib/loops/loops_internal.h"

static void fill_slots(struct loops_thread *th)
{
	memset(th->slots, 0, sizeof(th->slots));
	for (unsigned k = 0; k < LOOPS_ALL; k++) {
		unsigned i = th->rows[k].path % LOOPS_SLOTS;

		if (!th->rows[k].path)
			continue;
		while (th->slots[i])
			i = (i + 1) % LOOPS_SLOTS;
		th->slots[i] = (uint8_t)(k + 1);
	}
}

static bool is_on_stack(const struct loops_thread *th, int row)
{
	for (unsigned i = 0; i < th->nlevels; i++) {
		if (th->levels[i].row == row || th->levels[i].line_row == row)
			return true;
	}
	return false;
}

/* Of those from..to one that is not in use, or else the one of those not on the stack whose newest
 * iteration began longest ago; loops go last. NULL: all are on the stack. */
static struct loop_row *find_victim(struct loops_thread *th, int from, int to)
{
	struct loop_row *victim = NULL;

	for (int k = from; k < to; k++) {
		struct loop_row *r = &th->rows[k];
		bool better =
			!victim || (r->loop < 0 && victim->loop >= 0) ||
			((r->loop < 0) == (victim->loop < 0) && r->newest_ns < victim->newest_ns);

		if (!r->path)
			return r;
		if (k != th->current && better && !is_on_stack(th, k))
			victim = r;
	}
	return victim;
}

/* NULL: out of memory, or there is no room. */
static struct loop_row *new_row(struct loops *l, struct loops_thread *th, unsigned depth,
				uint32_t line)
{
	const struct loop_level *level = &th->levels[depth];
	struct loop_row *r =
		line ? find_victim(th, LOOPS_ROWS, LOOPS_ALL) : find_victim(th, 0, LOOPS_ROWS);
	struct loop_around *above = calloc(depth + 1, sizeof(*above));

	l->nomem |= !above;
	if (!r || !above) {
		free(above);
		return NULL;
	}
	for (unsigned i = 0; i <= depth; i++) {
		above[i] = (struct loop_around){ .path = th->levels[i].path,
						 .line_path = loops_line_path(&th->levels[i]),
						 .function = th->levels[i].function,
						 .line = th->levels[i].line };
	}
	loop_row_free(r);
	*r = (struct loop_row){ .path = line ? loops_line_path(level) : level->path,
				.above = above,
				.function = level->function,
				.depth = depth,
				.line = line,
				.last = -1,
				.left_ns = LOOPS_NEVER,
				.newest_ns = LOOPS_NEVER,
				.caller = -1,
				.loop = -1 };
	fill_slots(th);
	return r;
}

struct loop_row *loops_need_row(struct loops *l, struct loops_thread *th, unsigned depth)
{
	const struct loop_level *level = &th->levels[depth];

	return level->row >= 0 ? &th->rows[level->row] : new_row(l, th, depth, 0);
}

struct loop_row *loops_need_line_row(struct loops *l, struct loops_thread *th, unsigned depth)
{
	return new_row(l, th, depth, th->levels[depth].line);
}

/* Whether its beginnings are kept. Inside the current loop they are only counted. */
static bool is_kept(const struct loops_thread *th, const struct loop_row *row)
{
	return row->begins.n < LOOPS_BEGINS &&
	       (th->current < 0 || loops_left_ns(th) != LOOPS_NEVER ||
		loop_row_is_inside(&th->rows[th->current], row));
}

static void store_begin(struct loops *l, struct loops_thread *th, struct loop_row *row,
			const struct loop_begin *b)
{
	if (!is_kept(th, row))
		row->dropped++;
	else if (!vec_push(&row->begins, *b))
		l->nomem = true;
	if (row->loop >= 0 && th->current >= 0 && loops_left_ns(th) != LOOPS_NEVER)
		loops_tell_end(l, th, loops_left_ns(th));
	if (th->current >= 0)
		loops_correct(l, th, row);
	else if (row->loop >= 0)
		loops_tell_row(l, th, row);
	else if ((row->begins.n + row->dropped) % LOOPS_DECIDE == 0)
		loops_choose(l, th, false);
}

/* What is inside of the current loop is none of its functions. */
static bool may_be_called(const struct loops_thread *th, const struct loop_row *row)
{
	return th->current < 0 || row->depth <= th->rows[th->current].depth;
}

void loops_begin(struct loops *l, struct loops_thread *th, struct loop_row *row,
		 struct loop_begin b)
{
	bool is_first = row->newest_ns == LOOPS_NEVER, now;

	b.calls = th->calls;
	b.idle_ns = th->idle_ns;
	b.waited_ns = th->waited_ns;
	b.interrupted = is_first ? 0 : loops_missing(l, th->node, row->newest_ns, b.ns);
	now = b.anchored || !b.from || loop_row_begins(row, b.from, b.to, b.seen);
	row->entries += !b.anchored && !b.from && !is_first;
	row->strange += !b.anchored && !b.from && !is_first && !b.stayed;
	row->anchored += b.anchored;
	if (now && may_be_called(th, row))
		loops_called_count(th, row, &b, is_first);
	if (is_first) {
		row->first_calls = th->calls;
		row->first_ns = b.ns;
	}
	if (now) {
		if (is_first || (b.left_ns != LOOPS_NEVER && !b.stayed))
			loop_anchor_skip(&row->anchor, b.ns);
		else
			loop_anchor_end(&row->anchor, b.interrupted, b.ns);
		row->newest_ns = b.ns;
		row->last_calls = th->calls;
		if (b.from > row->beyond)
			row->beyond = b.from;
	}
	if (th->current < 0 || row != &th->rows[th->current])
		store_begin(l, th, row, &b);
	else if (now)
		loops_tell(l, th, b);
	else
		th->hidden += !loop_row_may_be_inner(row, b.from, b.to);
}

void loops_enter_row(struct loops *l, struct loops_thread *th, struct loop_row *row, uint32_t line,
		     int64_t ns, bool stayed)
{
	struct loop_begin b = { .ns = ns,
				.left_ns = row->left_ns,
				.to = line,
				.stayed = stayed,
				.level = LOOP_NO_LEVEL };

	loop_row_enter(row, line);
	row->awaited = line < row->first;
	row->preludes += row->awaited;
	if (row->awaited || (row->caller < 0 && row->beyond && line > row->beyond))
		return;
	if (may_be_called(th, row))
		loops_called_enter(th, row, &b);
	else
		row->stay_cut = true;
	row->left_ns = LOOPS_NEVER;
	row->beyond_ns = 0;
	row->loose_from = 0;
	loops_begin(l, th, row, b);
}

/* The call makes an iteration begin if it is the anchor, was made in this iteration before, and
 * others may be missing since. */
static void check_anchor(struct loops *l, struct loops_thread *th, struct loop_row *row,
			 uint64_t key, int64_t ns)
{
	struct loop_begin b = {
		.ns = ns, .left_ns = LOOPS_NEVER, .anchored = true, .level = LOOP_NO_LEVEL
	};
	bool left = row->left_ns != LOOPS_NEVER;
	unsigned index;
	bool exact = false;
	uint8_t missing;

	if (!loop_anchor_times(&row->anchor, key, &index) ||
	    loop_anchor_choose(&row->anchor, 0, &exact) < 0)
		return;
	missing = loops_missing(l, th->node, row->newest_ns, ns);
	if (!missing || loop_anchor_choose(&row->anchor, missing, &exact) != (int)index)
		return;
	if (left)
		row->left_ns = ns;
	loops_begin(l, th, row, b);
}

static uint64_t anchor_key(const struct loops_thread *th, uint16_t op)
{
	const struct loop_level *leaf = &th->levels[th->nlevels - 1];

	return (leaf->path ^ leaf->line) * 0x9e3779b97f4a7c15 + op;
}

static void add_anchor(struct loops *l, struct loops_thread *th, struct loop_row *row, uint64_t key,
		       uint16_t op, bool wait, int64_t ns)
{
	if (row->newest_ns == LOOPS_NEVER)
		return;
	if (l->paused.lists.n)
		check_anchor(l, th, row, key, ns);
	loop_anchor_add(&row->anchor, key, op, wait, ns);
}

void loops_begin_anchored(struct loops *l, struct loops_thread *th, uint16_t op, int64_t ns)
{
	for (unsigned i = 0; i < th->nwatched; i++)
		add_anchor(l, th, &th->rows[th->watched[i]], anchor_key(th, op), op, false, ns);
}

/* Waits are recorded whether their call is or not. */
void loops_begin_waited(struct loops *l, struct loops_thread *th, uint16_t op, int64_t ns)
{
	for (unsigned i = 0; i < th->nwatched; i++)
		add_anchor(l, th, &th->rows[th->watched[i]], ~anchor_key(th, op), OP_SCHED_OFFCPU,
			   false, ns);
}

void loops_begin_asleep(struct loops *l, struct loops_thread *th, uint8_t object, int64_t ns)
{
	uint64_t key = anchor_key(th, OP_SCHED_OFFCPU) + ((uint64_t)object << 32);

	for (unsigned i = 0; i < th->nwatched; i++)
		add_anchor(l, th, &th->rows[th->watched[i]], key, OP_SCHED_OFFCPU, true, ns);
}

/* Whether the inner level was called by the outer one, where both may be left. */
static bool is_below(const struct loop_level *outer, const struct loop_level *inner)
{
	return inner->function && inner->path == loops_mix_path(outer->path, inner->function);
}

void loops_begin_left(struct loops *l, struct loops_thread *th, uint16_t op, int64_t ns)
{
	for (unsigned i = th->nlevels; i < LOOPS_DEPTH && i > 0; i++) {
		const struct loop_level *level = &th->levels[i];

		if (level->moved || !is_below(level - 1, level))
			break;
		if (level->row >= 0 && th->rows[level->row].path == level->path)
			add_anchor(l, th, &th->rows[level->row], anchor_key(th, op), op, false, ns);
		if (level->line_row >= 0 &&
		    th->rows[level->line_row].path == loops_line_path(level))
			add_anchor(l, th, &th->rows[level->line_row], anchor_key(th, op), op, false,
				   ns);
	}
}
