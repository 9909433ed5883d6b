/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a track: how much of an anchor's path, over some window, was of one kind while the
 * anchor stood at one place. The parts of a window sum to it, to the nanosecond.
 */
#ifndef INGERO_TRACKS_TRACK_PART_H
#define INGERO_TRACKS_TRACK_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/path/path_class.h"
#include "lib/stat/pace.h"
#include "lib/tracks/course.h"
#include "lib/stat/polls.h"

/* A stretch of so long is counted by itself. */
#define TRACK_LONG_NS 10000000

/* An event loop had nothing to do: until the task at the part's line went on, or until it waited
 * again with no task seen between. */
enum event_loop_wait { EVENT_LOOP_NO, EVENT_LOOP_BEFORE_TASK, EVENT_LOOP_AGAIN };

struct track_part {
	uint32_t number; /* of what it is of the track: for path_tracks_replay_mark */
	uint32_t stack;	 /* world stack id: the anchor's own, of its call, wait or CPU sample; 0 not
			    known */
	uint32_t place; /* world frame id: the anchor's in its loop (loop_place.h); 0: its call site
			 */
	enum path_class class;
	uint32_t culprit; /* path_culprits.h; 0: the anchor itself, or none */
	uint32_t thread;  /* world thread id: which of the culprit's it was; 0 not known */
	/* world thread id: whose time it was; the anchor's, or of one it waited for */
	uint32_t leaf;
	uint32_t occupant; /* of a thread that the path needs: it had the CPU meanwhile; 0 none */
	uint32_t device;   /* PATH_DISK: device number */
	uint32_t cgroup;   /* PATH_THROTTLED: world cgroup id; 0 not known */
	uint8_t object;	   /* enum object_kind: PATH_UNENDED, that it waits for; or OBJECT_PROBE,
			      OBJECT_MAP */
	uint32_t line; /* world frame id: where the culprit was, else where the anchor was; 0 not
			  known */
	uint32_t site; /* the call site there (call_site.h), which may lie in a library; 0 not known
			*/
	uint32_t inner;	 /* what it was in there (own_site.h); 0: no more is known */
	uint32_t holder; /* world thread id: it held the lock that the anchor waited for, and waited
			  * itself for the culprit; 0: the culprit did, or it was none */
	/* of a stopped or frozen thread: world thread id of the one that continued it; 0 not
	 * known */
	uint32_t resumed_by;
	bool file_page; /* PATH_FAULT: known to be of a file */
	bool swapped;	/* PATH_FAULT: known to be of what had been swapped out */
	enum pace pace; /* PATH_SLEEP: what the sleeps at that line are */
	bool seldom;	/* PATH_SLEEP: the anchor's own, in fewer than half of its steps: no pace of
			   these */
	struct poll poll;   /* PATH_SLEEP: what they poll for comes so late; 0: they do not */
	bool asleep;	    /* blocked in it, not on the CPU */
	uint8_t blocked_on; /* enum object_kind of what is asleep */
	bool ran_out;	    /* the same: nobody ended it, its time ran out */
	enum event_loop_wait event_loop; /* the same */
	uint16_t syscall; /* asleep on a pipe, file or socket: its number + 1; 0 not known */
	bool resumed;	  /* the culprit did no more than let the anchor go on that was stopped or
			     frozen */
	bool exclusion;	  /* the anchor waited for a thread to leave: a lock, the GIL */
	bool lock; /* known to be a lock; without exclusion, waiter waited for it */
	bool gil;  /* of these, the lock of a CPython interpreter */
	uint32_t waiter; /* world thread id: whom the anchor waited for, and that waited for a lock;
			  * 0: the anchor itself, or there is none */
	bool woken;	  /* PATH_TAKEN: it had been woken; else it was on the CPU */
	uint16_t op;	/* of the call at that line; PATH_OWN without a sample: of the one before */
	uint16_t at_op; /* of the anchor's own call around it; 0 none */
	bool met; /* the anchor was met at stack's innermost frame: it ran there, was preempted or
		     had to wait for a page, and made no call */
	bool line_met;	 /* the same of line: a CPU sample's innermost frame */
	bool sampled;	 /* PATH_OWN, PATH_YIELD: line is where CPU samples found it */
	uint32_t before; /* PATH_OWN, unplaced: world stack id of the call or wait before; 0 not
			    known */
	bool unplaced;	 /* the anchor's CPU was taken from it in its own code, it is not known
			    where: stack is before */
	uint64_t ns, pieces;
	uint64_t waits;	  /* the anchor's times off its CPU, or at work for its memory, in which it
			     was met */
	uint32_t via;	  /* what tells the anchor's wait apart, in which it was met; 0: none */
	uint64_t times;	  /* off its CPU in that wait, whatever was met in it; of a window */
	uint64_t idle_ns; /* of ns, while the device had nothing to do */
	uint64_t gap_ns;  /* of ns, in gaps of the device, which are over (device_gaps.h) */
	uint64_t at_most_ns; /* the same of a device that may have had work */
	uint64_t unended_ns; /* of both, in a gap to the end of the recording or of the process */
	uint64_t gaps;	     /* in which it was met */
	uint64_t longest_ns; /* at a stretch: what took the CPU meanwhile is not in it */
	uint64_t long_ns;    /* in stretches of TRACK_LONG_NS and more */
	uint32_t longs;	     /* how many these are */
	int64_t longest_from_ns;
	int64_t first_ns, last_ns;   /* from the first piece's begin to the last one's end */
	const struct course *course; /* of what it is of, over the steps; NULL: not known */
};

struct track_parts {
	VEC(struct track_part) v;
	struct course_grid grid; /* of the steps that they are of */
};

#endif
