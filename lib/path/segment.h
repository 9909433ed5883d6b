/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment: what one thread was doing over a stretch of its time. The segments of a thread tile
 * its life in order, so that a segment holds its end alone. What another thread did is never
 * copied: a wait that a thread ended is WAITING for it.
 */
#ifndef INGERO_PATH_SEGMENT_H
#define INGERO_PATH_SEGMENT_H

#include <stdint.h>

#include "lib/event/op.h"

enum segment_state {
	SEGMENT_UNKNOWN, /* events were lost, or contradict each other */
	/* On a CPU. */
	SEGMENT_OWN,	 /* in its own code */
	SEGMENT_CALL,	 /* in a traced call that does not wait for the device */
	SEGMENT_SYNC,	 /* in one that does: spinning for it, or on the way out */
	SEGMENT_RECLAIM, /* getting memory for itself */
	SEGMENT_COMPACT,
	SEGMENT_FAULT_IN, /* reading pages in */
	SEGMENT_STOLEN,	  /* the hypervisor ran something else; also of a runnable thread */
	/* Runnable. */
	SEGMENT_THROTTLED, /* its cgroup's CPU quota was used up */
	SEGMENT_WAKE_UP,   /* the CPU idled, or the wake-up was under way */
	SEGMENT_RUNNABLE,  /* another thread had the CPU (who; 0: it is not known which) */
	/* Blocked. */
	SEGMENT_BLOCKED, /* by its object; who: the thread that woke it, if it is not recorded */
	SEGMENT_WAITING, /* until another thread (who) acted */
	SEGMENT_UNENDED, /* it never woke up again */
	/* Made of others. */
	SEGMENT_TOO_DEEP, /* a chain of more than PATH_DEPTH threads that wait for each other */
	SEGMENT_STATES
};

enum segment_flag {
	/* Inside a call that waits for the device. */
	SEGMENT_IN_SYNC = 1 << 0,
	/* OWN: line is where a CPU sample found it. Else line and op are those of the call
	 * before. Runnable, and had not been woken: line is where it stood, or was found last,
	 * when its CPU was taken from it. Else it is that of the call or wait before. */
	SEGMENT_SAMPLED = 1 << 1,
	/* WAITING: the end is the wake-up; the other thread acted a little earlier. */
	SEGMENT_ACT_UNKNOWN = 1 << 2,
	/* A wait for somebody to leave: a mutex, the interpreter's lock. */
	SEGMENT_EXCLUSION = 1 << 3,
	/* Cut out of a checkpoint in proportion. */
	SEGMENT_ROUGH = 1 << 4,
	/* A wait for a futex that ran into its time-out. */
	SEGMENT_TIMED = 1 << 5,
	/* Blocked: for somebody to ask (a socket that was accepted, or is listened on); for an
	 * answer (one that was connected). Of several sockets it may be both. */
	SEGMENT_DEMAND = 1 << 6,
	SEGMENT_REPLY = 1 << 7,
	/* EXCLUSION: it is known to be one; else nothing is known of the futex. */
	SEGMENT_LOCK = 1 << 8,
	/* Blocked on a socket: segments of its connection were sent again meanwhile. */
	SEGMENT_LOSSY = 1 << 8,
	/* RUNNABLE: it had been woken; else the CPU was taken from it. */
	SEGMENT_WOKEN = 1 << 9,
	/* Blocked in what the kernel marks: getting memory (RECLAIM, COMPACT); reading in a page of
	 * a file, or of what had been swapped out. The two also of FAULT_IN. */
	SEGMENT_GETS_MEMORY = 1 << 10,
	SEGMENT_FILE_PAGE = 1 << 11,
	SEGMENT_SWAPPED = 1 << 12,
	/* Blocked on something else than a futex (TIMED): nobody ended it, its time ran out. */
	SEGMENT_RAN_OUT = 1 << 13,
	/* Blocked: an event loop had nothing to do. line is where the task stood that went on
	 * first, or the event loop where no task was seen before it waited again. */
	SEGMENT_EVENT_LOOP = 1 << 14,
	/* Blocked: its time ran out, and the thread waited again at once: what ended that wait
	 * ended this one. Instead of TIMED and RAN_OUT. */
	SEGMENT_RETRIED = 1 << 15,
};

/* Of a wait with EXCLUSION. */
enum segment_lock {
	SEGMENT_LOCK_NONE,  /* it is none */
	SEGMENT_LOCK_MAYBE, /* nothing is known of the futex */
	SEGMENT_LOCK_OTHER,
	SEGMENT_LOCK_GIL, /* CPython's interpreter lock */
	SEGMENT_LOCK_MAP, /* that of the memory map */
};

struct segment {
	int64_t end_ns;
	uint32_t line; /* world stack id: where the call, the sample or the wait was; 0 not known */
	uint32_t who;  /* world thread id, see the states; BLOCKED on a disk: its device number;
			* OWN and SAMPLED: world stack id of the call before, or of the wait;
			* THROTTLED: world cgroup id, 0 not known */
	uint16_t op;   /* of the outermost call around it (OWN: before it); 0 none */
	uint8_t state; /* enum segment_state */
	uint8_t object;	  /* enum event_object, of blocked ones */
	uint16_t flags;	  /* enum segment_flag, or-ed */
	uint16_t syscall; /* BLOCKED, WAITING on a pipe, file or socket: its number + 1; 0 not
			   * known; RUNNABLE: that of sched_yield + 1, else 0 */
};

static inline int segment_on_cpu(const struct segment *s)
{
	return s->state >= SEGMENT_OWN && s->state <= SEGMENT_FAULT_IN;
}

/* It handed its CPU on by itself. */
static inline int segment_yields(const struct segment *s)
{
	return s->state == SEGMENT_RUNNABLE && s->syscall;
}

static inline int segment_blocked(const struct segment *s)
{
	return s->state >= SEGMENT_BLOCKED && s->state <= SEGMENT_UNENDED;
}

/* At a probe of the recorder: without it there would be no such wait. */
static inline int segment_at_probe(const struct segment *s)
{
	return segment_blocked(s) && s->object == OBJECT_PROBE;
}

#define SEGMENT_MEMORY_FLAGS (SEGMENT_GETS_MEMORY | SEGMENT_FILE_PAGE | SEGMENT_SWAPPED)

/* Whether the kernel works for its memory. */
static inline int segment_in_memory(const struct segment *s)
{
	return s->state >= SEGMENT_RECLAIM && s->state <= SEGMENT_FAULT_IN;
}

static inline enum segment_lock segment_lock_of(const struct segment *s)
{
	if (!segment_blocked(s) || !(s->flags & SEGMENT_EXCLUSION))
		return SEGMENT_LOCK_NONE;
	if (!(s->flags & SEGMENT_LOCK))
		return SEGMENT_LOCK_MAYBE;
	return s->object == OBJECT_GIL	 ? SEGMENT_LOCK_GIL
	       : s->object == OBJECT_MAP ? SEGMENT_LOCK_MAP
					 : SEGMENT_LOCK_OTHER;
}

/* The innermost section around a blocked segment says what it was blocked for. */
static inline void segment_mark_memory(struct segment *s, uint16_t flags)
{
	if (segment_blocked(s) && !(s->flags & SEGMENT_MEMORY_FLAGS))
		s->flags |= flags;
}

/* Everything but when it ends; what differs most often first. */
static inline int segment_alike(const struct segment *a, const struct segment *b)
{
	return a->line == b->line && a->op == b->op && a->state == b->state && a->who == b->who &&
	       a->object == b->object && a->flags == b->flags && a->syscall == b->syscall;
}

#endif
