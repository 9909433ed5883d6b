/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a path keeps, for the files of this room alone.
 */
#ifndef INGERO_PATH_PATH_STATE_H
#define INGERO_PATH_PATH_STATE_H

#include "lib/base/map.h"
#include "lib/attrib/losses.h"
#include "lib/attrib/occupancy.h"
#include "lib/path/disk_requests.h"
#include "lib/path/mixes.h"
#include "lib/path/offcpu.h"
#include "lib/path/path.h"
#include "lib/path/path_thread.h"
#include "lib/path/releases.h"

/* So many more segments make it worth while to walk an anchor. */
#define PATH_WALK_SEGMENTS 256

struct path_track {
	uint32_t thread;
	bool begun;
	int64_t begin_ns;    /* of its life; valid when begun */
	int64_t resolved_ns; /* up to here it was walked */
	size_t pending;	     /* pieces of it that wait for a thread */
};

/* How an op concerns a path. */
struct path_op {
	const struct op_def *def;
	enum {
		PATH_OP_NEW,	/* not looked up yet, or not known */
		PATH_OP_CALL,	/* not counted where it is inside another call */
		PATH_OP_SYNC,	/* a call that waits for the device */
		PATH_OP_THREAD, /* something else of a thread's own time */
		PATH_OP_OTHER
	} kind;
	bool submits; /* or waits for what was: its thread may be an anchor */
};

struct path {
	const struct world *w;
	struct path_listener *listener;
	struct path_options opt;
	VEC(struct path_thread *) threads; /* by world thread id */
	VEC(struct path_thread *)
	by_ctx; /* by world ctx id; NULL: not looked up yet, or no thread */
	VEC(struct path_track) tracks;
	VEC(uint8_t) submitters; /* by world process id: anchors besides the main thread */
	struct occupancy occupancy;
	struct losses losses;
	struct releases releases;
	struct segment_keys keys;
	struct mixes mixes;
	struct stack_calls stack_calls;
	struct sampled_edges edges;
	struct offcpu_segments offcpu; /* scratch */
	struct disk_requests disks;
	struct map sockets; /* id -> what is known of it (path_sockets.c) */
	struct map lossy;   /* id -> when a segment of its connection was sent again last */
	struct map peers;   /* id -> pid at the other end, 0: several were named */
	struct map readies, ready_sockets; /* of waits whose interval is to come (path_ready.c) */
	VEC(uint8_t) event_loops;	   /* by world stack id, see path_tasks.c */
	VEC(uint8_t) lock_stacks;	   /* the same, see path_locks.c */
	VEC(uint64_t) queued;		   /* by world thread id: see path_queued_ns */
	VEC(uint32_t) ended;	/* threads that are to be forgotten, as they ended (path_ended.h) */
	VEC(uint8_t) forgotten; /* by world thread id: enum path_forgotten */
	size_t forget_at;	/* ended threads that make it worth while to look at them */
	size_t keys_at;		/* keys that make it worth while to forget some */
	size_t pending;		/* pieces that wait for a thread */
	VEC(struct pending_piece) ready; /* scratch of path_walk.c */
	size_t events, look_at;		 /* since the segments were counted last, and to be */
	int64_t now_ns;			 /* end of the newest event */
	int64_t expire_ns;		 /* when it is looked for pieces that waited for too long */
	bool finished;			 /* what is not known by now never will be */
	bool nomem;
	struct path_op ops[1 << 16];
};

static inline struct path_thread *path_thread_known(const struct path *p, uint32_t id)
{
	return id < p->threads.n ? p->threads.v[id] : NULL;
}

/* What is left of a thread that ended. */
enum path_forgotten { PATH_REMEMBERED, PATH_FORGOTTEN, PATH_FORGOTTEN_RECORDED };

static inline enum path_forgotten path_ended_of(const struct path *p, uint32_t id)
{
	return id < p->forgotten.n ? (enum path_forgotten)p->forgotten.v[id] : PATH_REMEMBERED;
}

/* So far nothing that comes will change what is known of the thread. */
static inline int64_t path_settled(const struct path *p, const struct path_thread *th)
{
	int64_t end;

	if (p->finished)
		return INT64_MAX;
	if (!th->log.begun)
		return INT64_MIN;
	end = segment_log_end(&th->log);
	if (th->exited)
		end = INT64_MAX;
	if (!timed_waits_are_known(&th->timed, p->now_ns) && th->timed.start_ns < end)
		end = th->timed.start_ns;
	return end < p->now_ns - PATH_LAG_NS ? end : p->now_ns - PATH_LAG_NS;
}

/* path_sockets.c. SEGMENT_DEMAND or SEGMENT_REPLY; 0: not known. */
uint16_t path_socket_role(const struct path *p, uint64_t id);
/* Whether th->sender sent what ended the wait of th for that socket. */
bool path_sent(const struct path *p, const struct path_thread *th, uint64_t id);
/* The newest wait of th is for that socket: its flags, and that it was until th->sender acted. */
void path_sockets_sent(const struct path *p, const struct path_thread *th, uint64_t id,
		       struct segment *wait);
/* A wait, and who may have sent what ended it: th->sender. */
void path_sockets_take(struct path *p, struct path_thread *th, const struct event *ev,
		       const struct op_def *def, struct segment *wait);
/* The same of one that is in the log, up to end_ns: path_thread_mark_wait. */
bool path_sockets_mark(struct path *p, struct path_thread *th, int64_t since_ns, int64_t end_ns,
		       uint16_t flags, bool sent, bool *done);
/* A segment was sent again. False: out of memory. */
bool path_sockets_lost(struct path *p, const struct event *ev, const struct op_def *def);
/* An event of a wait for a socket. Both false: out of memory. */
bool path_sockets_wait(struct path *p, struct path_thread *th, const struct event *ev,
		       const struct op_def *def);

/* path_ready.c. path_sockets_sent for the wait of the thread for several descriptors that ends
 * then, and each socket of them that was ready. */
void path_ready_take(struct path *p, struct path_thread *th, int64_t end_ns, struct segment *wait);

/* An off-CPU interval that begins with this wait. */
void path_locks_note(struct path *p, const struct event *ev, struct segment *wait);

/* path_tasks.c. Which task of an event loop goes on after it had nothing to do: the thread
 * waits. */
void path_tasks_wait(struct path *p, struct path_thread *th, const struct event *ev,
		     struct segment *wait);
/* An event of the thread with a stack, which waited so. */
void path_tasks_event(struct path *p, struct path_thread *th, const struct event *ev);

/* path_timed.c. What became of the thread's waits that ran into their time-out. */
void path_timed_ended(struct path *p, struct path_thread *th, enum timed_end end, int64_t since_ns,
		      uint32_t who);
/* The thread's next off-CPU interval, and its wait (NULL: it was preempted). */
void path_timed_next(struct path *p, struct path_thread *th, const struct event *ev,
		     const struct op_def *def, const struct segment *wait);
/* If the thread's newest wait, which ended then, is one with others before it, those are marked,
 * too (path_thread_mark_wait). */
void path_timed_mark(struct path *p, struct path_thread *th, int64_t end_ns, uint16_t flags,
		     uint32_t who);
/* The thread is on its CPU at that time. */
void path_timed_ran(struct path *p, struct path_thread *th, int64_t at_ns);
/* The thread waited for the interpreter's lock until another had it, to which it gave way? */
void path_gave_way(struct path *p, const struct path_thread *th, const struct event *ev,
		   const struct segment *wait);

#endif
