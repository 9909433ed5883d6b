/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading an older recording keeps, for the files of this room that do it: the order of events
 * (legacy.c), rows (legacy_row.c), waits (legacy_waits.c), who and where (legacy_who.c), and
 * records (legacy_facts.c).
 */
#ifndef INGERO_ARCHIVE_LEGACY_STATE_H
#define INGERO_ARCHIVE_LEGACY_STATE_H

#include "lib/archive/database.h"
#include "lib/archive/legacy.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"

/* Columns of a row of events, in this order. */
enum legacy_column {
	LEGACY_TIME,
	LEGACY_PID,
	LEGACY_TID,
	LEGACY_SOURCE,
	LEGACY_OP,
	LEGACY_DURATION,
	LEGACY_ARG0,
	LEGACY_ARG1,
	LEGACY_RET,
	LEGACY_STACK,
	LEGACY_CGROUP,
	LEGACY_NODE,
	LEGACY_COMM,
	LEGACY_COLUMNS
};

struct legacy_span {
	int64_t start_ns, end_ns;
};

/* Calls of a thread that later rows may lie in, and its newest request to a disk. */
struct legacy_thread {
	VEC(struct legacy_span) calls;
	struct legacy_span request;
	/* Its newest wait outside calls: when it ended, its whole milliseconds, and how many in a
	 * row were as long. */
	int64_t waited_ns, wait_ms;
	unsigned alike;
};

struct archive_legacy {
	struct event_stream stream;
	struct archive_legacy_told told;
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
	VEC(struct legacy_thread) threads;
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

/* ---- legacy_row.c ---- */

/* 1: *ev is the row's; 0: it has none here. */
int legacy_event(struct archive_legacy *l, sqlite3_stmt *row, struct event *ev, struct err *e);

/* ---- legacy_waits.c ---- */

/* OBJECT_ of a wait that the thread has just ended; 0: not known. */
int legacy_waited_for(struct legacy_thread *th, const struct event *ev);

/* ---- legacy_who.c ---- */

/* Our op for the agent's, 0: none. */
uint16_t legacy_op(int64_t source, int64_t op);
bool legacy_is_call(int64_t source);

uint32_t legacy_node(struct archive_legacy *l, struct bytes name);
/* Threads of several machines may have one number. */
static inline uint64_t legacy_thread_key(uint32_t node, uint64_t tid)
{
	return (uint64_t)node << 32 ^ tid;
}
/* ctx of a row: its thread, and the cgroup where the agent recorded the right one. */
uint32_t legacy_ctx(struct archive_legacy *l, sqlite3_stmt *row, bool with_cgroup);
uint32_t legacy_thread_id(struct archive_legacy *l, uint32_t node, uint32_t tid);
int legacy_stacks_open(struct archive_legacy *l, struct err *e);
uint32_t legacy_stack(struct archive_legacy *l, int64_t hash);
/* Which process a thread belongs to, where the rows say so. */
int legacy_owners(struct archive_legacy *l, struct err *e);

/* ---- legacy_facts.c ---- */

int legacy_facts_open(struct archive_legacy *l, struct err *e);
void legacy_facts_close(struct archive_legacy *l);
/* 1: *item is the next record that stands before the events; 0: no more. */
int legacy_facts_before(struct archive_legacy *l, struct stream_item *item, struct err *e);
/* The reading of the clock at the end. */
void legacy_facts_end(struct archive_legacy *l, struct stream_item *item);

#endif
