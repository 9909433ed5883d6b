/* SPDX-License-Identifier: Apache-2.0 */
/* How a cause runs over the steps of a loop. */
#include "tests/tap.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/tracks/course.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

/* What a cause takes of step i of n, of which the rest is 2 ms. */
typedef int64_t cause_ns(unsigned i, unsigned n);

static int64_t from_the_middle(unsigned i, unsigned n)
{
	return i >= n / 2 ? 7 * MS : 0;
}

static int64_t at_first(unsigned i, unsigned n)
{
	return i < n / 4 ? 5 * MS : 0;
}

static int64_t always(unsigned i, unsigned n)
{
	(void)n;
	return 3 * MS + i % 7 * 100 * US;
}

static int64_t more_and_more(unsigned i, unsigned n)
{
	return 16 * MS * i / n;
}

static int64_t now_and_then(unsigned i, unsigned n)
{
	(void)n;
	return i % 25 == 24 ? 40 * MS : 0;
}

/* A third more in the second half is no growth. */
static int64_t a_little_more(unsigned i, unsigned n)
{
	return i < n / 2 ? 3 * MS : 4 * MS;
}

static const struct {
	const char *what;
	cause_ns *cause;
	unsigned steps;
	bool told_elsewhere; /* another line has it while this one has not: steps are alike */
	const char *text;
} rows[] = {
	{ "from the middle on", from_the_middle, 200, false, "from about step 101 on" },
	{ "from the middle of many", from_the_middle, 20000, false, "from about step 10001 on" },
	{ "in the first quarter", at_first, 200, false, "up to about step 50" },
	{ "in every step", always, 200, false, "" },
	{ "growing", more_and_more, 200, false,
	  "growing from 1.96 ms a step in the first quarter of the steps to 14.0 ms in the last" },
	{ "in every 25th step", now_and_then, 400, false, "" },
	{ "a little more", a_little_more, 200, false, "" },
	{ "steps that are alike", from_the_middle, 200, true, "" },
	{ "too few steps", from_the_middle, 30, false, "" },
};

static void try_row(size_t row)
{
	struct course steps = { 0 }, cause = { 0 };
	struct course_grid grid;
	float parts[COURSE_PARTS] = { 0 };
	struct buf text = { 0 };
	uint64_t ns = 0, pieces = 0;
	int64_t t = 1000 * MS;

	for (unsigned i = 0; i < rows[row].steps; i++) {
		int64_t took = rows[row].cause(i, rows[row].steps),
			all = 2 * MS + (rows[row].told_elsewhere ? 7 * MS : took);

		course_add(&steps, t, t + all, 1);
		if (took)
			course_add(&cause, t + MS, t + MS + took, (double)took);
		ns += (uint64_t)took;
		pieces += took != 0;
		t += all;
	}
	grid = course_grid_of(&steps);
	course_spread(&cause, &grid, ns, parts);
	course_print(&text, &(struct course_of){ parts, &grid, ns, pieces, rows[row].steps });
	is_str(buf_text(&text), rows[row].text, "%s", rows[row].what);
	buf_free(&text);
}

/* However the cells are, what is put in is in them. */
static void sums(void)
{
	struct course c = { 0 };
	double sum = 0;

	for (unsigned i = 0; i < 10000; i++)
		course_add(&c, i * 777 * US, (i * 777 + i % 5000) * US, 3);
	course_add(&c, -5 * MS, 0, 10);
	for (unsigned i = 0; i < COURSE_CELLS; i++)
		sum += (double)c.cells[i];
	is_near(sum, 30010, 1, "all that was added");
}

int main(void)
{
	sums();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		try_row(i);
	return tap_done();
}
