/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the double knows about itself: one counter per exported function, with its planned failures
 * and delays; what was counted is in a file of its own with $DOUBLE_COUNTS. The counters live in
 * libcuda; a runtime copy asks for its own by name through double_counter(), so one process writes
 * one line whatever copies of the runtime it loads. Times run from the first to the last
 * instruction of the body, by CLOCK_MONOTONIC, and are only read when $DOUBLE_LOG asks for them.
 */
#ifndef TESTS_DOUBLE_TRUTH_H
#define TESTS_DOUBLE_TRUTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* "every Nth call", "call N", "calls after N"; nothing set: every call. */
struct when {
	uint64_t every, at, after;
};

/* What is counted of one function: 128 bytes, so that no two share a cache line; support.py reads
 * them. */
struct tally {
	char name[96];
	_Atomic uint64_t count, errors, total_ns;
	uint64_t unused;
};

struct counter {
	const char *name;
	struct tally *tally; /* set when it is registered */
	struct counter *next;
	bool timed;   /* somebody will read the times */
	bool planned; /* it fails or spins on some calls */
	int fail_code;
	struct when fail_when;
	uint64_t spin_ns; /* CPU time burnt in the call */
	struct when spin_when;
};

struct call {
	struct counter *counter;
	uint64_t start_ns;
	int failed; /* the code it was told to fail with, 0 none */
};

/* The counter of an exported name, made at the first request. Threads may ask at once. */
struct counter *double_counter(const char *name);
/* Registers a counter that lives in the library itself and reads its plan from the environment. */
void truth_register(struct counter *c);
/* plan.c: reads the counter's plan from the environment. */
void plan_read(struct counter *c);
/* Burns the planned CPU time of call number n and returns the code it must fail with, 0 none. */
int plan_run(struct counter *c, uint64_t n);

static inline uint64_t truth_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline struct call truth_enter(struct counter *c)
{
	struct call call = { .counter = c };
	uint64_t n = atomic_fetch_add_explicit(&c->tally->count, 1, memory_order_relaxed) + 1;

	if (c->timed)
		call.start_ns = truth_now();
	if (c->planned)
		call.failed = plan_run(c, n);
	return call;
}

static inline void truth_leave(struct call *call, int rc)
{
	struct counter *c = call->counter;

	if (rc)
		atomic_fetch_add_explicit(&c->tally->errors, 1, memory_order_relaxed);
	if (c->timed)
		atomic_fetch_add_explicit(&c->tally->total_ns, truth_now() - call->start_ns,
					  memory_order_relaxed);
}

#endif
