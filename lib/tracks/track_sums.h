/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time on an anchor's path, summed by all that makes a piece what it is, in each of a few windows.
 * Whether the path needs a thread that had the CPU is known at the end only: until then such pieces
 * are kept apart by that thread.
 */
#ifndef INGERO_TRACKS_TRACK_SUMS_H
#define INGERO_TRACKS_TRACK_SUMS_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/tracks/device_gaps.h"
#include "lib/tracks/track_names.h"
#include "lib/tracks/track_part.h"
#include "lib/path/path.h"

/* Where a window lies in a track; WINDOW_STEPS is many stretches of time. */
enum track_window { WINDOW_START, WINDOW_STEPS, WINDOW_BETWEEN, WINDOW_END, TRACK_WINDOWS };

/* Beyond so many, sums are kept without their lines, and like threads are one. */
#define TRACK_SUMS_MAX 65536

/* Added to the lock of a piece that has a waiter: that is none that may be none. */
#define TRACK_LOCK_WAITER (SEGMENT_LOCK_MAP - SEGMENT_LOCK_MAYBE)

struct track_key {
	uint32_t thread, occupant, who, line;
	uint32_t via;	 /* the anchor's own wait: key of its segment; 0: its own time */
	/* As of a piece: the waiter, if there is one, as TRACK_LOCK_WAITER and more in lock say;
	 * else the holder. */
	uint32_t holder;
	uint16_t op;
	uint16_t flags;
	uint8_t state;
	uint8_t object : 5, lock : 3; /* as of a piece */
	uint16_t syscall;
};

static inline struct segment track_key_segment(const struct track_key *k)
{
	return (struct segment){ .who = k->who,
				 .line = k->line,
				 .op = k->op,
				 .state = k->state,
				 .object = k->object,
				 .flags = k->flags,
				 .syscall = k->syscall };
}

struct track_total {
	uint64_t ns, longest_ns;		 /* the longest: of a stretch (struct track_run) */
	uint64_t idle_ns;			 /* of ns, while the device had nothing to do */
	uint64_t gap_ns, at_most_ns, unended_ns; /* of ns, in gaps of the device (device_gaps.h) */
	uint32_t pieces;
	uint32_t times;	   /* of the first sum of a wait of the anchor: how many there were of it */
	uint32_t gaps;	   /* in which it was met */
	uint32_t last_gap; /* number of the newest of them */
	uint32_t waits;	   /* times off its CPU in which it was met */
	uint32_t last_wait; /* number of the newest of them */
	int64_t longest_from_ns;
	int64_t first_ns, last_ns; /* from the first piece's begin to the last one's end */
};

struct track_sum {
	struct track_key key;
	uint32_t next;	     /* of the same hash: its number, 0 none */
	uint32_t first : 28; /* number of the first one of the same wait of the anchor; 0: none */
	bool awaits : 1;     /* a CPU: what the anchor did before goes on behind it */
	bool grown : 1;	     /* it is in the list of those */
	bool own : 1;	     /* the anchor was in its own code, on its CPU */
	bool works : 1;	     /* the same, or in a call: no loss */
	uint64_t place; /* equal: the same call at the same line, or own code of one function */
	struct track_total total[TRACK_WINDOWS];
	/* Since it was asked for, in whichever window; its pieces' longest. times: the number of
	 * the newest one. */
	struct track_total more;
	/* Stretches of TRACK_LONG_NS and more: their time, and how many they are. */
	uint64_t long_ns[TRACK_WINDOWS];
	uint32_t longs[TRACK_WINDOWS];
};

/* Pieces of one place that follow each other, but for waits for a CPU, are one stretch. */
struct track_run {
	uint64_t place; /* 0: none */
	enum track_window window;
	uint32_t number; /* of the sum with the longest piece in it */
	int64_t from_ns;
	uint64_t ns, piece_ns; /* of all, and of that piece */
};

/* Zero-initialised is empty. */
struct track_sums {
	VEC(struct track_sum) v;    /* number 1 is v[0] */
	struct map by_hash;	    /* hash of the key -> number of the first */
	VEC(uint32_t) grown;	    /* numbers of those that have more */
	VEC(struct course) courses; /* by number - 1, in WINDOW_STEPS */
	struct track_run run;
};

/* The number of what this piece is. 0: out of memory. */
uint32_t track_sums_number(struct track_sums *s, struct track_names *names,
			   const struct path_piece *p);
/* A piece, or what of it lies in a window. */
struct track_add {
	int64_t from_ns, to_ns;
	uint64_t idle_ns; /* of its time, while the device had nothing to do */
	uint32_t wait;	  /* number of the anchor's time off its CPU that it is of */
	struct gap_overlap gap;
};
/* The next piece, in order of time: else it begins a stretch of its own. */
void track_sums_add(struct track_sums *s, uint32_t number, enum track_window window,
		    const struct track_add *add);
/* It lies in a step: how it runs over them. False: out of memory. */
bool track_sums_course(struct track_sums *s, uint32_t number, const struct track_add *add);
/* Without stretches: its longest is the longest piece. */
void track_total_add(struct track_total *t, const struct track_add *add);
/* What was summed in one window is of another one. */
void track_sums_move(struct track_sums *s, enum track_window from, enum track_window to);
/* A piece whose window is not known yet. False: out of memory. */
bool track_sums_grow(struct track_sums *s, uint32_t number, const struct track_add *add);
/* The same of a gap that is known only now, of a piece that was. */
bool track_sums_grow_gap(struct track_sums *s, uint32_t number, const struct gap_overlap *gap);

/* The parts of a window, by what they are; out is emptied. Before path is finished a thread that
 * the path needs may be taken for one that had its CPU. False: out of memory. */
bool track_sums_parts(const struct track_sums *s, enum track_window window, uint32_t anchor,
		      struct path *path, struct track_names *names, struct track_parts *out);
/* One of its sums, with this total. False: out of memory. */
bool track_sums_part(const struct track_sums *s, uint32_t number, const struct track_total *t,
		     uint32_t anchor, struct path *path, struct track_names *names,
		     struct track_part *out);
/* What grew since it was asked for, by what it is. */
bool track_sums_grown(struct track_sums *s, uint32_t anchor, struct path *path,
		      struct track_names *names, struct track_parts *out);
void track_sums_free(struct track_sums *s);

#endif
