/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of processes and threads: where their time went, by state, and what the host took of
 * it. Sums are exact. The state of a process can be dropped (account/ended.h): its sums stay, the
 * rest makes room.
 */
#ifndef INGERO_ACCOUNT_THREAD_LEDGER_H
#define INGERO_ACCOUNT_THREAD_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/attrib/culprit.h"
#include "lib/attrib/line.h"

#define TALLY_PANES   10
#define TALLY_PANE_NS 1000000000
#define TALLY_CPUS    256

struct tally_pane {
	int64_t pane;
	uint64_t ns;
	uint32_t count;
};

struct tally_process {
	uint32_t process, node, image; /* image: the last one seen in an event */
	bool seen, busy;	       /* busy: as of a thread, any of them */
	bool lived;		       /* first_ns and last_ns hold */
	bool begun;		       /* whatever cold-start keeps of its first calls it has */
	int64_t first_ns, last_ns;
	uint64_t calls;
	uint64_t launches,
		launches_ns;	 /* of these; how long they took but for what the host took */
	uint64_t host_ns;	 /* taken by the host */
	VEC(uint32_t) cpu_us;	 /* how long it waited for its turn where, TALLY_CPUS at most */
	uint64_t queued_us;	 /* on all of them */
	VEC(uint32_t) threads;	 /* world ids, in order of appearance */
	struct tally_gone *gone; /* of threads that were given up; NULL: none was */
	bool told;		 /* a finding about it was */
	bool hung;		 /* a finding about a call that does not return was reported */
	bool stuck;		 /* its steps stopped, and their thread waits to the end */
	bool exited;		 /* its first thread did */
};

/* What is left of threads. */
struct tally_gone {
	uint32_t thread; /* the first of them */
	uint64_t threads, calling_threads;
	uint64_t ns, calling_ns; /* sums of those below */
	uint64_t ns_by[PART_COUNT], calling_ns_by[PART_COUNT];
};

struct tally_thread {
	uint32_t process;
	bool seen;
	uint32_t ctx;		/* the last one seen */
	uint64_t calls, ns;	/* ns: sum of ns_by */
	bool busy;		/* it submitted work since it last waited for the device */
	uint64_t *ns_by;	/* PART_COUNT; NULL: not seen */
	uint32_t launches_left; /* until model-load takes it to run; 0: not counted */
};

static inline uint64_t tally_thread_part(const struct tally_thread *th, unsigned part)
{
	return th->ns_by ? th->ns_by[part] : 0;
}

/* Zero-initialised is empty, once culprits is set. */
struct tally {
	struct culprits *culprits;
	VEC(struct tally_process) processes; /* by world id */
	VEC(struct tally_thread) threads;    /* by world id */
	VEC(uint32_t) order;		     /* processes in order of appearance */
};

void tally_free(struct tally *t);

/* Give up all of a process but its sums. False: out of memory, and then it is as it was, or some of
 * it. */
bool tally_forget(struct tally *t, uint32_t process);

/* All its threads added up, those that are still kept and those that are not. */
void tally_threads_sum(const struct tally *t, const struct tally_process *p,
		       struct tally_gone *sum);
/* Of that, the time alone. */
uint64_t tally_threads_ns(const struct tally *t, const struct tally_process *p);

struct tally_process *tally_process_new(struct tally *t, uint32_t process);
struct tally_thread *tally_thread_new(struct tally *t, uint32_t process, uint32_t thread);

/* NULL: out of memory. */
static inline struct tally_process *tally_process(struct tally *t, uint32_t process)
{
	return process < t->processes.n && t->processes.v[process].seen
		       ? &t->processes.v[process]
		       : tally_process_new(t, process);
}

static inline struct tally_thread *tally_thread(struct tally *t, uint32_t process, uint32_t thread)
{
	return thread < t->threads.n && t->threads.v[thread].seen
		       ? &t->threads.v[thread]
		       : tally_thread_new(t, process, thread);
}

/* NULL: the ledger does not have it. */
static inline struct tally_process *tally_process_known(const struct tally *t, uint32_t process)
{
	return process < t->processes.n ? &t->processes.v[process] : NULL;
}

static inline struct tally_thread *tally_thread_known(const struct tally *t, uint32_t thread)
{
	return thread < t->threads.n && t->threads.v[thread].seen ? &t->threads.v[thread] : NULL;
}

/* An off-CPU interval: what the host took in it, and on which CPU it waited. */
bool tally_interval(struct tally *t, const struct line_piece *p);

/* Add to the second `pane` of a row of TALLY_PANES. */
void tally_pane_add(struct tally_pane *panes, int64_t pane, uint64_t ns, uint32_t count);

/* The last TALLY_PANES panes up to and including `pane`. */
uint64_t tally_window(const struct tally_pane *panes, int64_t pane, uint64_t *count);

#endif
