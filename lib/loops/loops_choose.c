/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the loop of a thread: of the rows that hold nearly as many of its calls as any does, the
 * outermost that has been iterated often enough. While a function around it has jumped back, too,
 * and may turn out to be that one, the choice waits.
 */
#include "lib/loops/loops_internal.h"

/* Shares of the thread's calls that loops hold are equal if they differ by no more. */
#define SPAN_SHARE 0.03
/* What looks like a step of a program may be a layer of a network: it is held back until it was
 * made for so long, or so often, with no outer loop to be seen. */
#define HOLD_NS	       2000000000
#define HOLD_COUNT     256
#define SINCE_SHARE    0.5 /* of a row's iterations: most of them */
#define INNER_MAX      256 /* inner iterations in one of a loop that takes their place later */
#define CORRECT_SHARE  0.9 /* of that one's calls are in it */
#define COUNT_AT_END   8   /* iterations of a loop that a recording's end cuts short, */
#define COUNT_LEAST    5   /* or else this */
#define PARTS_SHARE    0.1 /* of their span take so few parts of an outer iteration */
#define CALLS_PER_STEP 0.5 /* a loop that makes fewer is none of the program's steps */

static uint64_t span_of(const struct loop_row *r)
{
	return r->last_calls - r->first_calls;
}

/* With the iteration that is going on, which counts where the inner loop is not one in its own
 * right. */
static uint64_t whole_span_of(const struct loop_row *r, uint64_t inner_count)
{
	uint64_t n = loop_row_count(r);
	bool all = n + 1 >= LOOPS_DECIDE || inner_count < LOOPS_DECIDE * (n + 1);

	return span_of(r) + (all ? span_of(r) / n : 0);
}

static bool is_candidate(const struct loops *l, const struct loops_thread *th,
			 const struct loop_row *r, uint64_t least)
{
	uint64_t n = r->path && r->begins.n ? loop_row_count(r) : 0;

	return n + 1 >= least && n >= 2 && !loops_called_is_doubtful(th, r) &&
	       (!th->calls || (double)span_of(r) >= CALLS_PER_STEP * (double)n) &&
	       !loops_called_is_glimpse(l, th, r);
}

/* Whether it holds of the inner row's calls nearly all since it was first seen to jump back, which
 * is most of the inner one's iterations: jumps are seen late where few calls are recorded. */
static bool holds_since(const struct loop_row *r, const struct loop_row *inner, uint64_t slack)
{
	int64_t first_ns = r->begins.v[0].ns;
	size_t since = 0;

	for (size_t i = inner->begins.n; i > 0 && inner->begins.v[i - 1].ns >= first_ns; i--)
		since++;
	return loop_row_is_inside(inner, r) && since >= SINCE_SHARE * inner->begins.n &&
	       r->first_calls + whole_span_of(r, loop_row_count(inner)) + slack >=
		       inner->last_calls;
}

static struct loop_row *find_widest(const struct loops *l, const struct loops_thread *th,
				    uint64_t least)
{
	struct loop_row *best = NULL;
	const struct loop_row *widest = NULL;
	uint64_t slack = (uint64_t)(SPAN_SHARE * (double)(th->calls - th->phase_calls));

	for (unsigned i = 0; i < LOOPS_ALL; i++)
		if (is_candidate(l, th, &th->rows[i], least) &&
		    (!widest || span_of(&th->rows[i]) > span_of(widest)))
			widest = &th->rows[i];
	for (unsigned i = 0; widest && i < LOOPS_ALL; i++) {
		struct loop_row *r = &th->rows[i];

		if (is_candidate(l, th, r, least) && (!best || r->depth < best->depth) &&
		    (whole_span_of(r, loop_row_count(widest)) + slack >= span_of(widest) ||
		     holds_since(r, widest, slack)))
			best = r;
	}
	return best;
}

/* It has jumped back, not often enough yet, and goes on doing so. */
static bool may_be_loop(const struct loops *l, const struct loops_thread *th,
			const struct loop_row *r)
{
	uint64_t n = loop_row_count(r);

	return n > 0 && n + 1 < LOOPS_DECIDE &&
	       (th->calls - r->last_calls) * n <= LOOPS_PAUSE_STEPS * span_of(r) &&
	       !loops_called_is_glimpse(l, th, r);
}

static bool has_to_wait(const struct loops *l, const struct loops_thread *th,
			const struct loop_row *r)
{
	if (r->begins.n >= LOOPS_BEGINS)
		return false;
	for (unsigned i = 0; i < LOOPS_ALL; i++) {
		if (th->rows[i].path && loop_row_is_inside(r, &th->rows[i]) &&
		    may_be_loop(l, th, &th->rows[i]))
			return true;
	}
	return r->begins.n < HOLD_COUNT && r->newest_ns - r->begins.v[0].ns < HOLD_NS;
}

/* Whether the row describes better what was reported of the loops inside of it. */
static bool may_replace(const struct loops *l, const struct loops_thread *th,
			const struct loop_row *r)
{
	uint64_t n = loop_row_count(r) + 1;

	for (unsigned i = 0; i < LOOPS_ALL; i++) {
		const struct loop_row *inner = &th->rows[i];

		/* An iteration of one line of the function that is one of the function, too. */
		if (inner->path && inner->loop >= 0 && inner->depth == r->depth &&
		    loop_row_is_inside(inner, r) && l->v.v[inner->loop].count < 2 * n)
			return false;
		if (inner->path && inner->loop >= 0 && loop_row_is_inside(inner, r) &&
		    (n < LOOPS_DECIDE || l->v.v[inner->loop].count > INNER_MAX * n ||
		     (double)span_of(r) < CORRECT_SHARE * (double)span_of(inner)))
			return false;
	}
	return true;
}

static void choose_row(struct loops *l, struct loops_thread *th, struct loop_row *r)
{
	if (!may_replace(l, th, r))
		return;
	th->open = false;
	loops_void_inside(l, th, r);
	loops_tell_row(l, th, r);
}

/* Whether few iterations are made in bursts, and what is around them began anew several times: they
 * are parts of what was done too few times to be steps, as the layers are that a server runs for
 * each of four requests. */
static bool is_part_of_few(struct loops *l, const struct loops_thread *th, const struct loop_row *r)
{
	int64_t span_ns = r->newest_ns - r->begins.v[0].ns;
	bool bursts = (double)loops_median_interval(l, r) * (double)r->begins.n <
		      PARTS_SHARE * (double)span_ns;

	for (unsigned i = 0; bursts && i < LOOPS_ALL; i++)
		if (th->rows[i].path && loop_row_is_inside(r, &th->rows[i]) &&
		    loop_row_count(&th->rows[i]) >= 2)
			return true;
	return false;
}

void loops_choose(struct loops *l, struct loops_thread *th, bool finish)
{
	struct loop_row *r = find_widest(l, th, LOOPS_DECIDE);

	/* A thread without calls is seen by chance. */
	if (finish && th->calls) {
		struct loop_row *few = find_widest(l, th, COUNT_AT_END);

		r = few ? few : find_widest(l, th, COUNT_LEAST);
		if (r && is_part_of_few(l, th, r))
			r = NULL;
	}
	if (r && (finish || !has_to_wait(l, th, r)))
		choose_row(l, th, r);
}

void loops_correct(struct loops *l, struct loops_thread *th, struct loop_row *row)
{
	uint64_t n = row->begins.n;

	if (n && n % LOOPS_DECIDE == 0 && n < LOOPS_BEGINS && !row->dropped &&
	    loop_row_is_inside(&th->rows[th->current], row) && !loops_called_is_glimpse(l, th, row))
		choose_row(l, th, row);
}
