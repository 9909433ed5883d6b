/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle time that is thinned: which readings are written, and that straight lines between them are
 * right within two ticks at every reading that was left out, however a CPU came and went.
 */
#include "lib/host/idle.h"

#include <stdlib.h>

#include "tests/tap.h"

#define TICK_NS	  10000000u
#define SECOND_NS 1000000000ll
#define READINGS  400

/* Of one CPU: each second, how many ticks it idled in it; what is written of them, as seconds. */
static const struct {
	const char *name;
	unsigned n;
	unsigned grown[12];
	unsigned written, at[12];
} rows[] = {
	{ "one that idles", 5, { 0, 100, 100, 99, 100 }, 2, { 0, 4 } },
	{ "one that is busy", 5, { 0, 0, 0, 0, 0 }, 2, { 0, 4 } },
	{ "one that does both", 4, { 0, 50, 51, 3 }, 4, { 0, 1, 2, 3 } },
	{ "a bend is written when it is over", 6, { 0, 100, 100, 0, 0, 100 }, 4, { 0, 2, 4, 5 } },
	{ "and once before a mixture", 5, { 0, 100, 100, 40, 100 }, 4, { 0, 2, 3, 4 } },
	{ "after ten seconds it is written in any case",
	  12,
	  { 0, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100 },
	  3,
	  { 0, 10, 11 } },
};

/* Takes them all; how many were written, at out. */
static unsigned thin(const struct host_idle_point *in, unsigned n, struct host_idle_point *out)
{
	struct host_idle cpu = { 0 };
	unsigned written = 0;

	for (unsigned i = 0; i < n; i++)
		written += host_idle_next(&cpu, &in[i], TICK_NS, out + written);
	return written + host_idle_rest(&cpu, out + written);
}

static void test_rows(void)
{
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct host_idle_point in[12], out[24];
		uint64_t ticks = 5000;
		unsigned n, bad = 0;

		for (unsigned i = 0; i < rows[r].n; i++)
			in[i] = (struct host_idle_point){ i * SECOND_NS,
							  ticks += rows[r].grown[i] };
		n = thin(in, rows[r].n, out);
		for (unsigned i = 0; i < n && i < rows[r].written; i++)
			bad += out[i].time_ns != rows[r].at[i] * SECOND_NS;
		ok(n == rows[r].written && !bad, "%s: %u of %u are written", rows[r].name, n,
		   rows[r].n);
	}
}

/* Ticks at that time, on the line between those written around it. */
static double between(const struct host_idle_point *v, unsigned n, int64_t time_ns)
{
	unsigned i = 1;

	while (i + 1 < n && v[i].time_ns < time_ns)
		i++;
	return (double)v[i - 1].ticks + (double)(v[i].ticks - v[i - 1].ticks) *
						(double)(time_ns - v[i - 1].time_ns) /
						(double)(v[i].time_ns - v[i - 1].time_ns);
}

static void test_lines(void)
{
	static struct host_idle_point in[READINGS], out[2 * READINGS];
	unsigned bad = 0, backwards = 0, written = 0;

	srand(28);
	for (unsigned round = 0; round < 50; round++) {
		struct host_idle_point at = { 77, 1000 };
		unsigned n, how = 0;

		for (unsigned i = 0; i < READINGS; i++) {
			int64_t passed = SECOND_NS + rand() % 3000000;

			if (rand() % 8 == 0)
				how = (unsigned)rand() % 3;
			at.time_ns += passed;
			at.ticks += how == 0   ? 0
				    : how == 1 ? (uint64_t)passed / TICK_NS
					       : (unsigned)rand() % 100;
			in[i] = at;
		}
		n = thin(in, READINGS, out);
		written += n;
		for (unsigned i = 1; i < n; i++)
			backwards += out[i].time_ns <= out[i - 1].time_ns;
		for (unsigned i = 0; i < READINGS; i++) {
			double off = between(out, n, in[i].time_ns) - (double)in[i].ticks;

			bad += off > 2 || off < -2;
		}
	}
	is_u64(bad, 0, "lines between those written are right within two ticks");
	is_u64(backwards, 0, "in the order of their times");
	ok(written < 50 * READINGS * 3 / 4, "%u of %u are written", written, 50 * READINGS);
}

static void test_loose(void)
{
	struct host_idle cpu = { 0 };
	struct host_idle_point out[2];
	const struct host_idle_point first = { SECOND_NS, 500 }, less = { 2 * SECOND_NS, 490 };

	host_idle_next(&cpu, &first, TICK_NS, out);
	is_u64(host_idle_next(&cpu, &less, TICK_NS, out), 0, "a counter that steps back");
	ok(host_idle_rest(&cpu, out) && out[0].ticks == 500, "is taken to have stood still");
	ok(!host_idle_rest(&cpu, out), "and what is written is not left over");
}

int main(void)
{
	test_rows();
	test_lines();
	test_loose();
	return tap_done();
}
