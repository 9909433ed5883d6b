/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a replay keeps, for lib/path/replay*.c alone.
 */
#ifndef INGERO_PATH_REPLAY_INTERNAL_H
#define INGERO_PATH_REPLAY_INTERNAL_H

#include "lib/path/path_state.h"
#include "lib/path/replay.h"
#include "lib/stat/pace.h"

/* How much earlier than recorded something is, in each lane. */
struct replay_shift {
	int64_t ns[REPLAY_ENDS][REPLAY_LANES];
};

/* What a segment is to a replay, by its key. */
struct replay_key {
	uint16_t mask;	    /* lanes whose cause it is */
	uint16_t exclusion; /* the same, while somebody waits for the thread to leave */
	uint8_t act;	    /* enum replay_act */
	uint8_t pace;	    /* enum replay_pace, of a sleep */
	bool submits, on_cpu;
};

enum replay_act {
	REPLAY_KEEP, /* takes as long as it did, but in the lanes whose cause it is */
	REPLAY_SUBMIT,
	REPLAY_SYNC,
	REPLAY_WAIT,
	REPLAY_RUNNABLE,
	REPLAY_LATENCY,
	REPLAY_ASKED, /* ends when somebody outside asks */
	REPLAY_SLEEP
};

enum replay_pace { REPLAY_RELATIVE, REPLAY_MAYBE_PACE, REPLAY_PACE };

/* A thread inside a call that waits for the device. */
struct replay_sync {
	bool on, slept, taken;
	int64_t from_ns, device_ns,
		taken_ns; /* device_ns: where it was seen last that the device was at work */
	int64_t work_ns;  /* of it, waiting for the device */
	struct replay_shift from, device;
};

struct replay_thread {
	struct path_thread *th;
	size_t at; /* its next segment that matters */
	bool begun, busy;
	uint16_t gone[REPLAY_ENDS]; /* lanes whose last wait is not needed: nor is what follows
				       until it runs */
	struct replay_shift d;
	struct replay_sync sync;
	uint64_t gives; /* hand-offs that it ended */
	int64_t asked_ns; /* somebody did whose shift is not known: d is what it gained since */
	uint64_t cpu_ns,
		removed_ns[REPLAY_LANES]; /* on a CPU in the whole; of it, in the lane's cause */
};

#define REPLAY_USUAL   16 /* newest batches of a class */
#define REPLAY_CLASSES 65 /* batches of 0, 1, ... 64 and more submits */

/* What a thread gives its devices to do, as one thread more, which its submits feed. */
struct replay_device {
	bool open; /* work was submitted that no wait has covered */
	unsigned submits;
	int64_t first_ns; /* of the batch */
	int64_t lost_ns;  /* that the thread was kept from submitting the rest, and from waiting */
	struct replay_shift first, last, d;
	int64_t end_ns[REPLAY_ENDS]; /* of the batch before */
	uint64_t busy_ns;
	int64_t least_ns; /* of a call that waits: what it takes where nothing is to be waited for;
			     0: none yet */
	struct replay_took {
		uint32_t n;
		uint32_t ns[REPLAY_USUAL]; /* at most */
	} usual[REPLAY_CLASSES], disturbed[REPLAY_CLASSES];
};

struct replay_turn {
	int64_t ns;
	uint32_t thread; /* position */
};

/* The sleeps at one place. */
struct replay_sleeps {
	uint32_t key;
	unsigned n;
	struct pace_sums sums;
};

struct replay {
	struct path_listener listener; /* first: it is cast back */
	struct path *p;
	VEC(struct replay_key) keys;
	VEC(struct replay_sleeps) sleeps; /* while it is found out which are paces */
	struct map sleeps_by;		  /* key -> position in sleeps */
	VEC(uint16_t) takers;		  /* by thread: lanes whose cause is that it had a CPU */
	VEC(struct replay_thread) threads;
	VEC(uint32_t) by_thread;	     /* world thread id -> position plus one */
	VEC(struct replay_device *) devices; /* by thread */
	VEC(uint32_t) groups;		     /* by thread: replay_groups.c */
	VEC(uint32_t) submitters;	     /* by process: the thread that submitted last */
	VEC(struct replay_turn) turns;	     /* a heap: whose next segment ends first */
	uint32_t anchor, track;
	int64_t from_ns, whole_from_ns, whole_to_ns;
	/* Bounds of spans, in order, and what the anchor's shift is at each. */
	VEC(int64_t) bounds;
	size_t bound;
	struct replay_shift at_begin;
	struct replay_gains *out;
	uint64_t removed_ns[REPLAY_LANES]; /* of the window that is walked */
	uint16_t held;		      /* lanes of which a holder of a lock was met in it */
	int64_t kept_ns[REPLAY_LANES]; /* in which one was kept from leaving it, and not by the
					  lane's cause */
	unsigned depth;
	bool ready; /* keys and groups are made */
	bool nomem;
};

static inline struct replay_thread *replay_thread_of(const struct replay *r, uint32_t thread)
{
	uint32_t at = thread < r->by_thread.n ? r->by_thread.v[thread] : 0;

	return at ? &r->threads.v[at - 1] : NULL;
}

/* replay_keys.c: finds out what each key is. False: out of memory. */
bool replay_keys_make(struct replay *r);
static inline const struct replay_key *replay_key_of(const struct replay *r, uint32_t key)
{
	static const struct replay_key none;

	key &= ~SEGMENT_KEY_KIND;
	return key < r->keys.n ? &r->keys.v[key] : &none;
}

/* replay_groups.c: which threads have to do with each other. False: out of memory. */
bool replay_groups_make(struct replay *r);
/* Whether what the thread does may make the anchor earlier. */
bool replay_groups_has(struct replay *r, uint32_t anchor, uint32_t thread);

/* replay_device.c. The thread submits work from ns on; a segment of it is inside a call that waits
 * for the device; the last of them ends. */
void replay_device_submit(struct replay *r, struct replay_thread *t, int64_t ns);
void replay_device_segment(struct replay_thread *t, const struct segment *s, int64_t from_ns,
			   int64_t to_ns);
/* The thread was kept from its work so long, outside such a call. */
void replay_device_lost(struct replay *r, const struct replay_thread *t, int64_t ns);
/* How long devices were at work for the thread, at least. */
uint64_t replay_device_busy(const struct replay *r, const struct path_thread *th);
void replay_device_return(struct replay *r, struct replay_thread *t, int64_t ns);

/* replay_asked.c: at act_ns the thread by ends a wait of t that began at from_ns. If t waited for
 * an answer, and by was asked for it, t has asked: by is earlier by t's shift, too, also where it
 * answers in several parts. */
void replay_answers(struct replay_thread *by, const struct replay_thread *t,
		    const struct segment *wait, int64_t from_ns, int64_t act_ns);

/* [from, to) of a cause: as much earlier in its lanes. */
static inline void replay_remove(struct replay_shift *d, uint16_t mask, int64_t ns)
{
	for (unsigned i = 0; mask; i++, mask >>= 1)
		if (mask & 1) {
			d->ns[REPLAY_CAUTIOUS][i] += ns;
			d->ns[REPLAY_HOPEFUL][i] += ns;
		}
}

static inline int64_t replay_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

#endif
