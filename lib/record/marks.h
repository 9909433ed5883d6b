/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program says of itself while it is recorded: lines written into a FIFO, which the recorder
 *makes.
 *
 *	step 12		loss 0.42	request 7f3a	epoch		a point: a name, and a
 *number or a text, or nothing begin NAME	end NAME					a
 *range; several may be open, of one name the last ends first
 *
 * Each counts at the time at which it arrives. Lines are short and few: longer ones, more than
 *MARKS_RATE a second, and what is none of this is counted and passed by. Whoever may write the FIFO
 *is the invoking user.
 */
#ifndef INGERO_RECORD_MARKS_H
#define INGERO_RECORD_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/record/recording_files.h"

#define MARKS_LINE  256	  /* bytes of a line */
#define MARKS_RATE  10000 /* lines in a second */
#define MARKS_OPEN  256	  /* ranges open at a time */
#define MARKS_TEXTS 65536 /* different names and texts; marks with more are passed by */

enum mark_kind { MARK_BAD, MARK_NOTHING, MARK_IS_POINT, MARK_BEGIN, MARK_END };
struct mark {
	enum mark_kind kind;
	struct bytes name;
	struct bytes text; /* n 0: none */
	bool has_value;
	double value;
};
/* One line without its end; texts are parts of it. An empty line is nothing. */
struct mark mark_parse(struct bytes line);

struct record_marks_owner {
	void (*event)(void *ctx, const struct event *ev);
	void (*record)(void *ctx, const struct record *r);
	void *ctx;
};

/* A text that was said in this file of the recording. */
struct mark_word {
	uint64_t id;
	int64_t used_ns; /* end of the latest event that names it */
	char *text;
	size_t n;
};

struct mark_open {
	uint64_t name;
	int64_t start_ns;
};

struct record_marks {
	int fd; /* -1: none */
	char *path;
	bool made;
	uint32_t ctx;	 /* world ctx of the events */
	struct buf rest; /* of a line that has not ended */
	bool skipping;	 /* the line is too long: up to its end it is passed by */
	VEC(struct mark_open) open;
	struct map said; /* id of a text -> index of words: its WORD record stands in the stream */
	VEC(struct mark_word) words;
	int64_t second_ns;
	uint64_t in_second;
	uint64_t taken, bad, over; /* lines: understood; not; too many */
	uint64_t full;		   /* for whose texts, or ranges, there is no room */
};

/* Makes the FIFO (mode 0600, the owner's) or takes the one that is there. m is zeroed before. */
int record_marks_open(struct record_marks *m, const char *path, const struct record_owner *owner,
		      struct err *e);
/* What has been written since, as events that end now. */
void record_marks_take(struct record_marks *m, int64_t now_ns, const struct record_marks_owner *to);
/* The same for bytes at hand. */
void record_marks_bytes(struct record_marks *m, const char *p, size_t n, int64_t now_ns,
			const struct record_marks_owner *to);
/* The id of a text that an event which ends now names: it is said first when it is new; 0: no more
 * texts are taken. */
uint64_t record_marks_word(struct record_marks *m, struct bytes text, int64_t now_ns,
			   const struct record_marks_owner *to);
/* Another file begins, with the events that ended at since_ns or later: what these name is said
 * again at once, all else when it is named. */
void record_marks_again(struct record_marks *m, int64_t since_ns,
			const struct record_marks_owner *to);
/* The FIFO goes, if it was made. */
void record_marks_close(struct record_marks *m);

#endif
