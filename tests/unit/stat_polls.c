/* SPDX-License-Identifier: Apache-2.0 */
/* Which sleeps are a poll: by how many come in a row, and what is between them. */
#include "tests/tap.h"

#include "lib/stat/polls.h"

#define MS   1000000ll
#define US   1000ll
#define RUNS 40

static const struct row {
	const char *name;
	unsigned times[4]; /* sleeps of each run in turn; 0: the last was the last */
	int64_t sleep_ns, look_ns;
	bool other; /* something else between the sleeps of a run */
	unsigned runs;
	bool polls;
} rows[] = {
	{ "sleeps of runs that differ", { 4, 6, 5, 8 }, 2 * MS, 50 * US, false, RUNS, true },
	{ "two or three in a row", { 2, 3, 2, 2 }, 2 * MS, 50 * US, false, RUNS, true },
	{ "three in a row each time", { 3 }, 2 * MS, 50 * US, false, RUNS, false },
	{ "one, now and then two", { 1, 1, 2, 1 }, 2 * MS, 50 * US, false, RUNS, false },
	{ "with work between", { 4, 6, 5, 8 }, 2 * MS, 400 * US, false, RUNS, false },
	{ "with a little work between long ones", { 4, 6, 5 }, 9 * MS, 400 * US, false, RUNS, true },
	{ "with calls between", { 4, 6, 5, 8 }, 2 * MS, 50 * US, true, RUNS, false },
	{ "too few runs", { 4, 6, 5, 8 }, 2 * MS, 50 * US, false, POLL_RUNS_LEAST, false },
};

static unsigned times_of(const struct row *r, unsigned run)
{
	unsigned n = 0;

	while (n < 4 && r->times[n])
		n++;
	return r->times[run % n];
}

static void check_row(const struct row *r)
{
	struct poll_sums sums = { 0 };
	struct poll poll;
	int64_t now = 5 * MS;
	uint64_t sleeps = 0;

	for (unsigned i = 0; i < r->runs; i++) {
		for (unsigned k = 0; k < times_of(r, i); k++) {
			polls_add(&sums, now, now + r->sleep_ns, now + r->sleep_ns,
				  k == 0 || r->other);
			now += r->sleep_ns + r->look_ns;
		}
		sleeps += i + 1 < r->runs ? times_of(r, i) : 0; /* the last may go on */
		now += 5 * MS;
	}
	poll = polls_verdict(&sums);
	is_u64(poll.interval_us, r->polls ? (uint64_t)(r->sleep_ns + r->look_ns) / 1000 : 0,
	       "%s: %s", r->name, r->polls ? "a poll" : "none");
	if (r->polls)
		ok((double)poll.times > (double)sleeps / (r->runs - 1) - 0.01 &&
			   (double)poll.times < (double)sleeps / (r->runs - 1) + 0.01,
		   "%g in a row", (double)poll.times);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
	return tap_done();
}
