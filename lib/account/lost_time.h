/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was taken from processes on their critical paths, by kind and by who took it: what findings
 * of lost time are about. The milliseconds are those of the tracks (lib/tracks/track.h), which sum
 * to the life of a thread; nothing here adds to them. While a recording is followed all of a track
 * counts; in the end, where its steps are known, the steps and what is between them.
 */
#ifndef INGERO_ACCOUNT_LOST_TIME_H
#define INGERO_ACCOUNT_LOST_TIME_H

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/account/idle_shares.h"
#include "lib/account/loss_crowd.h"
#include "lib/account/step_stalls.h"
#include "lib/account/thread_ledger.h"
#include "lib/account/where.h"
#include "lib/tracks/track.h"
#include "lib/event/part.h"

/* What findings grow from. LOSS_CPU: taking turns on a CPU, whether the victim was running or
 * waking. */
enum loss_family {
	LOSS_CPU,
	LOSS_THROTTLED,
	LOSS_LOCK,
	LOSS_DISK,
	LOSS_STOPPED,
	LOSS_MEMORY,
	LOSS_PAGES,
	LOSS_IDLE,
	LOSS_FAMILIES
};

/* Of LOSS_IDLE, whose device had nothing to do: what the program did meanwhile, as bits beside an
 * enum part. */
#define LOSS_STATE   0xff  /* enum part */
#define LOSS_BESIDE  0x100 /* not the thread itself: the one it waited for, which is the culprit */
#define LOSS_AT_MOST 0x200 /* the device may have had work: no call ever waited for it */
#define LOSS_RAN_OUT 0x400 /* a wait that nobody ended: its time ran out */
#define LOSS_WRITES  0x800 /* a wait for somebody to take what was written */
#define LOSS_OUTSIDE \
	0x1000 /* a wait for a socket or descriptors: whether somebody was asked is not known */
#define LOSS_PACED	0x2000 /* sleeps that make up for the work between them */
#define LOSS_EVENT_LOOP 0x4000 /* an event loop had nothing to do; the place is the task's next */
#define LOSS_POLLS	0x8000 /* sleeps until what is polled for has come */

/* Of the own code of a thread: what it is known to do, as enum known_work. */
#define LOSS_WORK_SHIFT 16

/* Of LOSS_CPU: threads of the program that the path needs had the CPU (loss_crowd.h). */
#define LOSS_TURNS 0x4000

#define LOST_TIME_MAX 65536 /* beyond, takers are not told apart: nobody to name */
#define LOSS_WORST    3
#define LOSS_AMOUNTS  64 /* told apart in one of a culprit */
#define LOSS_VIA      8

/* Of one anchor. */
struct loss_thread {
	uint32_t anchor;
	uint64_t ns, idle_ns;		/* idle_ns: of it, while the device had nothing to do */
	uint64_t step_ns, step_idle_ns; /* of these, in steps and not between them */
	struct tally_pane
		*panes; /* TALLY_PANES; NULL: of the end, or of a process that ended long ago */
};

/* An interval, or a call, that shows it: the event. */
struct loss_moment {
	int64_t end_ns;
	uint64_t dur_ns, lost_ns; /* lost_ns 0: there is none */
	uint32_t thread, stack;
	uint16_t op;
	uint16_t part;
};

/* What there was of each of several. */
struct loss_amounts {
	VEC(struct loss_amount {
		uint32_t id;
		uint64_t ns;
	})
	of;
};

struct loss {
	uint32_t process, culprit; /* culprit: base id; 0: several, or not known */
	enum loss_family family;
	unsigned sort; /* LOSS_IDLE, LOSS_CPU: as above; else 0 */
	uint64_t ns, count, idle_ns;
	struct loss_state {
		uint64_t ns; /* 0: there is none */
		enum part part;
	} states[2]; /* a family has no more */
	int64_t first_ns, last_ns;
	VEC(struct loss_thread) threads;
	uint64_t longest_ns; /* from LOSS_STOPPED on: at a stretch */
	uint32_t leaf;	     /* whose that was */
	union {
		struct {
			uint64_t compact_ns, swap_ns, file_ns; /* of it */
		} memory;				       /* LOSS_MEMORY */
		struct {
			uint64_t waits;	      /* of the anchor's; count: stretches */
			uint64_t measured_ns; /* of it, in gaps that were seen */
			uint64_t unended_ns;  /* of it, in a gap to the end */
			int64_t unended_since_ns;
			uint64_t early_ns; /* of what Python does besides: in the first steps
					      (loss_early.h) */
			uint64_t added_ns; /* of sleeps: known to be added to the work */
			struct poll poll;  /* LOSS_POLLS: of most of it */
			/* It is all of these stalls of its steps, as for the most part it is not
			 * known whether a device had work meanwhile; idle_ns: when it had none. Of
			 * the end. */
			bool whole;
			bool partly;	     /* code that for the most part lies beside gaps */
			struct {	     /* LOSS_BESIDE: where the culprit was for most of it */
				uint64_t ns; /* more than elsewhere */
				uint32_t frame;
			} line;
		} idle; /* LOSS_IDLE */
	} of;
	uint64_t beside_ns; /* of ns: of threads that the anchors waited for */
	struct loss_moment intervals[LOSS_WORST]; /* most lost first */
	struct loss_moment calls[LOSS_WORST];	  /* the same */
	struct loss_amounts takers;		  /* culprits */
	struct loss_amounts elsewhere; /* other processes, which the anchors waited for */
	VEC(uint32_t)
	via;	      /* threads that had a lock the victim wanted when it was taken from them */
	bool outside; /* none of it is in the steps: its report is about the rest */
	/* findings: see detect/settle.c */
	uint32_t revision; /* 0: never told */
	uint64_t told_ns;
	uint32_t severity;
	const char *kind;
	double worst_share; /* largest share it ever took in a window */
};

/* What tells losses apart. */
static inline uint64_t loss_key(const struct loss *x)
{
	return hash_u64((uint64_t)x->process << 32 | x->culprit) ^
	       hash_u64((uint64_t)x->sort << 8 | (x->family + 1u));
}

static inline uint64_t loss_part_ns(const struct loss *x, enum part part)
{
	return x->states[0].part == part   ? x->states[0].ns
	       : x->states[1].part == part ? x->states[1].ns
					   : 0;
}

static inline bool loss_polls(const struct loss *x)
{
	return x->family == LOSS_IDLE && x->sort & LOSS_POLLS;
}

/* How much of it is gained at most without it: what is polled for comes no sooner. */
static inline double loss_gain_share(const struct loss *x)
{
	return loss_polls(x) ? poll_gain(&x->of.idle.poll) : 1;
}

struct loss_gaps;

/* Of a process. */
struct loss_process {
	uint64_t ns, unnamed_ns; /* all that was taken; of nobody to name */
	uint64_t span_ns; /* of the anchor with most of it, what shares are of; 0: of wall time */
	uint32_t cgroup;  /* world id, as long as its thread was known; 0 not known */
	bool dropped;	  /* nothing is kept of some of its tracks */
	bool pages_told;  /* its waits for pages of files were, as such */
	struct loss_gaps *gaps; /* of its devices (loss_gaps.h); NULL: none, or it ended long ago */
	VEC(uint32_t) at;	/* positions of its losses */
};

/* A part of an anchor's track that is of a loss: what a replay leaves out (gains.h). */
struct loss_mark {
	uint32_t loss; /* position */
	uint32_t anchor, number;
};

/* Zero-initialised is empty. */
struct lost_time {
	bool in_steps;	 /* what is added now */
	unsigned window; /* the same: enum track_window */
	uint64_t steps;	 /* the same: so many; 0: not in steps, or not known */
	bool partial;	 /* calls that give devices work were left out: gaps are such at most */
	VEC(struct loss) v;
	VEC(uint32_t) unused; /* positions */
	VEC(struct loss_process) processes;
	struct map by;
	struct map ran, awaited;	/* world thread id -> ns (loss_behind.h) */
	struct map background;		/* world thread ids (loss_background.h) */
	struct where where;		/* by position */
	int64_t pane;			/* that what grows is counted in */
	struct loss several;		/* lost_several.h */
	VEC(struct loss_mark) marks;	/* of the end */
	VEC(struct loss_crowd) crowds;	/* the same */
	struct map counted;		/* the same: in one wait, or in steps (loss_times.h) */
	struct idle_shares idle_shares; /* the same */
	struct step_stalls step_stalls; /* the same */
};

struct cause;

/* An interval of a thread off its CPU, or a call, of which somebody took something: it may be one
 * that shows that. False: out of memory. */
bool lost_time_moment(struct lost_time *l, struct cause *c, const struct line_piece *p);

/* What the tracks have got since, as of this second. False: out of memory. */
bool lost_time_grow(struct lost_time *l, struct cause *c, int64_t pane);

/* The tracks are finished: all of it anew, of steps where there are some. False: out of memory. */
bool lost_time_finish(struct lost_time *l, struct cause *c);

/* Of the last TALLY_PANES seconds up to and including pane, or (INT64_MAX) of all: most of one
 * anchor. */
uint64_t loss_worst_ns(const struct loss *x, int64_t pane);
/* The anchor with most of it; NULL: none has any. */
const struct loss_thread *loss_worst_thread(const struct loss *x);

static inline const struct loss_process *lost_time_process(const struct lost_time *l,
							   uint32_t process)
{
	static const struct loss_process none;

	return process < l->processes.n ? &l->processes.v[process] : &none;
}

/* The process ended long ago: what was not told of it makes room. False: out of memory. */
bool lost_time_forget(struct lost_time *l, uint32_t process);

void lost_time_free(struct lost_time *l);

/* For lost_several.c: what the anchor lost in it, at first nothing (NULL: out of memory); a moment
 * that is kept if it is one of the worst; more time in a state; more of one of several (false: out
 * of memory); what it holds is released. */
struct loss_thread *loss_thread_of(struct loss *x, uint32_t anchor);
void loss_moment_add(struct loss_moment *v, const struct loss_moment *m);
void loss_state_add(struct loss *x, enum part part, uint64_t ns);
bool loss_amount_add(struct loss_amounts *s, uint32_t id, uint64_t ns);
void loss_free(struct loss *x);

#endif
