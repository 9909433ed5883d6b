/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of time in which a thread made one step after another.
 */
#ifndef INGERO_TRACKS_STEP_RUNS_H
#define INGERO_TRACKS_STEP_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/tracks/course.h"
#include "lib/loops/loops.h"

struct step_run {
	int64_t begin_ns, end_ns;
};

/* Runs of a thread in order of time. Zero-initialised is empty. */
struct step_runs {
	uint32_t thread; /* world id */
	uint64_t steps;
	VEC(struct step_run) v;
	struct course course; /* of its steps, 1 for each */
};

/* More runs than this become one with what lies between them. */
#define STEP_RUNS_MAX 4096

/* The next step, in order of time. False: out of memory. */
bool step_runs_add(struct step_runs *r, int64_t begin_ns, int64_t end_ns);

/* Where a time lies, and until when that holds (INT64_MAX: for ever). */
enum step_place { STEP_BEFORE, STEP_WITHIN, STEP_BETWEEN, STEP_BEHIND };
enum step_place step_runs_find(const struct step_runs *r, int64_t ns, int64_t *until_ns);

/* The loop by whose steps a thread's time is split: its own, unless that is next to nothing of the
 * time of another one; else the one of its process that took longest, of those that make calls: a
 * loop of another thread without calls is no step of the program. v: the n loops' runs. -1: there
 * is none. */
int step_runs_choose(const struct step_runs *v, size_t n, const struct world *w,
		     const struct loops *l, uint32_t thread, uint32_t process);

#endif
