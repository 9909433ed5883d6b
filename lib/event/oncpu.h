/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where threads used the CPU, by samples (ingero-record --cpu-samples): what ask/ finds out and
 * emit/ writes down. Plain values; the texts live as long as the question that was asked.
 */
#ifndef INGERO_EVENT_ONCPU_H
#define INGERO_EVENT_ONCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"

#define ONCPU_PLACES 5

/* A function, with the line most of its samples are in: "preprocess (train.py:41)", "burn
 * (libburn.so)". */
struct oncpu_place {
	struct bytes text;
	struct bytes caller; /* of most of them, " < Dataset.__getitem__"; empty: none has a name */
	struct bytes leaf;   /* what it had called in most of them, "gc_collect_main (python3.11)";
				empty: nothing */
	uint64_t count, inside; /* samples; of these, with a traced call open */
	uint64_t leaf_count;	/* of count, in leaf */
};

struct oncpu_thread {
	uint32_t thread; /* world id */
	uint32_t pid, tid;
	struct bytes name; /* its command */
	uint64_t wall_ns;  /* of the window, from the first to the last that is known of it */
	uint64_t count, inside;
	struct oncpu_place places[ONCPU_PLACES]; /* most first */
	uint32_t nplaces;
	uint64_t elsewhere; /* of count, in further functions */
	uint64_t nowhere;   /* of count, without a stack */
};

/* What is looked at: the steps of loops, or all of the recording. */
struct oncpu_window {
	bool steps;
	int64_t from_ns, until_ns; /* on the recording's clock */
};

struct oncpu {
	VEC(struct oncpu_thread) v; /* most first */
	struct oncpu_window window; /* samples of v lie in it */
	uint64_t count;		    /* all samples, those before and behind it too */
	uint64_t untold; /* of those, in no thread of v: there were too many different stacks */
	uint32_t hz;	 /* of each CPU's time; 0: not the same in all recordings, or not said */
};

#endif
