/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes of lost time: the parts of a window by what happened and who did it, most time first. What
 * is work (own code, calls, the device) follows by line. Both lists together sum to the window.
 */
#ifndef INGERO_TRACKS_CAUSES_H
#define INGERO_TRACKS_CAUSES_H

#include "lib/tracks/track_names.h"
#include "lib/tracks/track_part.h"

#define PATH_CAUSE_LINES 5
/* Smaller ones share one line: of a window, and of the steps in it (critical-path.md, 3). */
#define PATH_CAUSE_SHARE 0.01

struct path_cause_line {
	/* World frame ids, with FRAME_FUNCTION (track_names.h) that of a function. */
	uint32_t at;	/* where the anchor was; 0 not known */
	uint32_t line;	/* where the culprit was, or the same */
	uint32_t inner; /* of most of it: what the culprit was in there; 0: no more is known */
	uint16_t op;
	bool sampled;
	uint64_t ns;
};

struct path_cause {
	enum path_class class;
	uint32_t culprit, device; /* as in struct track_part */
	bool exclusion, gil, resumed; /* as in struct track_part */
	uint8_t object;		  /* the same */
	enum pace pace;		  /* the same */
	struct poll poll;	  /* the same, of the largest part */
	bool occupied;	/* the culprit, whom the path needs, had the CPU that was waited for */
	bool timed_out; /* a wait that nobody ended: its time ran out (track_part.ran_out) */
	enum event_loop_wait event_loop; /* as in struct track_part */
	uint32_t waiter, holder;	 /* as in struct track_part */
	uint32_t lead;	    /* world thread id: the culprit's with most time in it; 0 none */
	uint32_t threads;   /* different ones in it */
	uint64_t lead_ns;   /* of ns, lead's */
	bool other_process; /* lead is of another process than the anchor */
	uint32_t alike;	    /* other culprits in it, each with less time than this one */
	uint64_t ns, pieces, longest_ns;
	int64_t longest_from_ns;
	struct path_cause_line longest; /* where that was */
	uint32_t longest_thread;	/* world thread id: whose it was; 0: the anchor's */
	struct path_cause_line
		longs;	 /* the line with most time in stretches of TRACK_LONG_NS and more */
	uint64_t nlongs; /* how many stretches these are */
	struct path_cause_line lines[PATH_CAUSE_LINES]; /* most time first */
	unsigned nlines;				/* at most PATH_CAUSE_LINES */
	float course[COURSE_PARTS]; /* ns in each part of the steps, where it is of these */
};

struct path_causes {
	uint64_t ns;		  /* of the window */
	VEC(struct path_cause) v; /* most time first */
};

/* names: whose culprits the parts refer to. False: out of memory. */
bool path_causes_make(struct path_causes *c, struct track_names *names, uint32_t anchor,
		      const struct track_parts *parts);
void path_causes_free(struct path_causes *c);

/* Whether the job did it on purpose, so that it is no loss: own code, calls, the device. */
bool path_cause_is_work(const struct path_cause *c);

/* By its share of the window: 3 high, 2 medium, 1 low as of findings; 0: it is no loss. */
unsigned path_cause_severity(const struct path_cause *c, uint64_t window_ns);

#endif
