/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place in a program that may be a loop: a function, reached through the same functions, in which
 * a thread's line jumped back. Counts its jumps by where they come from and where they land, and
 * tells which of them begin an iteration. A jump does not when it is that of an inner loop of the
 * same function, or when it lands at the first line of a statement whose other lines were evaluated
 * before it.
 */
#ifndef INGERO_LOOPS_LOOP_ROW_H
#define INGERO_LOOPS_LOOP_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/loops/loop_anchor.h"
#include "lib/loops/loop_callees.h"

#define LOOP_JUMPS    16 /* kinds of jumps kept apart; others count like samples */
#define LOOP_LANDINGS 8	 /* lines at which waits are seen to land */

/* What shows that a thread is at a line. */
enum loop_seen {
	LOOP_SEEN_CALL,
	LOOP_SEEN_WAIT,	  /* where a program always waits, and wherever else it has to */
	LOOP_SEEN_SAMPLE, /* anywhere */
};

/* Jumps between the same two lines. */
struct loop_jump {
	uint32_t from, to;
	uint64_t n;
	uint64_t skips; /* times that the next line was beyond from, and none between was visited */
	uint64_t inner; /* times that a line beyond from came before the first line again */
	uint32_t open;	/* jumps of which that is not known yet */
};

/* Jumps that a wait showed, by where they land. */
struct loop_landing {
	uint32_t line;
	uint64_t n;
};

/* A level of the stack down to a loop's function. */
struct loop_around {
	uint64_t path;	    /* hash of the functions down to this one */
	uint64_t line_path; /* and of its line */
	uint32_t function;
	uint32_t line;	 /* at which it called what is below, when it was last seen to */
	uint64_t stayed; /* times that all below it was left, and not it, and was called again */
};

#define LOOP_NO_LEVEL UINT8_MAX

/* A possible beginning of an iteration. */
struct loop_begin {
	int64_t ns;
	int64_t left_ns;     /* when the loop was left before; INT64_MAX: it was not */
	uint64_t calls;	     /* of the thread until then */
	uint64_t idle_ns;    /* LOOPS_IDLE_NS and longer without an event of it, until then */
	uint64_t waited_ns;  /* that it waited between calls, until then */
	uint32_t from, to;   /* lines; from 0: the loop was entered */
	uint8_t seen;	     /* enum loop_seen, as loop_row_begins() wants it */
	uint8_t stayed;	     /* it was left, but the line that called it did not change */
	uint8_t anchored;    /* known by its anchor alone */
	uint8_t interrupted; /* events may be missing between the beginning before and this */
	/* While the loop was left: the innermost level that was not, and the lines at which it was
	 * seen. */
	uint8_t level; /* or LOOP_NO_LEVEL */
	uint32_t gap_first, gap_last;
};

struct loop_row {
	uint64_t path;		   /* hash of the functions down to this one; 0: not in use */
	struct loop_around *above; /* by depth: the functions around it, and its own */
	uint32_t function, depth;
	uint32_t line; /* 0: the loop is all of the function, else this line, whose callees are its
			  lines */
	struct loop_callees callees;
	struct loop_jump jumps[LOOP_JUMPS];
	unsigned njumps;
	int last;	      /* the jump whose next line is not known yet; -1: none */
	uint64_t total;	      /* jumps between calls */
	uint64_t shown;	      /* jumps of which calls or waits showed both ends */
	uint32_t first;	      /* line at which iterations begin; 0: not known */
	uint32_t beyond;      /* the last line from which a beginning came */
	uint32_t loose_first; /* least line at which other jumps landed */
	/* See loop_next.h: the least line where jumps landed behind all that were known of the loop
	 * until then (0: none did), the last one of these, and the first iteration there. */
	uint32_t next, next_behind;
	struct loop_begin next_begin;
	bool is_next; /* it has more iterations: those from before do not count */
	struct loop_landing waits[LOOP_LANDINGS];
	unsigned nwaits;
	uint64_t waited; /* jumps that waits showed */
	/* Beginnings that waits and samples saw, by entering the function, and by the anchor. */
	uint64_t loose, entries, anchored;
	uint64_t strange; /* of the entries, those from another line than before */
	bool reentered;	  /* it did not jump back, but began again when it was called again */
	/* A wait or a sample showed the newest jump, whose line had made calls: that line, and
	 * whether the jump counts in loose. 0: no jump, or a call came since. */
	bool loose_counts;
	uint32_t loose_from;
	/* Counts of the iterations between two times that it was left, if none may be missing:
	 * times that the count was known, that it was one, and that it differed from the one
	 * before. */
	uint64_t stays, singles, uneven;
	uint64_t stay,
		last_stay;   /* iterations that ended since it was left, and in the time before */
	bool stay_cut;	     /* some may be missing since */
	uint64_t preludes;   /* times that it was called and came to lines before its first one */
	int64_t stay_ns;     /* when that began */
	uint64_t away_calls; /* of the thread, while it was left */
	uint64_t far, far_calls; /* times that this was for long, and the calls of these */
	uint64_t left_calls;	 /* of the thread when it was left */
	uint64_t next_try;	 /* stays when its caller is looked for again */
	int caller; /* depth of the function whose loop calls it once per turn; -1: not known */
	uint32_t near_first, near_last; /* the lines that one comes to between two calls */
	bool awaited;			/* entered above its first line */
	uint32_t reached;		/* the last line it came to since it was entered */
	uint32_t ends;	 /* the line that it came to, at least, before it was left after one call */
	int64_t left_ns; /* when a stack did not contain it any more */
	int64_t beyond_ns;	     /* when it went on to a line behind the loop; 0: it did not */
	int64_t first_ns, newest_ns; /* of the first and the newest beginning */
	uint64_t first_calls, last_calls; /* of the thread, at the first and newest beginning */
	VEC(struct loop_begin) begins;
	uint64_t dropped; /* beginnings that found no room */
	struct loop_anchor anchor;
	int loop; /* number of the loop that it was found to be; -1: none */
};

void loop_row_free(struct loop_row *r);

/* It was entered at that line. */
void loop_row_enter(struct loop_row *r, uint32_t line);
/* The line went from there back to there. */
void loop_row_add_jump(struct loop_row *r, uint32_t from, enum loop_seen from_seen, uint32_t to,
		       enum loop_seen to_seen);
/* A call is made at that line, the first one since a wait or a sample showed a jump: what is
 * between calls is a jump, too, if the line is before that of the call before. */
void loop_row_confirm_jump(struct loop_row *r, uint32_t to);
/* It went on to that line. */
void loop_row_add_line(struct loop_row *r, uint32_t line, enum loop_seen seen);
/* Finds anew at which line iterations begin. */
void loop_row_find_first(struct loop_row *r);
/* What was counted of jumps so far is of another time. */
void loop_row_forget_jumps(struct loop_row *r);

/* Whether such a jump begins an iteration, for all that is known. seen: what shows that it came to
 * `to`; LOOP_SEEN_CALL only if calls show both lines. */
bool loop_row_begins(const struct loop_row *r, uint32_t from, uint32_t to, enum loop_seen seen);

/* Whether such a jump may be one of an inner loop, or within a statement. */
bool loop_row_may_be_inner(const struct loop_row *r, uint32_t from, uint32_t to);

/* The lines of its loop. */
void loop_row_lines(const struct loop_row *r, uint32_t *first, uint32_t *last);

/* Whether it is made within what that row's loop would be: by a function that it calls, or by one
 * line of it. */
bool loop_row_is_inside(const struct loop_row *r, const struct loop_row *outer);

/* Of a line, or a function that was only seen to be called again: most of its iterations may be
 * calls from here and there. */
bool loop_row_is_doubtful(const struct loop_row *r);

/* Iterations that began, about; 0: none by a jump. */
uint64_t loop_row_count(const struct loop_row *r);

#endif
