/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One figure is one line, "bench: NAME VALUE UNIT"; a ratio has the unit x. NAMES in the
 * environment holds globs of the figures wanted ("ige.* stat.*"; none: all). Times are CPU time of
 * a process. A fixed piece of work is timed in front of every run (calibration_ns), so that a slow
 * phase of the machine shows and runs can be compared with each other.
 */
#ifndef INGERO_TESTS_BENCH_H
#define INGERO_TESTS_BENCH_H

#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double bench_cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline bool bench_wanted(const char *name)
{
	const char *names = getenv("NAMES");
	char copy[512], *at, *glob;

	if (!names || !*names)
		return true;
	snprintf(copy, sizeof(copy), "%s", names);
	for (glob = strtok_r(copy, " ", &at); glob; glob = strtok_r(NULL, " ", &at))
		if (fnmatch(glob, name, 0) == 0)
			return true;
	return false;
}

/* A figure that cannot be had on this machine. */
static inline void bench_skip(const char *name, const char *why)
{
	if (bench_wanted(name))
		printf("bench: %s SKIP %s\n", name, why);
	fflush(stdout);
}

static inline void bench_say(const char *name, double value, const char *unit)
{
	if (bench_wanted(name))
		printf("bench: %s %.4g %s\n", name, value, unit);
	fflush(stdout);
}

/* A multiply and a dependent load from 64 KiB per step: what decoding feels of a machine's mood. */
static inline double bench_calibrate_ns(void)
{
	static uint32_t table[1 << 14];
	uint64_t x = 1;
	double best = 1e9;

	for (uint32_t i = 0; i < 1 << 14; i++)
		table[i] = i * 2654435761u;
	for (int round = 0; round < 5; round++) {
		double from = bench_cpu_s(), ns;

		for (int i = 0; i < 4000000; i++)
			x = x * 6364136223846793005u + table[x >> 50];
		ns = (bench_cpu_s() - from) * 1e9 / 4000000;
		if (ns < best)
			best = ns;
	}
	/* Using x keeps the loop. */
	return best + (x == 42 ? 1e-9 : 0);
}

static inline uint64_t bench_events(uint64_t otherwise)
{
	const char *text = getenv("EVENTS");

	return text ? strtoull(text, NULL, 10) : otherwise;
}

#endif
