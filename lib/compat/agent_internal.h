/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading an older recording keeps, for the files of this room that do it: the order of events
 * (agent_recording.c), rows (agent_row.c), waits (agent_waits.c), who and where (agent_who.c), and
 * records (agent_facts.c).
 */
#ifndef INGERO_COMPAT_AGENT_INTERNAL_H
#define INGERO_COMPAT_AGENT_INTERNAL_H

#include "lib/archive/database.h"
#include "lib/compat/agent_recording.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"

/* Columns of a row of events, in this order. */
enum agent_column {
	AGENT_TIME,
	AGENT_PID,
	AGENT_TID,
	AGENT_SOURCE,
	AGENT_OP,
	AGENT_DURATION,
	AGENT_ARG0,
	AGENT_ARG1,
	AGENT_RET,
	AGENT_STACK,
	AGENT_CGROUP,
	AGENT_NODE,
	AGENT_COMM,
	AGENT_COLUMNS
};

struct agent_span {
	int64_t start_ns, end_ns;
};

/* Calls of a thread that later rows may lie in, and its newest request to a disk. */
struct agent_thread {
	VEC(struct agent_span) calls;
	struct agent_span request;
	/* Its newest wait outside calls: when it ended, its whole milliseconds, and how many in a
	 * row were as long. */
	int64_t waited_ns, wait_ms;
	unsigned alike;
};

struct agent_recording {
	struct event_stream stream;
	struct agent_recording_facts told;
	struct world *w;
	sqlite3 *db;
	char *path;
	const char *machine;	    /* where it does not say */
	sqlite3_stmt *calls, *host; /* by beginning; by end */
	sqlite3_stmt *stack_of, *name_of, *cgroup_of;
	bool calls_end, host_end;
	int64_t calls_ns; /* where reading calls is */
	struct event next_host;
	bool has_host;
	VEC(struct event) heap; /* calls that have begun, the one that ends first on top */
	VEC(struct agent_thread) threads;
	struct map thread_by, owner_by,
		stack_by; /* thread to its place, to its process; stored stacks */
	VEC(struct event) batch;
	struct event stash; /* the first of the next batch */
	bool stashed, ended;
	int64_t emitted_ns;	     /* the newest that was handed out */
	int64_t start_ns, latest_ns; /* of the session; 0: not said */
	bool started, off_cpu;
	uint32_t node; /* of the session */
	/* records that are emitted before the events, and after them */
	sqlite3_stmt *pauses; /* between sessions */
	sqlite3_stmt *holes;  /* at a row when has_hole */
	bool has_hole;
	int64_t lost_since_ns;
	sqlite3_stmt *sessions, *samples, *aggregates, *chains;
	unsigned stage;
	struct record record;
	struct buf text[3]; /* of the record */
	double memory_bytes;
	unsigned metric; /* of the sample at hand */
};

/* ---- agent_row.c ---- */

/* 1: *ev is the row's; 0: it has none here. */
int agent_event(struct agent_recording *l, sqlite3_stmt *row, struct event *ev, struct err *e);

/* ---- agent_waits.c ---- */

/* OBJECT_ of a wait that the thread has just ended; 0: not known. */
int agent_waited_for(struct agent_thread *th, const struct event *ev);

/* ---- agent_who.c ---- */

/* Our op for the agent's, 0: none. */
uint16_t agent_op(int64_t source, int64_t op);
bool agent_is_call(int64_t source);

uint32_t agent_node(struct agent_recording *l, struct bytes name);
/* Threads of several machines may have one number. */
static inline uint64_t agent_thread_key(uint32_t node, uint64_t tid)
{
	return (uint64_t)node << 32 ^ tid;
}
/* ctx of a row: its thread, and the cgroup where the agent recorded the right one. */
uint32_t agent_ctx(struct agent_recording *l, sqlite3_stmt *row, bool with_cgroup);
uint32_t agent_thread_id(struct agent_recording *l, uint32_t node, uint32_t tid);
int agent_stacks_open(struct agent_recording *l, struct err *e);
uint32_t agent_stack(struct agent_recording *l, int64_t hash);
/* Which process a thread belongs to, where the rows say so. */
int agent_owners(struct agent_recording *l, struct err *e);

/* ---- agent_facts.c ---- */

int agent_facts_open(struct agent_recording *l, struct err *e);
void agent_facts_close(struct agent_recording *l);
/* 1: *item is the next record that stands before the events; 0: no more. */
int agent_facts_before(struct agent_recording *l, struct stream_item *item, struct err *e);
/* The reading of the clock at the end. */
void agent_facts_end(struct agent_recording *l, struct stream_item *item);

#endif
