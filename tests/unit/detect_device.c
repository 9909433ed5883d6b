/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a device surely had nothing to do: outside of the stretches with work, and in those that
 * take longer than stretches with as many calls usually do.
 */
#include "tests/tap.h"

#include "lib/tracks/device_use.h"

#define US    INT64_C(1000)
#define MS    INT64_C(1000000)
#define OWNER 7

/* n stretches of 1 ms with three calls, one every 4 ms from 0 on; the last takes `last`. */
static void stretches(struct device_use *u, uint32_t subject, unsigned n, int64_t last)
{
	for (unsigned i = 0; i < n; i++) {
		int64_t at = (int64_t)i * 4 * MS;

		if (!device_use_change(u, subject, OWNER, at, true, 3 * i) ||
		    !device_use_change(u, subject, OWNER, at + (i + 1 < n ? MS : last), false,
				       3 * i + 3))
			abort();
	}
}

static void check_idle(struct device_use *u, int64_t from, int64_t to, int64_t want,
		       const char *name)
{
	is_near((double)device_use_idle_ns(u, 1, OWNER, from, to), (double)want, 0.07 * (double)MS,
		"%s", name);
}

int main(void)
{
	struct device_use u = { 0 };

	is_u64(device_use_idle_ns(&u, 1, OWNER, 0, MS), MS, "of one that submitted nothing: all");
	ok(!device_use_known(&u, 1), "nothing is known of it");
	stretches(&u, 1, 20, 9 * MS);
	ok(device_use_known(&u, 1), "it is known");
	is_u64(device_use_idle_ns(&u, 1, OWNER, -5 * MS, -4 * MS), MS, "before the first work");
	is_u64(device_use_idle_ns(&u, 1, OWNER, 2 * MS, 3 * MS), MS, "between two stretches");
	is_u64(device_use_idle_ns(&u, 1, OWNER, 4 * MS + 100 * US, 4 * MS + 900 * US), 0,
	       "in a usual one nothing is certain");
	is_u64(device_use_idle_ns(&u, 1, OWNER, 4 * MS + 500 * US, 6 * MS), MS,
	       "what lies behind it is");
	check_idle(&u, 76 * MS + 500 * US, 79 * MS, 5 * MS / 2,
		   "of 8 ms more than usual, 2.5 of them");
	check_idle(&u, 79 * MS, 85 * MS, 11 * MS / 2, "and no more than the rest of them");
	is_u64(device_use_idle_ns(&u, 1, OWNER, 80 * MS, 81 * MS), 0, "none is said twice");
	stretches(&u, 2, 3, 9 * MS);
	check_idle(&u, 90 * MS, 91 * MS, MS, "behind all of them");
	is_u64(device_use_idle_ns(&u, 2, 8, 9 * MS, 10 * MS), 0,
	       "of an owner of whom too little is known: nothing is certain");
	ok(device_use_change(&u, 1, OWNER, 3 * MS, true, 1000), "a time before the newest");
	is_u64(device_use_idle_ns(&u, 1, OWNER, 90 * MS, 91 * MS), MS, "is passed over");
	device_use_forget(&u, 1);
	ok(!device_use_known(&u, 1), "forgotten");
	for (unsigned i = 0; i < DEVICE_CHANGES_MAX + 10; i++)
		if (!device_use_change(&u, 3, OWNER, (int64_t)i * MS, !(i & 1), i))
			abort();
	is_u64(device_use_idle_ns(&u, 3, OWNER, 1 * MS, 2 * MS), 0,
	       "of changes that are gone nothing is certain");
	is_u64(device_use_idle_ns(&u, 3, OWNER, (DEVICE_CHANGES_MAX + 5) * MS,
				  (DEVICE_CHANGES_MAX + 6) * MS),
	       MS, "of the newest it is");
	device_use_free(&u);
	return tap_done();
}
