/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a thread while its loops are looked for; private to loops*.c. An event walks down
 * the thread's levels (loops_walk.c), which begins iterations of rows (loops_begin.c); those of the
 * loop that was chosen (loops_choose.c) are reported as steps (loops_tell.c).
 */
#ifndef INGERO_LOOPS_LOOPS_INTERNAL_H
#define INGERO_LOOPS_LOOPS_INTERNAL_H

#include "lib/base/vec.h"
#include "lib/event/paused.h"
#include "lib/loops/loop_row.h"
#include "lib/loops/loops.h"
#include "lib/loops/python_lines.h"
#include "lib/loops/stack_calls.h"

#define LOOPS_VISITS 8
#define LOOPS_ALL    (LOOPS_ROWS + LOOPS_LINES) /* rows: functions, then lines; at most 64 */
#define LOOPS_SLOTS  128			/* a power of two, at least twice LOOPS_ALL */
#define LOOPS_NEVER  INT64_MAX
#define LOOPS_TASKS  8 /* functions of an event loop's tasks that wait */
/* Of the time that all steps take: so much is to be certain for the others to be estimated. */
#define LOOPS_CERTAIN_SHARE 0.1
/* Times without an event that may hide iterations of a loop that is not known yet. */
#define LOOPS_IDLE_NS 1000000

/* The lines of a function until it jumps back for the first time, over the times that it was
 * entered. */
struct loop_visit {
	int64_t ns;
	int64_t left_ns; /* it was entered here, and left before; LOOPS_NEVER: it went on to this
			    line */
	uint64_t calls;
	uint32_t line;
};

/* A frame of the newest stack. */
struct loop_level {
	uint64_t path; /* hash of the functions down to here */
	uint32_t function, line;
	int row;	     /* -1: none */
	int line_row;	     /* of its line; -1: none */
	enum loop_seen seen; /* the first event at this line */
	bool moved;	     /* the line around it changed since it was left */
	int64_t resumed_ns; /* when it was left before it came to its line again, with no call since
			     */
	int64_t left_ns;    /* of what is not on the stack any more */
	int64_t entered_ns;
	uint32_t gap_first, gap_last; /* lines since what may be a loop below it was left */
	/* The function here before one that only waited: that may be called between two of its
	 * iterations. */
	uint64_t calls_path; /* 0: none */
	uint32_t calls_line;
	int64_t calls_left_ns;
	struct loop_callees callees; /* of its line, while that has no row */
	uint64_t visits_path; /* whose they are: another function may only wait here meanwhile */
	unsigned nvisits;
	struct loop_visit visits[LOOPS_VISITS];
};

/* Levels of tasks of one function that the event loop left for another one's. */
struct loops_task {
	uint32_t function; /* the outermost; 0: not in use */
	int64_t left_ns;
	unsigned nlevels;
	struct loop_level *levels; /* below the event loop; as many as that, or NULL */
};

/* Within which steps usually last; 0: not known. */
struct loop_lengths {
	uint64_t fast_ns, slow_ns;
};

struct loops_thread {
	uint32_t id, node, process;
	bool python;			   /* frames were seen of it */
	struct loops_calls *process_calls; /* NULL: none were made yet */
	uint64_t newest_trip;		   /* see struct loops_call */
	uint32_t stack;			   /* of the newest event, 0: none */
	uint32_t waits_inside;		   /* of the call that has not returned */
	uint32_t callee; /* the newest event's, see LOOP_CALLEE_OP; 0: it was no call */
	unsigned nlevels;
	unsigned ncalled; /* of these whose newest callee is known */
	uint64_t calls;
	uint64_t phase_calls; /* calls when the loop before was over */
	int64_t first_ns, last_ns;
	bool over;		    /* it ended */
	struct loop_level *levels;  /* LOOPS_DEPTH; NULL: no Python was seen, or it is over */
	struct loop_row *rows;	    /* LOOPS_ALL, or NULL */
	uint8_t slots[LOOPS_SLOTS]; /* of path: place in rows plus one, 0: none */
	unsigned nwatched;
	uint8_t watched[LOOPS_ALL]; /* rows on the stack that jumped before, outermost first */
	uint64_t left;	  /* rows that were left between two of their iterations, a bit each */
	unsigned task_at; /* where the tasks of its event loop begin in levels; 0: it has none */
	struct loops_task *tasks; /* LOOPS_TASKS, or NULL */
	bool has_line_rows;
	bool has_lines;		/* the newest stack */
	bool aside;		/* a wait or a sample showed a function beside one with calls */
	bool loose_jump;	/* a wait or a sample showed one since the newest call */
	int current;		/* row of the current loop; -1: none */
	bool open;		/* a step has begun */
	struct loop_begin step; /* of the one that is open */
	int64_t beyond_ns;  /* the current loop's function went on to lines behind it; or never */
	int64_t told_ns;    /* end of the last step */
	int64_t free_ns;    /* end of the newest event */
	int64_t lines_ns;   /* the same of one whose stack has Python frames */
	int64_t unended_ns; /* begin of a wait that had not ended, if that is the newest event; or
			       never */
	int64_t before_ns;  /* end of the one before, then */
	uint64_t idle_ns;   /* see LOOPS_IDLE_NS */
	uint64_t waited_ns; /* between calls */
	uint64_t sure,
		sure_waited_ns;	     /* the current loop's certain steps, and what they waited so */
	uint64_t median_ns;	     /* of the current loop's steps, about; 0: not known */
	uint64_t median_due;	     /* certain steps, with which it is found anew */
	struct loop_lengths lengths; /* the same */
	uint64_t hidden; /* iterations since the open step's begin that had no event, if any are
			    missing */
	bool nomem;
};

/* A stretch of so long, in which steps may be hidden, is counted as these. */
void loop_lengths_count(const struct loop_lengths *x, struct loop *loop, uint64_t ns, bool counted);
/* Of the steps that are certain; they must be MEDIAN_LEAST or more to say anything. */
struct loop_lengths loop_lengths_of(const struct loop *loop);

enum loops_kind {
	LOOPS_UNSET,
	LOOPS_IGNORED,
	LOOPS_LAUNCH, /* calls that are detached first */
	LOOPS_CALL,
	LOOPS_SAMPLE, /* at any place: not in the order of the program's lines */
	LOOPS_WAIT,
	LOOPS_EXIT,
};

#define LOOPS_WAITS 0x80 /* of a call: it may wait for the device */
#define LOOPS_TRIP  0x40 /* to the device and back: a copy, a wait, the launch of a graph */
#define LOOPS_FLAGS (LOOPS_WAITS | LOOPS_TRIP)

struct loops {
	const struct world *w;
	struct loop_listener *listener;
	struct python_lines lines;
	struct stack_calls stack_calls;
	struct paused paused;
	int64_t lost_since_ns, lost_until_ns; /* the newest; empty: none */
	VEC(struct loop) v;
	VEC(struct loops_thread *) threads;
	VEC(struct loops_thread *) by_thread; /* world id */
	size_t living, forget_at;
	struct loops_thread over; /* whichever ended without a step */
	uint32_t last_ctx;
	struct loops_thread *last;	 /* of last_ctx */
	uint8_t *kinds;			 /* enum loops_kind, by op; LOOPS_FLAGS or-ed */
	VEC(struct loops_calls *) calls; /* by process; NULL: none */
	bool nomem;
};

/* Whether the event says anything of loops. */
static inline bool loops_wants(const struct loops *l, const struct event *ev)
{
	const uint8_t kind = l->kinds[ev->op] & ~LOOPS_FLAGS;

	if (kind == LOOPS_WAIT)
		return true;
	return kind != LOOPS_IGNORED && !ev->depth && (ev->stack || kind > LOOPS_WAIT || !kind);
}

static inline uint64_t loops_mix_path(uint64_t path, uint32_t function)
{
	uint64_t x = (path + function) * 0x9e3779b97f4a7c15;

	return x ^ x >> 29;
}

/* Of the functions down to the level's, and its line. */
static inline uint64_t loops_line_path(const struct loop_level *level)
{
	uint64_t x = (level->path ^ level->line) * 0xbf58476d1ce4e5b9;

	return x ^ x >> 31;
}

/* Place of that path in rows; -1: it has none. */
static inline int loops_find_row(const struct loops_thread *th, uint64_t path)
{
	for (unsigned i = path % LOOPS_SLOTS; th->slots[i]; i = (i + 1) % LOOPS_SLOTS) {
		if (th->rows[th->slots[i] - 1].path == path)
			return th->slots[i] - 1;
	}
	return -1;
}

/* loops_walk.c: the thread has this stack at ns; th->callee is what the innermost line calls. task:
 * where that of an event loop begins, or 0. */
void loops_walk(struct loops *l, struct loops_thread *th, const struct python_line *lines,
		unsigned n, unsigned task, int64_t ns, enum loop_seen seen);
/* Another call with the same lines. */
void loops_walk_leaf(struct loops *l, struct loops_thread *th, int64_t ns, uint32_t callee);
/* loops_tasks.c: the event loop goes on with tasks of that function, whose levels are as they were
 * when it left them, or none. */
void loops_tasks_switch(struct loops *l, struct loops_thread *th, uint32_t function, int64_t ns);
/* The event loop was left. */
void loops_tasks_drop(struct loops_thread *th);
/* When the event loop left the tasks that the row is in; LOOPS_NEVER: it did not, or never knew
 * them. */
int64_t loops_tasks_left_ns(const struct loops_thread *th, const struct loop_row *row);
void loops_tasks_free(struct loops_thread *th);
/* loops_line.c: the level's line calls that now. left_ns: the level was left after it called
 * something before, and nothing around it changed since; or LOOPS_NEVER. Whether it called the same
 * before. */
bool loops_line_call(struct loops *l, struct loops_thread *th, unsigned depth, uint32_t key,
		     int64_t ns, int64_t left_ns);

/* loops_begin.c. An iteration of that row may begin. */
void loops_begin(struct loops *l, struct loops_thread *th, struct loop_row *row,
		 struct loop_begin b);
/* A row's function was entered, or went on to where its loop begins. stayed: see loop_row.h. */
void loops_enter_row(struct loops *l, struct loops_thread *th, struct loop_row *row, uint32_t line,
		     int64_t ns, bool stayed);
/* A call that is no launch, with the stack that was walked. */
void loops_begin_anchored(struct loops *l, struct loops_thread *th, uint16_t op, int64_t ns);
/* A wait inside such a call. */
void loops_begin_waited(struct loops *l, struct loops_thread *th, uint16_t op, int64_t ns);
/* A wait for that object with the stack that was walked. */
void loops_begin_asleep(struct loops *l, struct loops_thread *th, uint8_t object, int64_t ns);
/* A wait with the stack that was walked, for the functions that it was called from just before. */
void loops_begin_left(struct loops *l, struct loops_thread *th, uint16_t op, int64_t ns);
/* That of a level; NULL: there is no room. */
struct loop_row *loops_need_row(struct loops *l, struct loops_thread *th, unsigned depth);
struct loop_row *loops_need_line_row(struct loops *l, struct loops_thread *th, unsigned depth);
/* Tiers of calls that may be missing between (1 << enum op_tier, or-ed); all bits: anything. */
uint8_t loops_missing(const struct loops *l, uint32_t node, int64_t from_ns, int64_t to_ns);

/* loops_calls.c: a call that is a LOOPS_TRIP, of a thread without Python frames. */
void loops_calls_add(struct loops *l, struct loops_thread *th, const struct event *ev);
/* A thread that made such calls was off its CPU, within a call or not. */
void loops_calls_wait(struct loops *l, const struct loops_thread *th, const struct event *ev);
/* The thread has Python frames. */
void loops_calls_exclude(struct loops *l, const struct loops_thread *th);
/* It is over. */
void loops_calls_leave(struct loops *l, struct loops_thread *th);
void loops_calls_free(struct loops *l);

/* loops_called.c: the row is not on the stack any more, or not at its line. */
static inline void loops_leave_row(const struct loops_thread *th, struct loop_row *row, int64_t ns)
{
	row->left_ns = ns;
	row->left_calls = th->calls - (th->callee != 0);
}
/* The level is to come to another line, or is dropped. */
static inline void loops_leave_line(struct loops_thread *th, const struct loop_level *level,
				    int64_t ns)
{
	if (th->has_line_rows && level->line_row >= 0)
		loops_leave_row(th, &th->rows[level->line_row], ns);
}
/* These levels are not on the stack any more. Whether there was a row in them. */
static inline bool loops_leave_levels(struct loops_thread *th, struct loop_level *levels,
				      unsigned n, int64_t ns)
{
	bool had_row = false;

	for (unsigned i = 0; i < n; i++) {
		levels[i].left_ns = ns;
		had_row |= levels[i].row >= 0 || levels[i].line_row >= 0;
		if (levels[i].row >= 0)
			loops_leave_row(th, &th->rows[levels[i].row], ns);
		loops_leave_line(th, &levels[i], ns);
	}
	return had_row;
}
/* It was left, and is called again: what came between. */
void loops_called_enter(const struct loops_thread *th, struct loop_row *row, struct loop_begin *b);
/* An iteration begins. */
void loops_called_count(struct loops_thread *th, struct loop_row *row, const struct loop_begin *b,
			bool is_first);
/* Finds the row's caller, if the loop is that one's. */
void loops_called_find(const struct loops *l, struct loop_row *row);
/* Whether nothing tells its iterations from calls from here and there (loop_row.h), and its
 * function does not jump back as often as it comes to the row's line. */
bool loops_called_is_doubtful(const struct loops_thread *th, const struct loop_row *row);
/* Whether the row is only seen now and then to jump back, and a function that it calls, or what one
 * of its lines calls, tells the iterations of its loop. */
bool loops_called_is_glimpse(const struct loops *l, const struct loops_thread *th,
			     const struct loop_row *row);
/* Adds what the caller's loop began before the row did. False: out of memory. */
bool loops_called_add_earlier(const struct loops_thread *th, struct loop_row *row);
/* The lines between two iterations that are no longer apart than that are the caller's loop's. */
void loops_called_add_near(struct loop_row *row, const struct loop_begin *b, int64_t most_ns);
/* When the caller's loop was left before that iteration, and when it was left now; LOOPS_NEVER: it
 * was not. */
int64_t loops_called_left(const struct loop_row *row, const struct loop_begin *b);
int64_t loops_called_left_now(const struct loops_thread *th, const struct loop_row *row);

/* loops_choose.c: chooses a loop if it is time to; finish: with what there is. */
void loops_choose(struct loops *l, struct loops_thread *th, bool finish);
/* Whether a row around the current loop turns out to be the loop. */
void loops_correct(struct loops *l, struct loops_thread *th, struct loop_row *row);

/* loops_tell.c. The current loop's next iteration begins. */
void loops_tell(struct loops *l, struct loops_thread *th, struct loop_begin b);
/* Steps of loops inside of that row are void: it is the loop. */
void loops_void_inside(struct loops *l, struct loops_thread *th, const struct loop_row *row);
/* Of the times from one beginning to the next that are kept; 0: there is none, or no memory. */
int64_t loops_median_interval(struct loops *l, const struct loop_row *row);
/* The row is the thread's current loop from now on: reports the steps that it began. */
void loops_tell_row(struct loops *l, struct loops_thread *th, struct loop_row *row);
/* The row was reported as a loop, but now is another one of its function, which is to be chosen
 * anew. */
void loops_move_on(struct loops *l, struct loops_thread *th, struct loop_row *row, int64_t ns);
/* When the current loop was left; LOOPS_NEVER: it was not. */
int64_t loops_left_ns(const struct loops_thread *th);
/* When the last step of the current loop ended, if no event of the thread follows. A step that is a
 * hang is taken back. */
int64_t loops_end_ns(const struct loops *l, struct loops_thread *th);
/* Whether the current loop has been left for long: it is over then. */
void loops_check_left(struct loops *l, struct loops_thread *th, int64_t ns);
/* The current loop is over, and its last step ended then. */
void loops_tell_end(struct loops *l, struct loops_thread *th, int64_t ns);

#endif
