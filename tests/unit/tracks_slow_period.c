/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether slow steps come in equal distances: as they do where a program validates every so often,
 * and not where they are slow by chance.
 */
#include "lib/tracks/slow_period.h"

#include "tests/tap.h"
#include "tests/unit/events.h"

#define USUAL (10 * MS)

/* How long a step takes. */
static int64_t tenth(uint64_t n)
{
	return n % 10 ? USUAL : 30 * MS;
}

static int64_t tenth_and_others(uint64_t n)
{
	return n == 1 || n == 77 ? 80 * MS : tenth(n);
}

static int64_t few(uint64_t n)
{
	return n % 60 == 7 ? 200 * MS : n % 23 ? USUAL : 16 * MS;
}

static int64_t second(uint64_t n)
{
	return n % 2 ? USUAL : 30 * MS;
}

static int64_t chance(uint64_t n)
{
	return n * n % 101 == 5 ? 30 * MS : USUAL;
}

/* As many are a little slower in the same place, and only the slowest are kept. */
static int64_t alternate(uint64_t n)
{
	return USUAL + (n % 50 ? 0 : 8 * MS) + (n % 2 ? 0 : 10 * US);
}

static int64_t equal(uint64_t n)
{
	return USUAL + (int64_t)(n % 7) * US;
}

static int64_t once(uint64_t n)
{
	return n == 40 || n == 60 || n == 80 ? 90 * MS : USUAL;
}

static const struct row {
	const char *name;
	int64_t (*length)(uint64_t n);
	uint64_t steps, every;
	int64_t ns;
} rows[] = {
	{ "every tenth", tenth, 400, 10, 30 * MS },
	{ "every tenth of few", tenth, 60, 10, 30 * MS },
	{ "every tenth, and the first and another one", tenth_and_others, 400, 10, 30 * MS },
	{ "long ones, and shorter ones at other places", few, 400, 60, 200 * MS },
	{ "every second", second, 400, 2, 30 * MS },
	{ "by chance", chance, 400, 0, 0 },
	{ "the slowest of many that are alike", alternate, 10000, 50, 18 * MS + 10 * US },
	{ "all are equal", equal, 400, 0, 0 },
	{ "three times", once, 400, 0, 0 },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct step_stats s = { 0 };
		struct loop l = { 0 };
		struct slow_period p;
		int64_t now = 0;

		for (uint64_t n = 1; n <= rows[i].steps; n++) {
			int64_t end = now + rows[i].length(n);

			if (!step_stats_add(&s, &(struct loop_step){ .number = n,
								     .begin_ns = now,
								     .end_ns = end,
								     .certain = true }) ||
			    !sketch_add(&l.dur, (uint64_t)(end - now)))
				return 1;
			now = end;
		}
		l.count = rows[i].steps;
		p = slow_period_of(&s, &l);
		is_u64(p.every, rows[i].every, "%s", rows[i].name);
		is_u64(p.ns, (uint64_t)rows[i].ns, "%s: so long", rows[i].name);
		step_stats_reset(&s);
		sketch_free(&l.dur);
	}
	return tap_done();
}
