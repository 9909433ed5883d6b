/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the steps of a thread's loop, and counts them: certain ones, and by their length those in
 * which others may be hidden because events are missing.
 */
#include "lib/loops/loop_next.h"

#define MEDIAN_LEAST 4	/* steps that make a median worth something */
/* It is found anew with so many more certain steps, or with as many as that part of them: the first
 * steps take longer than those that follow. */
#define MEDIAN_EVERY 64
#define MEDIAN_PART  4
/* Nearly all steps take so long, as quantiles; and those between windows less: in windows, which
 * begin with the first steps and have all probes, steps of real PyTorch with 100 to 300 launches
 * were 10 to 27 % longer than all by the program's clock. */
#define FAST	   0.1
#define SLOW	   0.9
#define PROBES	   1.15
#define TWICE	   0.9 /* one in ten that waits tell may be a part of another */
#define UNLIKE	   2   /* times the median or more are steps that do something else besides */
#define LONG_STEPS 16  /* medians that a stretch lasts which is worth a newer range */

/* Times the median: where more than one step in twenty takes so long, these may be two. */
#define DOUBLE	     1.75
#define DOUBLE_SHARE 0.95

uint8_t loops_missing(const struct loops *l, uint32_t node, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < l->lost_until_ns && l->lost_since_ns < to_ns)
		return UINT8_MAX;
	if (!l->paused.lists.n)
		return 0;
	return (uint8_t)paused_tiers(&l->paused, node, from_ns, to_ns);
}

static uint64_t median_of(const struct loop *loop)
{
	return loop->dur.count >= MEDIAN_LEAST ? sketch_quantile(&loop->dur, 0.5) : 0;
}

struct loop_lengths loop_lengths_of(const struct loop *loop)
{
	struct loop_lengths x = { 0 };
	uint64_t median;

	if (loop->dur.count < MEDIAN_LEAST)
		return x;
	median = median_of(loop);
	x.fast_ns = sketch_quantile(&loop->dur, FAST);
	x.slow_ns = sketch_quantile(&loop->dur, SLOW);
	if (x.fast_ns < median / UNLIKE)
		x.fast_ns = median / UNLIKE;
	if (x.slow_ns > median * UNLIKE)
		x.slow_ns = median * UNLIKE;
	return x;
}

void loop_lengths_count(const struct loop_lengths *x, struct loop *loop, uint64_t ns, bool counted)
{
	bool known = x->slow_ns && x->fast_ns;
	double fewest = counted ? 1 : TWICE, most = 1;

	if (!counted && known && (double)ns > fewest * (double)x->slow_ns)
		fewest = (double)ns / (double)x->slow_ns;
	if (!counted && known && (double)ns * PROBES > (double)x->fast_ns)
		most = (double)ns * PROBES / (double)x->fast_ns;
	loop->fewest += fewest;
	loop->most += most < 2 ? 1 : most;
	if (loop->fewest > (double)loop->estimate)
		loop->fewest = (double)loop->estimate;
	if (loop->most < (double)loop->estimate)
		loop->most = (double)loop->estimate;
}

/* How long a loop may do something else before it is over. */
static int64_t patience_of(const struct loop *loop)
{
	uint64_t median = median_of(loop);

	return median && median < INT64_MAX / 2 / LOOPS_PAUSE_STEPS
		       ? (int64_t)median * LOOPS_PAUSE_STEPS
		       : LOOPS_NEVER;
}

/* Whether the step that ends here is one for certain, with these bounds. */
static bool is_certain(const struct loops_thread *th, const struct loop_begin *next, bool *counted)
{
	const struct loop_row *row = &th->rows[th->current];
	bool exact = false;

	*counted = true;
	if (!next->interrupted)
		return true;
	*counted = loop_anchor_choose(&row->anchor, next->interrupted, &exact) >= 0;
	return *counted && (exact || th->step.anchored == next->anchored);
}

/* A thread that makes no calls is seen where it waits, and where it is sampled: an iteration
 * without either leaves no trace, but that another one seems to take as long as two. */
static bool may_hide_more(const struct loop *loop)
{
	return !loop->calls &&
	       (double)sketch_quantile(&loop->dur, DOUBLE_SHARE) > DOUBLE * (double)median_of(loop);
}

/* What is known of steps is worth nothing where it is known of few. hidden: iterations that may be
 * in the step besides. */
static void update_estimate(const struct loop_row *row, struct loop *loop, uint64_t hidden)
{
	uint64_t all;

	loop->hidden += hidden;
	loop->least = may_hide_more(loop) ||
		      (double)loop->dur.sum < LOOPS_CERTAIN_SHARE * (double)loop->ns;
	loop->estimate = loop->count;
	if (loop->least)
		return;
	if (loop->uncertain && loop_anchor_estimate(&row->anchor, &all))
		loop->estimate += all > row->anchor.cut ? all - row->anchor.cut : 0;
	else
		loop->estimate += loop->hidden;
}

/* What a step takes of the time in which nothing is seen where its calls are missing: all but its
 * waits. */
static uint64_t usual_unseen(const struct loops_thread *th, uint64_t median_ns)
{
	uint64_t waits = th->sure ? th->sure_waited_ns / th->sure : 0;

	return median_ns - (waits < median_ns / 4 * 3 ? waits : median_ns / 4 * 3);
}

/* Iterations that may be in the step besides: those that are known to have no event, or as many as
 * nothing was seen for, but no more than fit. */
static uint64_t count_hidden(const struct loops_thread *th, const struct loop_begin *next,
			     uint64_t ns)
{
	uint64_t median = th->median_ns, fit, unseen;

	if (!median)
		return th->hidden;
	fit = ns > median ? (ns - median / 2) / median : 0;
	unseen = (next->idle_ns - th->step.idle_ns) / usual_unseen(th, median);
	unseen = unseen < fit ? unseen : fit;
	return unseen > th->hidden ? unseen : th->hidden;
}

/* The loop that the row's line is in, its function's; NULL: that does not jump back around it, or
 * the loop is its caller's. */
static const struct loop_row *loop_around(const struct loops_thread *th, const struct loop_row *row)
{
	bool own = row->line && (row->caller < 0 || row->caller == (int)row->depth);
	int at = own ? loops_find_row(th, row->above[row->depth].path) : -1;
	const struct loop_row *f = at >= 0 ? &th->rows[at] : NULL;

	return f && f->first && row->line >= f->first && row->line <= f->beyond ? f : NULL;
}

/* Whether these lines are of that loop. */
static bool is_in_loop(const struct loops_thread *th, const struct loop_row *row, uint32_t first,
		       uint32_t last)
{
	const struct loop_row *f = loop_around(th, row);

	return f && first >= f->first && last <= f->beyond;
}

static void put_lines(const struct loops_thread *th, const struct loop_row *row, struct loop *loop)
{
	const struct loop_row *around = loop_around(th, row);

	if (around) {
		loop_row_lines(around, &loop->first_line, &loop->last_line);
		return;
	}
	if (row->caller < 0) {
		loop_row_lines(row, &loop->first_line, &loop->last_line);
		return;
	}
	loop->first_line = row->near_first;
	loop->last_line = row->near_last;
}

static void find_median(struct loops_thread *th, const struct loop *loop)
{
	uint64_t n = loop->dur.count, more = n / MEDIAN_PART;

	th->median_ns = median_of(loop);
	th->lengths = loop_lengths_of(loop);
	th->median_due = n + (more < 1 ? 1 : more > MEDIAN_EVERY ? MEDIAN_EVERY : more);
}

static void emit_step(struct loops *l, struct loops_thread *th, const struct loop_begin *next,
		      int64_t end_ns)
{
	const struct loop_row *row = &th->rows[th->current];
	struct loop *loop = &l->v.v[row->loop];
	bool counted;
	struct loop_step s = { .thread = th->id,
			       .loop = (uint32_t)row->loop,
			       .number = loop->count + 1,
			       .begin_ns = th->step.ns,
			       .end_ns = end_ns,
			       .certain = is_certain(th, next, &counted) };
	uint64_t ns = (uint64_t)(s.end_ns - s.begin_ns);

	if (s.end_ns < s.begin_ns)
		return;
	if (!loop->count++)
		loop->first_ns = s.begin_ns;
	loop->last_ns = s.end_ns;
	loop->ns += ns;
	loop->calls += next->calls - th->step.calls;
	put_lines(th, row, loop);
	if (s.certain && !sketch_add(&loop->dur, ns))
		l->nomem = true;
	if (s.certain) {
		th->sure++;
		th->sure_waited_ns += next->waited_ns - th->step.waited_ns;
	}
	loop->uncertain += !s.certain;
	update_estimate(row, loop, counted ? 0 : count_hidden(th, next, ns));
	if (!counted && ns > LONG_STEPS * th->median_ns)
		th->lengths = loop_lengths_of(loop);
	loop_lengths_count(&th->lengths, loop, ns, counted);
	if (loop->dur.count >= th->median_due)
		find_median(th, loop);
	th->told_ns = s.end_ns;
	if (l->listener)
		l->listener->on_step(l->listener, &s);
}

/* The function that makes it, which is not known at once to be the caller's. */
static void name_loop(struct loops *l, const struct loop_row *row)
{
	struct loop *loop = &l->v.v[row->loop];

	loop->depth = row->caller >= 0 ? (uint32_t)row->caller : row->depth;
	loop->frame = python_lines_frame(&l->lines, row->above[loop->depth].function);
}

/* When the loop was left before the row was called again, if it is the caller's; else left_ns. */
static int64_t left_of_caller(struct loops *l, struct loops_thread *th, struct loop_row *row,
			      const struct loop_begin *b, int64_t left_ns)
{
	if (b->level == row->depth && is_in_loop(th, row, b->gap_first, b->gap_last))
		return LOOPS_NEVER;
	if (row->caller < 0) {
		loops_called_find(l, row);
		if (row->caller < 0)
			return left_ns;
		name_loop(l, row);
	}
	loops_called_add_near(row, b, patience_of(&l->v.v[row->loop]));
	return loops_called_left(row, b);
}

void loops_tell(struct loops *l, struct loops_thread *th, struct loop_begin b)
{
	struct loop_row *row = &th->rows[th->current];
	const struct loop *loop = &l->v.v[row->loop];
	int64_t left = b.left_ns < th->beyond_ns ? b.left_ns : th->beyond_ns;

	if (b.left_ns != LOOPS_NEVER)
		left = left_of_caller(l, th, row, &b, left);

	/* Of events that overlap each other, the order is that of their ends. */
	if (b.ns < th->told_ns || (th->open && b.ns < th->step.ns))
		return;
	if (th->open)
		emit_step(l, th, &b,
			  left != LOOPS_NEVER && b.ns - left > patience_of(loop) ? left : b.ns);
	th->step = b;
	th->open = true;
	th->hidden = 0;
	th->beyond_ns = LOOPS_NEVER;
}

void loops_void_inside(struct loops *l, struct loops_thread *th, const struct loop_row *row)
{
	for (unsigned i = 0; i < LOOPS_ALL; i++) {
		struct loop_row *r = &th->rows[i];

		if (!r->path || r->loop < 0 || !loop_row_is_inside(r, row))
			continue;
		l->v.v[r->loop].is_void = true;
		if (l->listener && l->listener->on_restart)
			l->listener->on_restart(l->listener, th->id, (uint32_t)r->loop);
		r->loop = -1;
	}
	th->told_ns = INT64_MIN;
	for (size_t i = 0; i < l->v.n; i++) {
		const struct loop *loop = &l->v.v[i];

		if (loop->thread == th->id && loop->count && !loop->is_void &&
		    loop->last_ns > th->told_ns)
			th->told_ns = loop->last_ns;
	}
}

static bool number_loop(struct loops *l, const struct loops_thread *th, struct loop_row *row)
{
	struct loop loop = { .thread = th->id };

	if (row->loop >= 0)
		return true;
	row->loop = (int)l->v.n;
	if (!vec_push(&l->v, loop))
		return false;
	name_loop(l, row);
	return true;
}

/* Of other rows only what began since then is kept: the rest is of another time. */
static void forget_begins(const struct loops *l, struct loops_thread *th,
			  const struct loop_row *over, int64_t before_ns)
{
	int64_t first_ns = l->v.v[over->loop].first_ns;

	for (unsigned i = 0; i < LOOPS_ALL; i++) {
		struct loop_row *r = &th->rows[i];
		size_t kept = 0;

		/* What was tried is inside of what may be found. */
		if (r->loop < 0 && loop_row_is_inside(over, r) && r->newest_ns > first_ns &&
		    r->newest_ns != LOOPS_NEVER)
			continue;
		while (kept < r->begins.n && r->begins.v[r->begins.n - 1 - kept].ns >= before_ns)
			kept++;
		if (kept)
			memmove(r->begins.v, r->begins.v + r->begins.n - kept,
				kept * sizeof(r->begins.v[0]));
		r->begins.n = kept;
		if (!r->path || r->loop >= 0 || kept)
			continue;
		r->newest_ns = LOOPS_NEVER;
		r->dropped = 0;
		loop_row_forget_jumps(r);
	}
}

static int compare_ns(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

int64_t loops_median_interval(struct loops *l, const struct loop_row *row)
{
	size_t n = row->begins.n ? row->begins.n - 1 : 0;
	int64_t *v = malloc((n + 1) * sizeof(*v)), median;

	l->nomem |= !v;
	for (size_t i = 0; v && i < n; i++)
		v[i] = row->begins.v[i + 1].ns - row->begins.v[i].ns;
	if (v && n)
		qsort(v, n, sizeof(*v), compare_ns);
	median = v && n ? v[n / 2] : 0;
	free(v);
	return median;
}

/* A row's loop may be its caller's, which began it earlier than is known of the row, and whose
 * lines are those between all that began so far. */
static void begin_caller(struct loops *l, struct loops_thread *th, struct loop_row *row)
{
	bool fresh = !l->v.v[row->loop].count;
	int64_t most_ns;

	loops_called_find(l, row);
	if (row->caller < 0)
		return;
	name_loop(l, row);
	most_ns = LOOPS_PAUSE_STEPS * loops_median_interval(l, row);
	for (size_t i = 0; i < row->begins.n; i++)
		loops_called_add_near(row, &row->begins.v[i], most_ns);
	if (fresh && !loops_called_add_earlier(th, row))
		l->nomem = true;
}

void loops_move_on(struct loops *l, struct loops_thread *th, struct loop_row *row, int64_t ns)
{
	if (th->current >= 0 && row == &th->rows[th->current])
		loops_tell_end(l, th, ns);
	row->loop = -1;
	row->begins.n = 0;
	row->dropped = 0;
	row->loose = row->entries = row->anchored = 0;
	row->loose_from = 0;
	row->first_calls = th->calls;
	row->first_ns = ns;
	loop_next_take(row);
	loop_row_find_first(row);
}

/* A loop behind another one of its function: what began before it is none of its iterations. */
static void begin_next(struct loops *l, struct loops_thread *th, struct loop_row *row)
{
	struct loop_begin first = loop_next_take(row);
	size_t before = 0;

	loop_row_find_first(row);
	while (before < row->begins.n && row->begins.v[before].ns <= first.ns)
		before++;
	if (before < row->begins.n)
		memmove(row->begins.v, row->begins.v + before,
			(row->begins.n - before) * sizeof(row->begins.v[0]));
	row->begins.n -= before;
	if (first.ns >= th->told_ns)
		loops_tell(l, th, first);
}

void loops_tell_row(struct loops *l, struct loops_thread *th, struct loop_row *row)
{
	if (!number_loop(l, th, row)) {
		row->loop = -1;
		l->nomem = true;
		return;
	}
	th->current = (int)(row - th->rows);
	begin_caller(l, th, row);
	th->open = false;
	th->beyond_ns = LOOPS_NEVER;
	find_median(th, &l->v.v[row->loop]);
	th->sure = th->sure_waited_ns = 0;
	if (row->is_next)
		begin_next(l, th, row);
	for (size_t i = 0; i < row->begins.n; i++) {
		struct loop_begin b = row->begins.v[i];

		if (b.ns < th->told_ns)
			continue;
		if (!b.anchored && b.from && !loop_row_begins(row, b.from, b.to, b.seen))
			continue;
		loops_tell(l, th, b);
	}
	if (row->caller < 0 && row->beyond_ns && row->beyond_ns > th->step.ns)
		th->beyond_ns = row->beyond_ns;
	row->begins.n = 0;
}

void loops_tell_end(struct loops *l, struct loops_thread *th, int64_t ns)
{
	struct loop_begin end = { .ns = ns,
				  .left_ns = LOOPS_NEVER,
				  .calls = th->calls,
				  .idle_ns = th->idle_ns,
				  .waited_ns = th->waited_ns };
	const struct loop_row *over = &th->rows[th->current];

	end.interrupted = th->open ? loops_missing(l, th->node, th->step.ns, ns) : 0;
	if (th->open)
		emit_step(l, th, &end, ns);
	th->open = false;
	th->current = -1;
	th->phase_calls = th->calls;
	forget_begins(l, th, over, ns);
}

int64_t loops_left_ns(const struct loops_thread *th)
{
	const struct loop_row *row = &th->rows[th->current];
	int64_t left = row->left_ns, task = loops_tasks_left_ns(th, row);
	const struct loop_level *level = &th->levels[row->depth];

	if (row->line && th->nlevels > row->depth && level->path == row->above[row->depth].path &&
	    is_in_loop(th, row, level->gap_first, level->gap_last))
		left = LOOPS_NEVER;
	else if (row->caller >= 0)
		left = loops_called_left_now(th, row);
	else if (th->beyond_ns < left)
		left = th->beyond_ns;
	return left < task ? left : task;
}

int64_t loops_end_ns(const struct loops *l, struct loops_thread *th)
{
	const struct loop_row *row = &th->rows[th->current];
	int64_t left = loops_left_ns(th);

	/* A step that waits to the end ends there, if that took longer than many. It is none if
	 * nothing was seen of it before. */
	if (left == LOOPS_NEVER && th->open && th->unended_ns != LOOPS_NEVER &&
	    th->unended_ns >= th->step.ns &&
	    th->last_ns - th->unended_ns > patience_of(&l->v.v[row->loop])) {
		th->open = th->before_ns > th->step.ns;
		return th->open ? th->unended_ns : th->step.ns;
	}
	/* An interpreter that ends executes no Python for long. */
	if (left == LOOPS_NEVER && th->lines_ns > th->step.ns &&
	    th->last_ns - th->lines_ns > patience_of(&l->v.v[row->loop]))
		left = th->lines_ns;
	/* Of a loop around a function what followed the last call of it is no part of a step if it
	 * took longer than many. */
	if (left == LOOPS_NEVER && row->caller >= 0 && row->left_ns != LOOPS_NEVER &&
	    th->last_ns - row->left_ns > patience_of(&l->v.v[row->loop]))
		left = row->left_ns;
	return left == LOOPS_NEVER ? th->last_ns : left;
}

void loops_check_left(struct loops *l, struct loops_thread *th, int64_t ns)
{
	const struct loop_row *row = &th->rows[th->current];
	int64_t left = loops_left_ns(th);

	if (left != LOOPS_NEVER && ns - left > patience_of(&l->v.v[row->loop]))
		loops_tell_end(l, th, left);
}
