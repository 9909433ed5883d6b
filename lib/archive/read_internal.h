/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading an archive keeps, for the files of this room that do it: events and their order
 * (read.c), who and what exists (read_subjects.c), and records (read_records.c).
 */
#ifndef INGERO_ARCHIVE_READ_INTERNAL_H
#define INGERO_ARCHIVE_READ_INTERNAL_H

#include "lib/archive/database.h"
#include "lib/archive/read.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

#define READ_KINDS_MAX 64

/* The rows of one table of records, by n. */
struct read_cursor {
	sqlite3_stmt *s;
	const struct record_def *def;
	int64_t n, after_seq; /* of its row; INT64_MAX: no more */
};

struct archive_reader {
	struct event_stream stream;
	struct archive_reader_told told;
	struct world *w;
	sqlite3 *db;
	char *path;
	struct buf recordings;
	struct map ids[WORLD_KINDS]; /* of the archive to the world's */
	sqlite3_stmt *events, *more; /* by seq; columns that events does not have */
	sqlite3_stmt *lost;	     /* lost_events */
	bool has_event, has_more, has_lost;
	int column_of[65536]; /* of events, by column id; 0: it has none */
	struct read_cursor cursors[READ_KINDS_MAX];
	unsigned ncursors;
	struct read_cursor
		*late_names_record; /* whose texts somebody has; it moves on at the next call */
	struct record record;
	VEC(struct event) batch;
	int64_t emitted_ns; /* the newest that was handed out */
};

/* ---- read_subjects.c ---- */

int read_subjects(struct archive_reader *r, struct err *e);
/* The world's id of what the archive calls id; 0 when it is nothing. */
uint32_t read_id(const struct archive_reader *r, enum world_kind kind, int64_t id);

/* ---- read_records.c ---- */

int read_records_open(struct archive_reader *r, struct err *e);
/* The next one that stands before the event seq; NULL: none. */
struct read_cursor *read_records_before(struct archive_reader *r, int64_t seq);
/* Its record, borrowed until the next call; the cursor moves on with read_records_pass. */
void read_records_take(struct archive_reader *r, struct read_cursor *c);
int read_records_pass(struct archive_reader *r, struct read_cursor *c, struct err *e);

#endif
