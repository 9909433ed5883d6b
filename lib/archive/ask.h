/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions in SQL, which may come from anybody: the database is opened for reading, and a
 * statement that could do anything else than read its tables is refused before it runs: by what
 * SQLite says it would do, not by its words. Time, rows, memory and the length of values are
 * limited while it runs. A connection is for one thread.
 */
#ifndef INGERO_ARCHIVE_ASK_H
#define INGERO_ARCHIVE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"

struct archive_ask;

struct archive_ask_limits {
	uint64_t time_ns;	 /* of one statement; 0: none */
	bool own_time;		 /* time_ns is CPU time of the thread, not wall-clock time */
	uint64_t rows;		 /* given out of one statement; 0: all */
	uint64_t memory_bytes;	 /* that a statement may take of SQLite, in the thread that asks; it
				    then puts nothing on disk. 0: any */
	bool (*stop)(void *ctx); /* asked now and then; true: ERR_INTERRUPTED. NULL: never */
	void *ctx;
};

enum archive_value_type {
	ARCHIVE_NULL,
	ARCHIVE_INTEGER,
	ARCHIVE_REAL,
	ARCHIVE_TEXT, /* of the database: any bytes */
	ARCHIVE_BLOB
};
struct archive_value {
	enum archive_value_type type;
	int64_t integer;
	double real;
	struct bytes bytes; /* of texts and blobs; borrowed until the next row */
};

/* Receives the answer: the columns once, then each row. A negative result ends the statement and is
 * returned by archive_ask_run. */
struct archive_answer {
	int (*columns)(struct archive_answer *a, const char *const *names, unsigned n,
		       struct err *e);
	int (*row)(struct archive_answer *a, const struct archive_value *values, unsigned n,
		   struct err *e);
};

struct archive_asked {
	uint64_t rows;	       /* given out */
	bool truncated;	       /* there are more */
	uint64_t memory_bytes; /* the most it took of SQLite, where that is limited */
	bool partial;	       /* they are of an archive that is not of a whole recording: see
				  archive_ask_partial */
};

/* Any SQLite file; it stays as it is. ERR_CANNOT: not there, locked; ERR_DAMAGED: none. */
int archive_ask_open(struct archive_ask **out, const char *path,
		     const struct archive_ask_limits *limits, struct err *e);
/* Whether it is an archive of ours that says it is not of a whole recording. */
bool archive_ask_partial(struct archive_ask *q);
/* Other limits for the statements from here on. memory_bytes stays 0, or other than 0. */
void archive_ask_limit(struct archive_ask *q, const struct archive_ask_limits *limits);
/* ERR_USAGE: no statement, several, one that is wrong or would not only read; ERR_LIMIT: it took
 * too long, or too much memory; ERR_DAMAGED, ERR_CANNOT. What was given out until then stands. */
int archive_ask_run(struct archive_ask *q, const char *sql, struct archive_answer *answer,
		    struct archive_asked *asked, struct err *e);
void archive_ask_free(struct archive_ask *q);

/* The schema of archives (formats/archive.sql), with its comments. */
const char *archive_schema(void);

#endif
