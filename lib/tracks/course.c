/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds amounts to cells, finds the times at which equal parts of the steps were done, and compares
 * what lies between these.
 */
#include "lib/tracks/course.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/timetext.h"

#define FIRST_SHIFT  18	 /* 0.26 ms */
#define STEPS_LEAST  32	 /* fewer have no course */
#define PIECES_LEAST 16	 /* fewer lie somewhere by chance */
#define KNOWN	     0.8 /* of its time: else the cells have too little of it */
/* Nearly all of it lies in at most so much of the steps, and is there in the whole of that. */
#define NEARLY_ALL   0.95
#define MOST_STEPS   0.75
#define STAYS	     0.5  /* of its mean there: in the last part, or the first one */
#define LONGER	     0.5  /* of what it takes: so much longer are the steps that have it */
#define GROWS	     1.8  /* times as much in the last quarter as in the first one */
#define NOT_SMALLER  0.95 /* of the quarter before */
#define GROWTH_LEAST 0.3  /* of the mean, from the first to the last */

static void join_cells(struct course *c)
{
	for (unsigned i = 0; i < COURSE_CELLS / 2; i++)
		c->cells[i] = c->cells[2 * i] + c->cells[2 * i + 1];
	memset(c->cells + COURSE_CELLS / 2, 0, sizeof(c->cells) / 2);
	c->shift++;
}

void course_add(struct course *c, int64_t from_ns, int64_t to_ns, double amount)
{
	int64_t first, last;

	if (!c->shift) {
		c->shift = FIRST_SHIFT;
		c->from_ns = from_ns;
	}
	first = from_ns > c->from_ns ? from_ns - c->from_ns : 0;
	last = to_ns > c->from_ns ? to_ns - c->from_ns : 0;
	while (last >> c->shift >= COURSE_CELLS)
		join_cells(c);
	if (first >> c->shift == last >> c->shift) {
		c->cells[first >> c->shift] += (float)amount;
		return;
	}
	for (int64_t i = first >> c->shift, at = first; i <= last >> c->shift; i++) {
		int64_t end = (i + 1) << c->shift < last ? (i + 1) << c->shift : last;

		c->cells[i] += (float)(amount * (double)(end - at) / (double)(last - first));
		at = end;
	}
}

static double sum_of(const struct course *c)
{
	double sum = 0;

	for (unsigned i = 0; i < COURSE_CELLS; i++)
		sum += (double)c->cells[i];
	return sum;
}

struct course_grid course_grid_of(const struct course *steps)
{
	struct course_grid grid = { { 0 } };
	double all = sum_of(steps), before = 0;
	unsigned part = 0;

	if (all < STEPS_LEAST)
		return grid;
	for (unsigned i = 0; i < COURSE_CELLS; i++) {
		double cell = (double)steps->cells[i];
		int64_t from = steps->from_ns + ((int64_t)i << steps->shift);

		for (; part <= COURSE_PARTS && cell > 0 &&
		       all * part / COURSE_PARTS <= before + cell * (1 + 1e-6);
		     part++)
			grid.begin_ns[part] =
				from + (int64_t)((all * part / COURSE_PARTS - before) / cell *
						 (double)(INT64_C(1) << steps->shift));
		before += cell;
	}
	for (; part && part <= COURSE_PARTS; part++)
		grid.begin_ns[part] = grid.begin_ns[part - 1];
	return grid;
}

/* What lies before then. */
static double sum_until(const struct course *c, int64_t ns)
{
	double sum = 0;

	for (unsigned i = 0; i < COURSE_CELLS; i++) {
		int64_t from = c->from_ns + ((int64_t)i << c->shift);
		double share = (double)(ns - from) / (double)(INT64_C(1) << c->shift);

		if (share <= 0)
			break;
		sum += (double)c->cells[i] * (share < 1 ? share : 1);
	}
	return sum;
}

void course_spread(const struct course *c, const struct course_grid *grid, uint64_t ns,
		   float parts[COURSE_PARTS])
{
	double all = sum_of(c), before;

	if (all <= 0 || grid->begin_ns[0] == grid->begin_ns[COURSE_PARTS])
		return;
	/* What lies before the first step and behind the last one is theirs, too. */
	before = 0;
	for (unsigned i = 0; i < COURSE_PARTS; i++) {
		double until = i + 1 < COURSE_PARTS ? sum_until(c, grid->begin_ns[i + 1]) : all;

		parts[i] += (float)((until - before) / all * (double)ns);
		before = until;
	}
}

static double sum_parts(const float parts[COURSE_PARTS], unsigned from, unsigned to)
{
	double sum = 0;

	for (unsigned i = from; i < to; i++)
		sum += (double)parts[i];
	return sum;
}

/* How long a part of the steps is there, on average. */
static double mean_length(const struct course_grid *g, unsigned from, unsigned to)
{
	return to > from ? (double)(g->begin_ns[to] - g->begin_ns[from]) / (to - from) : 0;
}

/* It is in [from, to) and nowhere else, and from one end of that to the other; and steps are longer
 * there. from is 0, or to the last one. */
static bool lies_in(const struct course_of *of, unsigned from, unsigned to)
{
	double all = sum_parts(of->parts, 0, COURSE_PARTS), in = sum_parts(of->parts, from, to),
	       mean = in / (to - from),
	       elsewhere = from ? mean_length(of->grid, 0, from)
				: mean_length(of->grid, to, COURSE_PARTS);

	return in >= NEARLY_ALL * all && sum_parts(of->parts, from, from + 2) >= 2 * STAYS * mean &&
	       sum_parts(of->parts, to - 2, to) >= 2 * STAYS * mean &&
	       mean_length(of->grid, from, to) - elsewhere >= LONGER * mean;
}

static void print_growth(struct buf *out, const struct course_of *of)
{
	enum { QUARTER = COURSE_PARTS / 4, LAST = COURSE_PARTS - QUARTER };
	double quarters[4], mean = sum_parts(of->parts, 0, COURSE_PARTS) / 4, grown;
	char from[48], to[48];

	for (unsigned i = 0; i < 4; i++) {
		quarters[i] = sum_parts(of->parts, i * QUARTER, (i + 1) * QUARTER);
		if (i && quarters[i] < NOT_SMALLER * quarters[i - 1])
			return;
	}
	grown = quarters[3] - quarters[0];
	if (quarters[3] < GROWS * quarters[0] || quarters[2] < quarters[0] + GROWTH_LEAST * mean ||
	    quarters[3] < quarters[1] + GROWTH_LEAST * mean ||
	    mean_length(of->grid, LAST, COURSE_PARTS) - mean_length(of->grid, 0, QUARTER) <
		    LONGER * grown / QUARTER)
		return;
	buf_printf(
		out, "growing from %s a step in the first quarter of the steps to %s in the last",
		duration_text(from, sizeof(from), (uint64_t)(4 * quarters[0] / (double)of->steps)),
		duration_text(to, sizeof(to), (uint64_t)(4 * quarters[3] / (double)of->steps)));
}

void course_print(struct buf *out, const struct course_of *of)
{
	const unsigned most = (unsigned)(MOST_STEPS * COURSE_PARTS);

	if (of->steps < STEPS_LEAST || of->pieces < PIECES_LEAST ||
	    sum_parts(of->parts, 0, COURSE_PARTS) < KNOWN * (double)of->ns)
		return;
	/* The shortest stretch first: two parts and more. */
	for (unsigned n = 2; n <= most; n++) {
		if (lies_in(of, COURSE_PARTS - n, COURSE_PARTS)) {
			buf_printf(out, "from about step %" PRIu64 " on",
				   of->steps * (COURSE_PARTS - n) / COURSE_PARTS + 1);
			return;
		}
		if (lies_in(of, 0, n)) {
			buf_printf(out, "up to about step %" PRIu64, of->steps * n / COURSE_PARTS);
			return;
		}
	}
	print_growth(out, of);
}
