/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a timeline: machines, processes with their ranks, threads, CPUs, lanes for what may
 * overlap, and values over time. Made when something first stands on them. Memory grows with what
 * exists, not with events. Numbers of processes and threads are unique over all machines: a
 * pid that several machines have is used once as it is, then with multiples of TRACKS_PID_STEP
 * added.
 */
#ifndef INGERO_EXPORT_TRACKS_H
#define INGERO_EXPORT_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

#define TRACKS_PID_STEP	 (1u << 22) /* PID_MAX_LIMIT of the kernel */
#define TRACKS_DEPTHS	 16
#define TRACKS_LANES_MAX 1024 /* of one kind at one place */

enum track_kind {
	LINE_NODE = 1,
	LINE_PROCESS,
	LINE_THREAD,
	LINE_LANE,   /* slices that belong to one of those above */
	LINE_VALUES, /* of a metric */
};

/* What stands on a line so far, by depth: where the last ends, and where that begins which nothing
 * encloses yet. */
struct track_taken {
	int64_t cursor_ns; /* where all of it ends */
	int64_t first_ns[TRACKS_DEPTHS], last_ns[TRACKS_DEPTHS];
};

struct track {
	enum track_kind kind;
	uint32_t id;	  /* from 1, dense */
	uint32_t parent;  /* id; 0 none */
	uint32_t subject; /* world id of the node, process or thread */
	uint32_t pid,
		tid; /* unique; tid 0: of the process; pid of nodes: a number that no process has */
	const char *unit;	/* of values */
	VEC(struct event) held; /* not passed on yet: see timeline.c */
	struct track_taken taken;
};

/* A new line, or one with a new name. False: out of memory. */
typedef bool tracks_new_fn(void *ctx, const struct track *t, struct bytes name);

struct tracks_lane {
	uint32_t track;
	int64_t end_ns;
};
struct tracks_lanes {
	VEC(struct tracks_lane) v;
};

struct tracks {
	const struct world *w;
	const struct late_names *told;
	tracks_new_fn *told_new;
	void *ctx;
	VEC(struct track *) v; /* by id - 1 */
	VEC(uint32_t) by_ctx;  /* world ctx -> track id, 0 not looked up */
	struct map by_subject; /* kind, world id -> track id */
	struct map by_value;   /* metric and subject -> track id */
	struct map by_lane;    /* parent, what -> position in lanes, plus one */
	VEC(struct tracks_lanes) lanes;
	struct map pids, tids; /* taken */
	struct map ranks;      /* world process -> rank, plus one */
	uint32_t node;	       /* for records without a node: the world node of the last event */
};

static inline struct track *tracks_get(const struct tracks *ts, uint32_t id)
{
	return ts->v.v[id - 1];
}

/* NULL: out of memory. Of a context: the thread's, else the process's, else the node's. */
struct track *tracks_of_ctx_slow(struct tracks *ts, uint32_t ctx);
static inline struct track *tracks_of_ctx(struct tracks *ts, uint32_t ctx)
{
	if (ctx < ts->by_ctx.n && ts->by_ctx.v[ctx])
		return tracks_get(ts, ts->by_ctx.v[ctx]);
	return tracks_of_ctx_slow(ts, ctx);
}
struct track *tracks_of_node(struct tracks *ts, uint32_t node);
struct track *tracks_of_process(struct tracks *ts, uint32_t process);

/* A lane under a line on which nothing stands from start on, and which is taken until end. what
 * tells kinds of lanes apart, name is what they are called. NULL: out of memory, or (*full) there
 * are TRACKS_LANES_MAX already. */
struct track *tracks_lane(struct tracks *ts, const struct track *parent, uint64_t what,
			  const char *name, int64_t start_ns, int64_t end_ns, bool *full);

/* Where a sample's values stand. */
struct track *tracks_of_sample(struct tracks *ts, const struct rec_SAMPLE *r,
			       const struct record *rec);

/* The rank of a process became known. False: out of memory. */
bool tracks_rank(struct tracks *ts, uint32_t process, uint32_t rank);

/* Called for each machine and process with its name and its position from 1: by the machine's name,
 * a machine before its processes, those by rank and pid. False: out of memory. */
typedef bool tracks_order_fn(void *ctx, const struct track *t, uint32_t position,
			     struct bytes name);
bool tracks_order(struct tracks *ts, tracks_order_fn *told);

/* A thread calls itself something else. False: out of memory. */
bool tracks_named(struct tracks *ts, uint32_t thread);

void tracks_free(struct tracks *ts);

#endif
