/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a loop calls once in each iteration. Where nothing is seen of the caller between
 * two calls such a function looks like a loop itself. What tells the two apart are the times at
 * which it was not on the stack: they come after single iterations, or after ever different numbers
 * of them while its caller made no call. A loop is left after many, or after as many each time.
 * What the caller does between two calls is of its loop, unless it goes on behind it: for long, to
 * lines that are never seen between two iterations that follow each other soon.
 */
#include "lib/loops/loops_internal.h"
#include "lib/world/python_code.h"

#define STAYS_LEAST  4 /* times that the function was left */
#define SINGLE_LEAST 3 /* of these after a single iteration, and */
#define SINGLE_SHARE 0.25
#define FEW_SHARE    0.1 /* where fewer iterations than these come between, on average */
#define FEW_STAY     3
#define UNEVEN_LEAST 8	 /* times, and */
#define UNEVEN_SHARE 0.5 /* of these after another number of iterations than the time before */
#define CALLER_LEAST 3	 /* times the caller was there, and nothing below it */
#define CALLER_SHARE 0.4
#define MORE_SHARE   0.02 /* of a loop's iterations: if others make so many more, it lacks some */
#define CALLS_SHARE  0.5  /* of its jumps are between calls: they are no chance */
#define FAR_SHARE    0.1  /* of the times that it was left: its caller's loop was left, too */
#define SELDOM_TIMES 8 /* iterations of a function in one of its caller, which is no step then, */
#define UNEVEN_TIMES 2 /* the same where these differ in number each time */
#define SELDOM_SHARE 0.33 /* if no more of the calls are its caller's or of others */
#define JUMPS_SHARE  0.9  /* of the times that a line was come to from another one */
#define AWAY_SHARE   0.03 /* of a loop's calls may be made outside of a function that has all */

/* Longer than the iterations before it, as many as end a loop. */
static bool is_long_gap(const struct loop_row *row, const struct loop_begin *b)
{
	int64_t stay_ns = row->left_ns - row->stay_ns;

	return (b->ns - row->left_ns) / LOOPS_PAUSE_STEPS * (int64_t)(row->stay + 1) > stay_ns;
}

void loops_called_enter(const struct loops_thread *th, struct loop_row *row, struct loop_begin *b)
{
	unsigned at = row->line ? row->depth + 1 : row->depth;
	uint64_t away = th->calls - (th->callee != 0) - row->left_calls;

	if (row->left_ns == LOOPS_NEVER)
		return;
	row->away_calls += away;
	if (is_long_gap(row, b)) {
		row->far++;
		row->far_calls += away;
	}
	while (at-- > 0) {
		const struct loop_level *level = &th->levels[at];

		if (level->entered_ns > row->left_ns)
			continue;
		b->level = (uint8_t)at;
		b->gap_first = level->gap_first;
		b->gap_last = level->gap_last;
		row->above[at].line = level->line;
		row->above[at].stayed++;
		return;
	}
}

void loops_called_count(struct loops_thread *th, struct loop_row *row, const struct loop_begin *b,
			bool is_first)
{
	row->stay++;
	row->stay_cut |= b->interrupted != 0;
	if (!is_first && (b->anchored || b->left_ns == LOOPS_NEVER))
		return;
	if (!is_first && !row->stay_cut) {
		row->stays++;
		th->left |= UINT64_C(1) << (row - th->rows);
		row->singles += row->stay == 1;
		row->uneven += row->last_stay && row->stay != row->last_stay;
		row->last_stay = row->stay;
	}
	row->stay = 0;
	row->stay_ns = b->ns;
	row->stay_cut = false;
}

/* Calls of its caller's loop outside of it, without those behind the loop. */
static uint64_t calls_away(const struct loop_row *row)
{
	bool seldom = (double)row->far <= FAR_SHARE * (double)row->stays;

	return row->away_calls - (seldom ? row->far_calls : 0);
}

/* It is left after ever different numbers of iterations. */
static bool is_uneven(const struct loop_row *row)
{
	return row->stays >= UNEVEN_LEAST &&
	       (double)row->uneven >= UNEVEN_SHARE * (double)row->stays;
}

static bool is_called(const struct loop_row *row)
{
	if (row->stays < STAYS_LEAST)
		return false;
	if (row->singles >= SINGLE_LEAST &&
	    ((double)row->singles >= SINGLE_SHARE * (double)row->stays ||
	     ((double)row->singles >= FEW_SHARE * (double)row->stays &&
	      loop_row_count(row) < FEW_STAY * row->stays)))
		return true;
	return is_uneven(row) && !calls_away(row) && row->preludes < row->stays / 2;
}

static enum python_code_kind kind_of(const struct loops *l, uint32_t function)
{
	const struct world_frame *f =
		world_get_frame(l->w, python_lines_frame(&l->lines, function));

	return f ? f->code : PYTHON_GENERATED;
}

/* What runs other people's functions is no loop of theirs. */
static bool may_have_loop(const struct loops *l, uint32_t caller, uint32_t called)
{
	enum python_code_kind of = kind_of(l, called), kind = kind_of(l, caller);

	if (kind <= PYTHON_ENTRY)
		return true;
	return of > PYTHON_ENTRY && (kind < PYTHON_STDLIB || of >= PYTHON_STDLIB);
}

void loops_called_find(const struct loops *l, struct loop_row *row)
{
	unsigned n = row->line ? row->depth + 1 : row->depth;
	uint64_t all = 0;

	if (row->caller >= 0 || row->stays < row->next_try || !is_called(row))
		return;
	row->next_try = 2 * row->stays;
	for (unsigned i = 0; i < n; i++)
		all += row->above[i].stayed;
	for (unsigned i = 0; all && i < n; i++) {
		if (row->above[i].stayed < CALLER_LEAST ||
		    (double)row->above[i].stayed < CALLER_SHARE * (double)all ||
		    !may_have_loop(l, row->above[i].function, row->function))
			continue;
		row->caller = (int)i;
		row->near_first = row->near_last = row->above[i].line;
		return;
	}
}

/* Whether each begin of the outer row comes after many calls of a function, from the line where it
 * begins, which make most of its calls: what it does besides is done every so often, as a
 * checkpoint or a log. */
static bool is_seldom(const struct loop_row *outer, const struct loop_row *r)
{
	uint64_t span = r->last_calls - r->first_calls;

	return !r->line && !r->preludes && r->depth == outer->depth + 1 &&
	       r->above[outer->depth].path == outer->path &&
	       r->above[outer->depth].line == outer->first &&
	       loop_row_count(r) >= SELDOM_TIMES * loop_row_count(outer) &&
	       (double)r->away_calls <= SELDOM_SHARE * (double)span;
}

/* Whether samples showed most of the row's jumps and calls none, and calls and waits show what is
 * inside of it to jump many times for each: it does so in each iteration of that, or in none that
 * counts. */
static bool is_chance(const struct loops_thread *th, const struct loop_row *row)
{
	uint64_t span = row->last_calls - row->first_calls, n = loop_row_count(row);

	if (row->line || row->total || 2 * row->shown >= n)
		return false;
	for (unsigned i = 0; i < LOOPS_ALL; i++) {
		const struct loop_row *r = &th->rows[i];

		if (r->path && r != row && loop_row_is_inside(r, row) &&
		    r->shown >= (is_uneven(r) ? UNEVEN_TIMES : SELDOM_TIMES) * n &&
		    (double)(r->last_calls - r->first_calls) >= (1 - AWAY_SHARE) * (double)span)
			return true;
	}
	return false;
}

/* How many of its iterations began before that. */
static uint64_t count_before(const struct loop_row *row, int64_t ns)
{
	uint64_t n = 0;

	for (size_t i = 0; i < row->begins.n && row->begins.v[i].ns < ns; i++) {
		const struct loop_begin *b = &row->begins.v[i];

		n += b->anchored || !b->from || loop_row_begins(row, b->from, b->to, b->seen);
	}
	return n;
}

/* Whether the inner row makes more iterations than the outer one since it was first met. */
static bool has_more(const struct loop_row *inner, const struct loop_row *outer)
{
	uint64_t n = loop_row_count(outer), before = count_before(outer, inner->first_ns);

	return (double)loop_row_count(inner) >
	       (1 + MORE_SHARE) * (double)(before < n ? n - before : n);
}

bool loops_called_is_doubtful(const struct loops_thread *th, const struct loop_row *row)
{
	int at = row->line ? loops_find_row(th, row->above[row->depth].path) : -1;

	return loop_row_is_doubtful(row) && (at < 0 || (double)loop_row_count(&th->rows[at]) <
							       JUMPS_SHARE * (double)row->strange);
}

/* Whether the row is one line of the outer row's function, which makes most of its calls and more
 * iterations. */
static bool is_its_line(const struct loops_thread *th, const struct loop_row *r,
			const struct loop_row *outer)
{
	uint64_t span = r->last_calls - r->first_calls;

	return r->path && r->line && r->depth == outer->depth &&
	       r->above[r->depth].path == outer->path && has_more(r, outer) &&
	       (double)r->away_calls <= SELDOM_SHARE * (double)span &&
	       (double)span >=
		       (1 - AWAY_SHARE) * (double)(outer->last_calls - outer->first_calls) &&
	       !loops_called_is_doubtful(th, r);
}

bool loops_called_is_glimpse(const struct loops *l, const struct loops_thread *th,
			     const struct loop_row *row)
{
	bool by_chance =
		!row->line && (double)row->total < CALLS_SHARE * (double)loop_row_count(row);

	if (is_chance(th, row))
		return true;
	for (uint64_t left = by_chance ? th->left : 0; left; left &= left - 1) {
		struct loop_row *r = &th->rows[__builtin_ctzll(left)];

		if (r->stays < STAYS_LEAST || r->depth < row->depth ||
		    r->above[row->depth].path != row->path || !has_more(r, row))
			continue;
		loops_called_find(l, r);
		if (r->caller >= 0 && r->caller <= (int)row->depth &&
		    (double)calls_away(r) <= AWAY_SHARE * (double)(r->last_calls - r->first_calls))
			return true;
	}
	for (unsigned i = LOOPS_ROWS; by_chance && i < LOOPS_ALL; i++)
		if (is_its_line(th, &th->rows[i], row))
			return true;
	for (unsigned i = 0; !row->line && i < LOOPS_ROWS; i++) {
		if (th->rows[i].path && is_seldom(row, &th->rows[i]))
			return true;
	}
	return false;
}

bool loops_called_add_earlier(const struct loops_thread *th, struct loop_row *row)
{
	const struct loop_around *around = &row->above[row->caller];
	int at = loops_find_row(th, around->path);
	const struct loop_row *caller = at >= 0 ? &th->rows[at] : NULL;
	int64_t first_ns = row->begins.n ? row->begins.v[0].ns : INT64_MIN;
	size_t n = 0;

	while (caller && n < caller->begins.n && caller->begins.v[n].ns < first_ns)
		n++;
	if (!n)
		return true;
	if (!vec_reserve(&row->begins, n))
		return false;
	memmove(row->begins.v + n, row->begins.v, row->begins.n * sizeof(row->begins.v[0]));
	row->begins.n += n;
	for (size_t i = 0; i < n; i++) {
		row->begins.v[i] = caller->begins.v[i];
		row->begins.v[i].from = 0;
		row->begins.v[i].left_ns = LOOPS_NEVER;
	}
	return true;
}

/* Whether the caller was there while the row was left, and nothing below it. */
static bool is_of_caller(const struct loop_row *row, const struct loop_begin *b)
{
	return b->left_ns != LOOPS_NEVER && b->level == row->caller;
}

static bool is_near(const struct loop_row *row, uint32_t first, uint32_t last)
{
	return first >= row->near_first && last <= row->near_last;
}

void loops_called_add_near(struct loop_row *row, const struct loop_begin *b, int64_t most_ns)
{
	if (!is_of_caller(row, b) || b->ns - b->left_ns > most_ns)
		return;
	if (b->gap_first < row->near_first)
		row->near_first = b->gap_first;
	if (b->gap_last > row->near_last)
		row->near_last = b->gap_last;
}

int64_t loops_called_left(const struct loop_row *row, const struct loop_begin *b)
{
	if (b->level == LOOP_NO_LEVEL || b->level > row->caller ||
	    (is_of_caller(row, b) && is_near(row, b->gap_first, b->gap_last)))
		return LOOPS_NEVER;
	return b->left_ns;
}

int64_t loops_called_left_now(const struct loops_thread *th, const struct loop_row *row)
{
	unsigned at = (unsigned)row->caller;
	const struct loop_level *level = &th->levels[at];

	if (row->left_ns == LOOPS_NEVER || th->nlevels <= at || level->path != row->above[at].path)
		return row->left_ns;
	if (at < row->depth && th->nlevels > at + 1 && level[1].path == row->above[at + 1].path)
		return LOOPS_NEVER;
	return is_near(row, level->gap_first, level->gap_last) ? LOOPS_NEVER : row->left_ns;
}
