/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the backward jumps of a function by where they come from and land, to find iterations. The
 * order of a thread's calls is exact, so that jumps between calls are classified by what follows
 * them; waits and samples are anywhere, and begin an iteration where they land at the first line or
 * before it. A jump that one of these shows is one between calls once the next call is known. Where
 * there are no calls, the first line is one where waits land again and again: a
 * single sample at the head of a loop says nothing.
 */
#include "lib/loops/loop_row.h"

/* Of the jumps of a kind: so many are the statement's, or an inner loop's. */
#define STATEMENT_SHARE 0.9
#define INNER_SHARE	0.05
/* A line at which fewer than this share of jumps land begins no iteration by itself. */
#define FIRST_SHARE 0.02

void loop_row_free(struct loop_row *r)
{
	vec_free(&r->begins);
	free(r->above);
}

static bool is_statement(const struct loop_jump *j)
{
	return (double)j->skips >= STATEMENT_SHARE * (double)j->n;
}

/* Whether its lines are before those of the loop that the row is now (loop_next.h). */
static bool is_before(const struct loop_row *r, uint32_t line)
{
	return r->is_next && line < r->next;
}

/* Without jumps between calls: the least line where enough waits land, or else anything. */
static uint32_t find_waited(const struct loop_row *r)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < r->nwaits; i++) {
		const struct loop_landing *w = &r->waits[i];

		if ((first == 0 || w->line < first) && (w->n >= 2 || r->waited == 1) &&
		    (double)w->n >= FIRST_SHARE * (double)r->waited)
			first = w->line;
	}
	return first ? first : r->loose_first;
}

static uint64_t count_landings(const struct loop_row *r, uint32_t line)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < r->njumps; i++)
		n += r->jumps[i].to == line ? r->jumps[i].n : 0;
	return n;
}

static bool is_inner(const struct loop_row *r, uint32_t line)
{
	uint64_t inner = 0, n = 0;

	for (unsigned i = 0; i < r->njumps; i++) {
		const struct loop_jump *j = &r->jumps[i];

		if (j->to == line && !is_statement(j)) {
			inner += j->inner;
			n += j->n;
		}
	}
	return n == 0 || (double)inner >= INNER_SHARE * (double)n;
}

/* The callee of a line that iterations begin at: the first one, unless more of them, which are not
 * those of an inner loop, begin at a later one. Then the first one is not called in each. */
static uint32_t find_callee(const struct loop_row *r)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < r->njumps; i++) {
		if ((!first || r->jumps[i].to < first) && !is_statement(&r->jumps[i]))
			first = r->jumps[i].to;
	}
	for (unsigned i = 0; i < r->njumps; i++) {
		uint32_t to = r->jumps[i].to;

		if (to > first && count_landings(r, to) > count_landings(r, first) &&
		    !is_inner(r, to))
			first = to;
	}
	return first;
}

/* The least line where enough jumps land that are not within a statement. */
static uint32_t find_first(const struct loop_row *r)
{
	uint32_t first = 0;

	if (r->line)
		return find_callee(r);
	for (unsigned i = 0; i < r->njumps; i++) {
		const struct loop_jump *j = &r->jumps[i];

		if ((first == 0 || j->to < first) && !is_statement(j) && !is_before(r, j->to) &&
		    (j->n >= 2 || r->total + r->waited == 1) &&
		    (double)j->n >= FIRST_SHARE * (double)r->total)
			first = j->to;
	}
	return first ? first : find_waited(r);
}

void loop_row_find_first(struct loop_row *r)
{
	r->first = find_first(r);
}

static int jump_index(const struct loop_row *r, uint32_t from, uint32_t to)
{
	for (unsigned i = 0; i < r->njumps; i++) {
		if (r->jumps[i].from == from && r->jumps[i].to == to)
			return (int)i;
	}
	return -1;
}

/* The first line was reached again: what came before it says no more of earlier jumps. */
static void close_jumps(struct loop_row *r)
{
	for (unsigned i = 0; i < r->njumps; i++)
		r->jumps[i].open = 0;
}

/* Of lines that find no room, only how many they are is kept. */
static void add_landing(struct loop_row *r, uint32_t line)
{
	unsigned i = 0;

	r->waited++;
	while (i < r->nwaits && r->waits[i].line != line)
		i++;
	if (i == r->nwaits && i < LOOP_LANDINGS)
		r->waits[r->nwaits++] = (struct loop_landing){ .line = line };
	if (i < r->nwaits)
		r->waits[i].n++;
}

/* A jump between calls. False: there is no room for its kind. */
static bool count_jump(struct loop_row *r, uint32_t from, uint32_t to)
{
	int at = jump_index(r, from, to);

	if (at < 0 && r->njumps < LOOP_JUMPS) {
		at = (int)r->njumps++;
		r->jumps[at] = (struct loop_jump){ .from = from, .to = to };
	}
	if (at < 0)
		return false;
	r->jumps[at].n++;
	r->jumps[at].open++;
	r->total++;
	r->last = at;
	return true;
}

void loop_row_enter(struct loop_row *r, uint32_t line)
{
	bool single = !r->awaited && !r->stay && !r->stay_cut;

	if (single && r->reached && (!r->ends || r->reached < r->ends))
		r->ends = r->reached;
	r->reached = line;
}

void loop_row_add_jump(struct loop_row *r, uint32_t from, enum loop_seen from_seen, uint32_t to,
		       enum loop_seen to_seen)
{
	bool loose = from_seen != LOOP_SEEN_CALL || to_seen != LOOP_SEEN_CALL, counted;

	r->last = -1;
	if (r->first && to <= r->first)
		close_jumps(r);
	if (to_seen == LOOP_SEEN_WAIT || (loose && to_seen == LOOP_SEEN_CALL))
		add_landing(r, to);
	counted = !loose && count_jump(r, from, to);
	if (!counted && (!r->loose_first || to < r->loose_first))
		r->loose_first = to;
	r->shown += from_seen != LOOP_SEEN_SAMPLE && to_seen != LOOP_SEEN_SAMPLE;
	loop_row_find_first(r);
	r->loose += !counted && to <= r->first;
	r->loose_from = from_seen == LOOP_SEEN_CALL && loose ? from : 0;
	r->loose_counts = to <= r->first;
}

void loop_row_confirm_jump(struct loop_row *r, uint32_t to)
{
	uint32_t from = r->loose_from;

	r->loose_from = 0;
	if (to >= from || !count_jump(r, from, to))
		return;
	r->loose -= r->loose_counts;
	loop_row_find_first(r);
}

void loop_row_add_line(struct loop_row *r, uint32_t line, enum loop_seen seen)
{
	r->reached = line > r->reached ? line : r->reached;
	if (seen != LOOP_SEEN_CALL) {
		r->last = -1;
		return;
	}
	if (r->last >= 0)
		r->jumps[r->last].skips += line > r->jumps[r->last].from;
	r->last = -1;
	for (unsigned i = 0; i < r->njumps; i++) {
		struct loop_jump *j = &r->jumps[i];

		if (line > j->from) {
			j->inner += j->open;
			j->open = 0;
		}
	}
}

void loop_row_forget_jumps(struct loop_row *r)
{
	r->loose = r->entries = r->anchored = r->total = r->shown = r->waited = r->strange = 0;
	r->njumps = r->nwaits = 0;
	r->next = 0;
	r->is_next = false;
	r->last = -1;
	r->first = r->beyond = r->loose_first = r->loose_from = 0;
}

/* Whether lines of a statement that ends at its first line lie between. */
static bool in_statement(const struct loop_row *r, uint32_t from, uint32_t to)
{
	for (unsigned i = 0; i < r->njumps; i++) {
		const struct loop_jump *j = &r->jumps[i];

		if (j->to == to && j->from >= from && is_statement(j))
			return true;
	}
	return false;
}

/* Whether a function that a loop calls is not at its end there: it jumps back in a loop of its own.
 */
static bool is_midway(const struct loop_row *r, uint32_t from)
{
	return r->caller >= 0 && from < r->ends;
}

/* Whether one line makes the same library call twice in each iteration, as a copy to the device and
 * one back: nearly always more of the line follows before the call comes again, and about as many
 * jumps lead there from behind that. */
static bool is_repeated(const struct loop_row *r, const struct loop_jump *j)
{
	bool is_call = r->line && j->to <= r->callees.n &&
		       r->callees.v[j->to - 1].key & LOOP_CALLEE_OP;

	if (!is_call || !j->inner ||
	    (double)j->inner < STATEMENT_SHARE * (double)(j->n - j->open))
		return false;
	for (unsigned i = 0; i < r->njumps; i++)
		if (r->jumps[i].to == j->to && r->jumps[i].from > j->from &&
		    2 * r->jumps[i].n >= j->n)
			return true;
	return false;
}

bool loop_row_begins(const struct loop_row *r, uint32_t from, uint32_t to, enum loop_seen seen)
{
	int at = jump_index(r, from, to);

	if (is_before(r, to) || (seen == LOOP_SEEN_SAMPLE && is_midway(r, from)))
		return false;
	if (at >= 0 ? is_statement(&r->jumps[at]) : in_statement(r, from, to))
		return false;
	if (at >= 0 && is_repeated(r, &r->jumps[at]))
		return false;
	if (to <= r->first)
		return true;
	return at >= 0 && seen == LOOP_SEEN_CALL && !r->line && !is_inner(r, to) &&
	       count_landings(r, to) <= count_landings(r, r->first);
}

bool loop_row_may_be_inner(const struct loop_row *r, uint32_t from, uint32_t to)
{
	if (is_midway(r, from))
		return true;
	for (unsigned i = 0; i < r->njumps; i++) {
		const struct loop_jump *j = &r->jumps[i];

		if (to >= j->to && from <= j->from &&
		    !loop_row_begins(r, j->from, j->to, LOOP_SEEN_CALL))
			return true;
	}
	return false;
}

void loop_row_lines(const struct loop_row *r, uint32_t *first, uint32_t *last)
{
	*first = r->line ? r->line : r->first;
	*last = !r->line && r->beyond > r->first ? r->beyond : *first;
}

bool loop_row_is_inside(const struct loop_row *r, const struct loop_row *outer)
{
	if (!outer->path || outer->depth > r->depth)
		return false;
	if (outer->depth == r->depth)
		return r->line && !outer->line && r->above[r->depth].path == outer->path;
	if (outer->line)
		return r->above[outer->depth].line_path == outer->path;
	return r->above[outer->depth].path == outer->path;
}

bool loop_row_is_doubtful(const struct loop_row *r)
{
	return (r->line || r->reentered) && loop_row_count(r) < 2 * r->strange;
}

uint64_t loop_row_count(const struct loop_row *r)
{
	uint64_t n = r->anchored;

	for (unsigned i = 0; i < r->njumps; i++) {
		const struct loop_jump *j = &r->jumps[i];

		if (loop_row_begins(r, j->from, j->to, LOOP_SEEN_CALL))
			n += j->n;
	}
	return n + r->loose ? n + r->loose + r->entries : 0;
}
