/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What writing an archive keeps, for the files of this room that do it: rows of events
 * (event_rows.c), their indices (indices.c), who and what exists (subjects.c), records (facts.c),
 * sessions (sessions.c), sums (sums.c); write.c puts them together.
 */
#ifndef INGERO_ARCHIVE_ARCHIVE_INTERNAL_H
#define INGERO_ARCHIVE_ARCHIVE_INTERNAL_H

#include <sqlite3.h>

#include "lib/archive/codes.h"
#include "lib/archive/keys.h"
#include "lib/archive/pages.h"
#include "lib/archive/row.h"
#include "lib/archive/write.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"

#define ARCHIVE_APPLICATION_ID 0x49474541
#define MINUTE_NS	       60000000000

/* How an op's events become rows. */
struct op_plan {
	const struct op_def *def;
	struct archive_code code;
	bool by_write, starts,
		adds; /* code depends on the event; timestamp is its beginning; arg0 is a size */
	uint8_t n, nmore;
	struct {
		uint8_t nulls, x;     /* columns left out before it; which of the event's */
	} cols[OP_COLUMNS_MAX];	      /* in the order of the table */
	uint8_t more[OP_COLUMNS_MAX]; /* that the table does not have */
};

/* What a context says in each row. */
struct ctx_row {
	const struct row_part *part; /* node ... cgroup_id; NULL: to be made */
	uint32_t pid, tid, gpu, node_name;
	int64_t cgroup;
};

struct archive_place {
	uint32_t rank, local_rank, world_size;
	uint32_t present; /* bits 0 to 2 */
};

/* A sum of event_aggregates; rows whose end lies in different minutes are kept apart until minutes
 * can be left out no more. */
struct archive_sum {
	int64_t end_minute, minute; /* since 1970 */
	struct archive_code code;
	uint32_t pid;
	uint64_t count, stored, dur, min, max, arg0;
};

struct archive_snapshot {
	int64_t time_ns;
	uint32_t node, has; /* bits in the order of values */
	double value[5];    /* cpu %, memory used, available and swapped in bytes, load */
};

struct archive_session {
	int64_t row;	       /* n of its record */
	uint32_t node, before; /* index + 1 of the one before it of its machine */
	int64_t start_ns,
		end_ns; /* end: the last reading of the clock in it; in the end, when it ended */
};

/* A session ended. */
struct archive_end {
	uint32_t node;
	int64_t ns;
};

#define RECORD_KINDS_MAX 64

struct archive_writer {
	struct world *w;
	int fd;
	struct archive_options opt;
	sqlite3 *db;   /* everything but events, on its way */
	uint32_t node; /* that records without one are about */
	int64_t offset_ns;
	bool has_clock, ended, whole, whole_known;

	/* rows of events */
	struct op_plan *plans[65536];
	uint8_t column_at[65536]; /* of a column id in the table's own; 0: none; + 1 */
	VEC(struct ctx_row) ctxs;
	struct map places; /* process to index + 1 */
	VEC(struct archive_place) place;
	struct arena parts;
	VEC(uint64_t) numbers; /* of events so far, by string of the node's name */
	VEC(int64_t) hashes;   /* by stack, once made */
	VEC(uint8_t) hashed;
	struct page leaf;
	struct row row;
	struct page_file spool; /* leaves, in a file without a name */
	struct table_leaves leaves;
	struct keys times, ctx_ids, sites; /* of each event */
	struct map site_by;
	VEC(struct archive_site {
		struct archive_code code;
		uint32_t stack;
	})
	site;
	uint64_t events;
	int64_t first_ns, last_ns; /* ends of events */

	/* whole minutes: the first row of each */
	VEC(struct archive_minute {
		int64_t minute;
		uint64_t row;
	})
	minutes;
	struct map sum_by;
	VEC(struct archive_sum) sums;
	uint64_t left_out_rows; /* in the end: rows before this one are left out */
	int64_t keep_from_ns;	/* UTC */

	/* statements and records */
	sqlite3_stmt *record_to[RECORD_KINDS_MAX];
	sqlite3_stmt *more_to; /* event_values */
	uint64_t records;
	VEC(struct archive_snapshot) snapshot;
	struct map memory; /* node to bytes */
	VEC(struct archive_session) sessions;
	VEC(struct archive_end) ends;
	struct map session_of; /* node to index + 1 of the newest */
};

/* ---- statements.c: the database of small tables ---- */

int archive_failed(struct archive_writer *a, struct err *e);
int archive_exec(struct archive_writer *a, const char *sql, struct err *e);
int archive_prepare(struct archive_writer *a, sqlite3_stmt **s, const char *sql, struct err *e);
/* Runs a statement that gives no rows, and makes it ready for the next. */
int archive_step(struct archive_writer *a, sqlite3_stmt *s, struct err *e);
/* Absent is NULL; what is no UTF-8 is a blob. Borrowed until the statement ran. */
void archive_bind_text(sqlite3_stmt *s, int i, struct bytes text);
/* 0 is NULL. */
void archive_bind_id(sqlite3_stmt *s, int i, uint32_t id);
static inline int64_t archive_utc(const struct archive_writer *a, int64_t ns)
{
	return (int64_t)((uint64_t)ns + (uint64_t)a->offset_ns);
}

/* ---- event_rows.c ---- */

int archive_rows_open(struct archive_writer *a, struct err *e);
int archive_rows_add(struct archive_writer *a, const struct event *ev, struct err *e);
/* The last leaf is done too. */
int archive_rows_end(struct archive_writer *a, struct err *e);
void archive_rows_free(struct archive_writer *a);
void archive_rows_place(struct archive_writer *a, const struct record *r);
const struct ctx_row *archive_ctx(struct archive_writer *a, uint32_t ctx, struct err *e);

/* ---- sums.c ---- */

int archive_sums_add(struct archive_writer *a, int64_t utc_ns, int64_t end_utc_ns,
		     struct archive_code code, uint32_t pid, uint64_t dur_ns, uint64_t arg0,
		     struct err *e);
int archive_sums_left_out(struct archive_writer *a, const struct record *r, struct err *e);
int archive_sums_write(struct archive_writer *a, struct err *e);

/* ---- facts.c ---- */

int archive_facts_add(struct archive_writer *a, const struct record *r, struct err *e);
/* So many events are missing here. */
int archive_facts_lost(struct archive_writer *a, uint64_t lost, struct err *e);
int archive_facts_end(struct archive_writer *a, struct err *e);
void archive_facts_free(struct archive_writer *a);

/* ---- sessions.c: when they ended ---- */

/* Takes what it knows, passes over the rest; behind the record's row. */
int archive_sessions_add(struct archive_writer *a, const struct record *r, struct err *e);
/* From here on SQL has ingero_session_end(n), by the n of session_records. */
int archive_sessions_end(struct archive_writer *a, struct err *e);
void archive_sessions_free(struct archive_writer *a);

/* ---- subjects.c ---- */

int archive_names_write(struct archive_writer *a, struct err *e);
int archive_subjects_write(struct archive_writer *a, struct err *e);

/* ---- stacks.c ---- */

/* stack_traces.hash of a stack, 0 for none. */
int64_t archive_stack_hash(struct archive_writer *a, uint32_t stack);
int archive_stacks_write(struct archive_writer *a, struct err *e);

/* ---- indices.c: the tree of events and its indices, behind what is in the file ---- */

int archive_trees_write(struct archive_writer *a, struct page_file *f, uint8_t *small,
			struct err *e);

#endif
