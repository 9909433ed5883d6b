/* SPDX-License-Identifier: Apache-2.0 */
/* Which stretches of a cause are told by themselves: one, or several that are alike. */
#include "tests/tap.h"

#include "lib/tracks/single_stall.h"

#define US 1000ull
#define MS 1000000ull

/* What is usual decides whether a stretch is slow. */
static void slow_once(void)
{
	struct path_cause c = { .class = PATH_CALL, .longest_ns = 250 * MS };

	ok(once_is_told(&c, 2000 * MS, 2 * MS), "250 ms of 2 s, a step takes 2 ms");
	ok(!once_is_told(&c, 20000 * MS, 2 * MS), "but not of 20 s");
	ok(!once_is_told(&c, 2000 * MS, 30 * MS), "nor where a step takes 30 ms");
	ok(!once_is_told(&c, 2000 * MS, 0), "nor where it is not known what is usual");
	c.longest_ns = 9 * MS;
	ok(!once_is_told(&c, 90 * MS, 10 * US), "nor 9 ms");
	c = (struct path_cause){ .class = PATH_DEMAND, .longest_ns = 250 * MS };
	ok(!once_is_told(&c, 2000 * MS, 2 * MS), "nor time in which nobody asked");
}

static void slow_again(void)
{
	struct path_cause c = { .class = PATH_CALL, .nlongs = 16, .longest_ns = 30 * MS };

	c.longs.ns = 320 * MS;
	ok(repeated_is_told(&c, 4000 * MS, 1 * MS), "320 ms of 4 s");
	ok(!repeated_is_told(&c, 7000 * MS, 1 * MS), "but not of 7 s");
	ok(!repeated_is_told(&c, 4000 * MS, 3 * MS), "nor where a piece takes 3 ms");
	c.longest_ns = 220 * MS;
	ok(!repeated_is_told(&c, 4000 * MS, 1 * MS), "nor where one of them is told");
	c.nlongs = 3;
	ok(!repeated_is_told(&c, 4000 * MS, 1 * MS) && once_is_told(&c, 4000 * MS, 1 * MS),
	   "one of three is most of it: that one is told");
	c.longs.ns = 430 * MS;
	c.longest_ns = 220 * MS;
	c.nlongs = 2;
	ok(repeated_is_told(&c, 4000 * MS, 1 * MS) && !once_is_told(&c, 4000 * MS, 1 * MS),
	   "two that are alike: both are");
}

int main(void)
{
	slow_once();
	slow_again();
	return tap_done();
}
