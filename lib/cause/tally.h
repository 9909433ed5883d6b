/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who took how much from whom, by the second. A row is one thread, one category and one culprit,
 * with the last TALLY_PANES seconds of event time kept apart; a group is what one finding is about:
 * one victim process, one family of causes, one culprit. Sums are exact; the number of rows, and with it of groups, is
 * bounded by TALLY_ROWS_MAX, beyond which takers are no longer told apart ("nobody to name"). What a process has in here
 * can be given up (cause/ended.h): its sums stay, its rows make room for those of others.
 */
#ifndef INGERO_CAUSE_TALLY_H
#define INGERO_CAUSE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/line/culprit.h"
#include "lib/line/line.h"

#define TALLY_PANES    10
#define TALLY_PANE_NS  1000000000
#define TALLY_ROWS_MAX 65536
#define TALLY_WORST    3
#define TALLY_CPUS     256

/* What kinds of findings grow from. FAMILY_CPU: taking turns on a CPU, whether the victim was running or waking. */
enum cause_family { FAMILY_CPU, FAMILY_THROTTLED, FAMILY_LOCK, FAMILY_DISK, FAMILY_COUNT };

enum cause_family family_of(enum part part); /* FAMILY_COUNT: none */

/* The event that shows it best, by key. */
struct tally_worst {
	int64_t end_ns;
	uint64_t dur_ns, lost_ns;
	uint32_t thread;
	uint16_t op;
	uint16_t part;
};

struct tally_pane {
	int64_t pane;
	uint64_t ns;
	uint32_t count;
};

struct tally_row {
	uint32_t thread, culprit, group; /* group: position, UINT32_MAX none */
	uint32_t part;
	uint32_t next; /* of the thread: position + 1 */
	uint64_t ns, count;
	/* Of ns, what certainly made its thread slower, nothing of it being hidden behind work of the device; and both of
	 * what was lost in steps (lib/line/steps.h). As far as calls and stretches outside calls ended. */
	uint64_t sure_ns, step_ns, step_sure_ns;
	struct tally_pane panes[TALLY_PANES];
};

/* Calls of one class that a group took time from, by how long they took: as they were, without all of it, and without what
 * is sure. Cells are those of cause/hist.h. */
struct tally_cell {
	uint32_t group, class_id;
	uint32_t cell;
	uint32_t next; /* of the group: position + 1 */
	uint32_t n[3];
	uint64_t sum_ns[3];
};
#define TALLY_CELLS_MAX 65536

/* What is known about a call or stretch besides: whether the device had nothing to do when it began, and whether it is in
 * a step. */
struct tally_when {
	bool idle, stepping;
};

/* One class and site that a group's culprit took time from. */
struct tally_hit {
	uint32_t class_id, site_id, group;
	uint64_t ns, count, max_ns;
	struct tally_worst worst;
};

struct tally_group {
	uint32_t process, culprit; /* culprit: base id; 0: all culprits of the family together */
	enum cause_family family;
	int64_t first_ns, last_ns;
	/* What a thread waits for a lock while a thread of the same process that has it is kept is that one's loss already: in
	 * the rows of both, here once. What is not lost (tally_moves_on) is in rows only. */
	uint64_t ns, count, part_ns[PART_COUNT];
	struct tally_pane panes[TALLY_PANES];
	struct tally_worst worst[TALLY_WORST]; /* intervals, longest first */
	VEC(uint32_t)
	cpu_us; /* how long the victim waited where, TALLY_CPUS at most: CPUs beyond are not kept */
	VEC(uint32_t) rows, hits; /* positions */
	uint32_t cells;		  /* first of them: position + 1 */
	/* findings: see cause/settle.c */
	uint32_t revision; /* 0: never told */
	uint64_t told_ns, told_count;
	uint32_t severity;
	const char *kind;
	double worst_share; /* largest share of wall it ever took in a window */
};

struct tally_process {
	uint32_t process, node, image; /* image: the last one seen in an event */
	bool seen, busy;	       /* busy: as of a thread, any of them */
	bool lived;		       /* first_ns and last_ns hold */
	bool begun;		       /* whatever cold-start keeps of its first calls it has */
	int64_t first_ns, last_ns;
	uint64_t calls;
	uint64_t launches,
		launches_ns; /* of these; how long they took but for what the host took */
	uint64_t host_ns;    /* taken by the host: of all families, and what belongs to none */
	uint64_t taken_ns[FAMILY_COUNT +
			  1]; /* that by family, with what belongs to none at the end */
	struct tally_pane (
		*taken_panes)[TALLY_PANES]; /* FAMILY_COUNT + 1 of them; NULL: nothing was taken */
	VEC(uint32_t) groups;
	VEC(uint32_t) threads;	 /* world ids, in order of appearance */
	struct tally_gone *gone; /* of threads that were given up; NULL: none was */
	bool told;		 /* a finding about it was */
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
	uint32_t ctx;	    /* the last one seen */
	uint64_t calls, ns; /* ns: sum of ns_by */
	bool busy;	    /* it submitted work since it last waited for the device */
	uint64_t scratch;
	uint64_t *ns_by;	/* PART_COUNT; NULL: not seen */
	uint32_t rows;		/* first of them: position + 1 */
	uint32_t launches_left; /* until model-load takes it to run; 0: not counted */
};

static inline uint64_t tally_thread_part(const struct tally_thread *th, unsigned part)
{
	return th->ns_by ? th->ns_by[part] : 0;
}

/* Zero-initialised is empty, once culprits is set. */
struct tally {
	struct culprits *culprits;
	VEC(struct tally_row) rows;
	VEC(struct tally_hit) hits;
	VEC(struct tally_cell) cells;
	VEC(struct tally_group) groups;
	VEC(struct tally_process) processes; /* by world id */
	VEC(struct tally_thread) threads;    /* by world id */
	VEC(uint32_t) order;		     /* processes in order of appearance */
	struct map row_by, hit_by, group_by, cell_by;
	VEC(uint32_t) unused_rows, unused_hits, unused_groups, unused_cells; /* positions */
};

void tally_free(struct tally *t);

/* Give up all of a process but its sums. False: out of memory, and then it is as it was, or some of it. */
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

/* NULL: it is not in the books. */
static inline struct tally_thread *tally_thread_known(const struct tally *t, uint32_t thread)
{
	return thread < t->threads.n && t->threads.v[thread].seen ? &t->threads.v[thread] : NULL;
}

/* Two threads that want a Python interpreter wait for each other, and that is one fact: lost is what the one that makes calls
 * waits for. While that one holds it, the program moves on, and what another waits is not lost to it. */
bool tally_moves_on(const struct tally *t, uint32_t thread, const struct line_culprit *holder);

/* Whether a thread of the process waited for another of it, which was kept by this one: that one's interval has ended before, and
 * is counted. */
bool tally_counted(const struct tally *t, uint32_t process, const struct line_culprit *c);

/* What of the row is lost, as things move on. */
static inline uint64_t tally_row_lost(const struct tally *t, const struct tally_row *r)
{
	return tally_moves_on(t, r->thread, culprit_get(t->culprits, r->culprit)) ? 0 : r->ns;
}

/* An off-CPU interval: rows of everything the host took in it. */
bool tally_interval(struct tally *t, const struct line_piece *p);

/* An outermost call or a stretch outside calls of this class and site. */
bool tally_hit(struct tally *t, const struct line_piece *p, uint32_t class_id, uint32_t site_id,
	       const struct tally_when *when);

/* The group's victim waited so long on that CPU, less than TALLY_CPUS. False: out of memory. */
bool tally_wait_at(struct tally_group *g, unsigned cpu, uint64_t us);

/* Add to the second `pane` of a row of TALLY_PANES. */
void tally_pane_add(struct tally_pane *panes, int64_t pane, uint64_t ns, uint32_t count);

/* The last TALLY_PANES panes up to and including `pane`. */
uint64_t tally_window(const struct tally_pane *panes, int64_t pane, uint64_t *count);

/* Keep w among the group's worst intervals when it belongs there. */
void tally_worst_add(struct tally_group *g, const struct tally_worst *w);

/* Most that any one thread of the victim lost to the group, in the window or (pane INT64_MAX) ever. */
uint64_t tally_group_worst_thread(struct tally *t, const struct tally_group *g, int64_t pane);

#endif
