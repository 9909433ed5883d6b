/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the workloads share: options, the CUDA functions by dlopen (called at once, no sleep before
 * the first call), clocks, and the truth each prints as one JSON line to standard output or --truth
 * FILE.
 */
#ifndef TESTS_DOUBLE_WORK_H
#define TESTS_DOUBLE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/double/types.h"

/* Every workload also takes --lib NAME, --truth FILE, --comm NAME and --cpu N. */
struct work_option {
	const char *name; /* without the dashes */
	enum { WORK_U64, WORK_TEXT, WORK_FLAG, WORK_LIST } type;
	void *to; /* uint64_t, const char *, bool, struct work_list */
	const char *help;
};

#define WORK_LIST_MAX 64

struct work_list {
	const char *v[WORK_LIST_MAX];
	size_t n;
};

/*
 * Ends the process with a message when the command line is wrong. The options end with a NULL name.
 */
void work_options(int argc, char **argv, const char *what, const struct work_option *options);

struct work_cuda {
#define API(name, params) int(*name) params;
#include "tests/double/work/cuda.def"
};

/*
 * lib NULL: --lib, else libcudart.so.13. A name the library lacks stays NULL. Ends the process when
 * it cannot load.
 */
void work_cuda_open(struct work_cuda *c, const char *lib);

uint64_t work_now(void); /* CLOCK_MONOTONIC, ns */
long work_tid(void);
uint64_t work_cpu_now(void); /* this thread's CPU time, ns */
/*
 * Uses exactly that much CPU time of this thread, however long that takes. Named in stacks as
 * work_burn.
 */
void work_burn(uint64_t cpu_ns);
void work_sleep_until(uint64_t ns);
void work_pin(int64_t cpu); /* this thread; negative: leave it */

/*
 * The kernel's accounting of this thread, and the time by work_now: of one moment, since it did not
 * leave its CPU from the first figure to the last (unless it is traced). What it ran is of its CPU
 * clock, which schedstat tells as of the last tick, the rest of /proc/thread-self/schedstat.
 */
struct work_sched {
	uint64_t at_ns, cpu_ns, run_delay_ns, slices;
};
void work_sched_read(struct work_sched *s);

/* The truth line: open, print members with fprintf (comma first), close with the newline. */
FILE *work_truth_open(const char *workload);
void work_truth_sched(FILE *f, const struct work_sched *before, const struct work_sched *after);
void work_truth_close(FILE *f);

_Noreturn void work_die(const char *what);

/* Starts this program again with other arguments; the path keeps the command name. */
_Noreturn void work_exec_self(char *const argv[]);

#endif
