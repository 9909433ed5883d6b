/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path as a partition: every instant of an anchor's life has exactly one reason, and
 * the reasons sum to the life, to the nanosecond. An anchor is the thread whose life stands for its
 * process. Where it was blocked until another thread acted, the path goes through that thread, and
 * on through those that it waited for itself. Where a thread that the path needs had the CPU, the
 * path goes through that one, too. One pass over events in stream order; memory is bounded by
 * threads and by PATH_SEGMENTS_MAX.
 */
#ifndef INGERO_PATH_PATH_H
#define INGERO_PATH_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/event/event.h"
#include "lib/path/segment_log.h"
#include "lib/world/world.h"

#define PATH_DEPTH 64 /* threads followed that wait for each other */
#define PATH_LAG_NS \
	100000000 /* a memory section outside calls relabels no more than this, its last part */
#define PATH_PATIENCE_NS \
	10000000000    /* how long a piece waits for what its releaser did to become known */
#define PATH_PARTNER 3 /* releases that make a thread one that the path needs */
/* A releaser that has been asleep for longer when its wake-up arrives did not act; of recordings
 * without waking_ns. */
#define PATH_IN_FLIGHT_NS 300000
/* Calls of a process that submit work and are not its main thread's: so many threads are anchors
 * besides that. */
#define PATH_SUBMITTERS 4

/* [from, to) of the anchor's life. */
struct path_piece {
	uint32_t anchor; /* world thread id */
	uint32_t thread; /* whose state it is: the leaf */
	int64_t from_ns, to_ns;
	const struct segment *s; /* only while it is passed on; its end means nothing here */
	/* 0, or the thread that had the CPU while the path was runnable. If it is no partner of the
	 * anchor (path_is_partner), it took the CPU, and the rest does not count. */
	uint32_t occupant;
	unsigned depth; /* threads between the anchor and the leaf */
	/* The anchor's own wait through which it was reached: path_segment_key; 0: none. */
	uint32_t via;
	/* The first wait for a lock on the way: the anchor's own, or that of a thread of its
	 * process, which it waited for (waiter; 0: its own). */
	enum segment_lock lock;
	uint32_t waiter;
	/* The first thread behind that one that waited for no lock, but for the leaf or others; 0:
	 * there is none. */
	uint32_t holder;
	uint32_t key; /* of s in the leaf's log (segment_keys.h); 0: it is made for this piece */
};

/* Receives the pieces of all anchors: each life once and whole, not in order of time. */
struct path_listener {
	void (*on_piece)(struct path_listener *l, const struct path_piece *p);
	/* Pieces that are segments of the anchor's own, the first from from_ns on, each ending
	 * where the next begins. NULL: on_piece receives them. */
	void (*on_own)(struct path_listener *l, uint32_t anchor, int64_t from_ns,
		       const struct segment_entry *v, size_t n);
	/* Whether numbers of an ended anchor's segments are still held; NULL: they all are. */
	bool (*is_kept)(const struct path_listener *l, uint32_t anchor);
};

struct path;

struct path_options {
	size_t segments_max; /* held at once; 0: PATH_SEGMENTS_MAX */
	int64_t patience_ns; /* 0: PATH_PATIENCE_NS */
	/* What is held of ended threads is given back so long after (path_ended.h), so that
	 * path_window does not find them; 0: it is held. */
	int64_t forget_ns;
	size_t forget_least; /* of them, before it is looked at any; 0: PATH_ENDED_LEAST */
};
#define PATH_SEGMENTS_MAX 5592405 /* 64 MiB */
#define PATH_ENDED_LEAST  64

/* w and the listener stay the caller's and must outlive the path. NULL: out of memory. */
struct path *path_new(const struct world *w, const struct path_options *o,
		      struct path_listener *listener);
void path_free(struct path *p);

/* An event comes soon, PATH_EVENTS_AHEAD later: what it needs is fetched into the cache. */
#define PATH_EVENTS_AHEAD 8
void path_event_ahead(const struct path *p, const struct event *ev);

/* The next event in stream order. */
int path_event(struct path *p, const struct event *ev, struct err *e);

/* Threads are sampled so often a second on each CPU. */
void path_sampled(struct path *p, uint32_t hz);

/* What a socket is for, before or behind waits for it: somebody who asks, or else an answer. */
int path_socket(struct path *p, uint64_t id, bool demand, struct err *e);

/* Its ends as "192.0.2.1:8080" or "[2001:db8::1]:443". */
int path_socket_ends(struct path *p, uint64_t id, struct bytes local, struct bytes remote,
		     struct err *e);

/* This process of the same machine has its other end. */
int path_peer(struct path *p, uint64_t id, uint32_t pid, struct err *e);

/* This socket was ready when the thread's wait for several descriptors ended, at time_ns: before or
 * behind its interval. */
int path_ready(struct path *p, uint32_t thread, uint64_t socket, int64_t time_ns, struct err *e);

/* An event that came behind others that ended after it. Its thread's own code in that time, if it
 * is already part of the path, becomes unknown; else the event is taken like any other. Other
 * threads are left as they are. */
int path_late(struct path *p, const struct event *ev, struct err *e);

/* Events that ended between these times are missing. */
void path_lost(struct path *p, int64_t since_ns, int64_t until_ns, uint64_t events);

/* A call that had not returned when the recording ended: after the last event, innermost first. */
int path_open(struct path *p, uint32_t thread, uint16_t op, int64_t start_ns, unsigned depth,
	      uint32_t stack, int64_t end_ns, struct err *e);

/* Whether the thread has ended. */
bool path_exited(const struct path *p, uint32_t thread);
/* Whether it has, and no piece of it is to come. */
bool path_is_over(const struct path *p, uint32_t thread);

/* Up to when calls and intervals tell what the thread did; INT64_MIN: none does. */
int64_t path_known_until(const struct path *p, uint32_t thread);

/* An off-CPU interval that had not ended then, of a thread that may have had no event. */
int path_asleep(struct path *p, uint32_t thread, const struct event *ev, struct err *e);

/* All events were given, and the recording ends there: the listener receives all remaining
 * pieces. */
int path_finish(struct path *p, int64_t end_ns, struct err *e);

/* Anchors so far, i runs 0..n-1, and the life of each as far as it is known. */
struct path_anchor {
	uint32_t thread;
	int64_t begin_ns, end_ns;
};
size_t path_anchors(const struct path *p);
struct path_anchor path_anchor(const struct path *p, size_t i);

/* How long threads waited for locks, but for an interpreter's, until this one left: of all of them,
 * whether a path went there or not. */
uint64_t path_queued_ns(const struct path *p, uint32_t thread);

/* Whether the thread is one of them. */
bool path_is_anchor(const struct path *p, uint32_t thread);

/* Whether anything of this thread's own time was in the stream. */
bool path_is_recorded(const struct path *p, uint32_t thread);

/* Whether a thread is the recorder's, which is not recorded. */
bool path_is_recorder(const struct world *w, const struct path *p, uint32_t thread);

bool path_is_finished(const struct path *p);

/* Up to here nothing of this anchor's life is waited for. */
int64_t path_known_ns(const struct path *p, uint32_t anchor);

/* Gives the pieces of [from, to) of an anchor's life to another listener once more, as far as they
 * are known: what of it lies in its life and before path_known_ns. What was folded into checkpoints
 * meanwhile is rough. */
int path_window(struct path *p, uint32_t anchor, int64_t from_ns, int64_t to_ns,
		struct path_listener *listener, struct err *e);

/* The segment of a piece that has a number, while p lives. */
const struct segment_key *path_segment_key(const struct path *p, uint32_t key);

/* Whether this thread has released the anchor, or one of those that did so in turn, PATH_PARTNER
 * times; fewer where releases may be missing. Final once the path is finished. */
bool path_is_partner(struct path *p, uint32_t anchor, uint32_t thread);

/* What is held now, for tests of the bound. */
struct path_memory {
	size_t threads, segments, pending, mixes;
};
void path_memory(const struct path *p, struct path_memory *m);

#endif
