/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical paths of programs, as the analysis tells them: for each thread that a program waits
 * for, its steps and what every phase of its life was spent on, by cause and by line of the loop.
 * The analysis makes them (lib/tracks/track_json.c), its record carries them as the member "paths"
 * (lib/model/paths_json.c is the only place that knows its form), and every report reads fields.
 *
 * All texts and lists are in the memory of struct paths, or live as long as it. A text that is not
 * there has p NULL. Durations are nanoseconds, times count from the recording's start.
 */
#ifndef INGERO_MODEL_PATHS_H
#define INGERO_MODEL_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/base/jsonmap.h"
#include "lib/base/jsonw.h"
#include "lib/base/list.h"

/* Where the thread was while a cause lasted. */
struct paths_line {
	struct bytes at, line; /* its own line; the culprit's, or the same */
	struct bytes op;
	bool sampled;
	uint64_t ns;
};

struct paths_culprit {
	struct bytes text;
	bool known; /* a thread: the following are */
	uint32_t pid, tid;
	uint64_t threads; /* alike, told as one */
	bool other_process;
};

struct paths_cause {
	struct bytes text; /* what the thread did, as a phrase */
	uint64_t ns;
	struct bytes class;
	struct bytes pace; /* of sleeps: "kept", "added"; p NULL: not known */
	bool has_culprit;
	struct paths_culprit culprit;
	bool work;	   /* no loss */
	uint32_t severity; /* 0: no loss; else enum finding_severity */
	uint64_t pieces, longest_ns;
	int64_t longest_at_ns;
	struct bytes once;   /* what that was, as a phrase, where it is slow by itself */
	struct bytes course; /* how it runs over the steps: "from about step 101 on"; p NULL: no
				word of it */
	LIST(struct paths_line) lines;
};

/* A cause of a row. */
struct paths_why {
	struct bytes text;
	uint64_t ns;
	uint32_t severity;
	struct bytes class, course; /* as of a cause */
	bool has_culprit;
	struct paths_culprit culprit; /* the same */
};

/* A line of the loop. */
struct paths_row {
	struct bytes line, site; /* no line: all others; the call site below it with most of it */
	uint64_t ns;
	LIST(struct paths_why) why; /* the largest */
};

struct paths_smaller {
	uint64_t causes, ns;
};

/* What is known beside the path, and why some of its time is lost. */
struct paths_note {
	struct bytes kind;    /* "bound": threads share few CPUs; "io-limit", "memory-limit",
			       * "new-processes", "repeated" */
	struct bytes text;    /* a sentence */
	uint64_t ns;	      /* of the phase: what it is about */
	bool matters;	      /* it is a reason, as far as is known */
	struct bytes command; /* shows it, or mends it; p NULL: none */
};

struct paths_phase {
	struct bytes name; /* "start", "steps", "between", "end", "all" */
	int64_t from_ns, to_ns;
	uint64_t ns; /* causes with the smaller ones sum to it, and so do rows */
	LIST(struct paths_cause) causes;
	bool has_smaller;
	struct paths_smaller smaller;
	LIST(struct paths_note) notes;
	struct jsonmap_texts lead; /* lines that lead from the loop to the rows */
	LIST(struct paths_row) rows;
};

/* The loop whose iterations are steps. */
struct paths_steps {
	/* function: p NULL where none is known that makes all calls of a step; file: its module,
	 * where no source is known (first_line 0). */
	struct bytes function, file;
	uint64_t first_line, last_line;
	bool by_calls;	   /* found by the calls that are repeated: */
	uint64_t calls;	   /* so many a step, */
	struct bytes call; /* from this one on */
	uint64_t count;
	bool estimated, at_least; /* of count */
	uint64_t fewest, most;	  /* the same: as few and as many as there may be */
	int64_t first_ns, last_ns;
	uint64_t total_ns;
	bool timed; /* the following are known: of steps that are known exactly */
	uint64_t p50_ns, p99_ns, max_ns;
	uint64_t every;	   /* one step in so many is slow, in equal distances; 0: none is */
	uint64_t every_ns; /* about what it takes */
};

#define PATHS_RANGE_LEAST 1.15 /* from fewest to most: less is a number */
#define PATHS_MEAN_RANGE  4    /* and with more no mean is known */

/* Whether a number of steps alone would say more than is known. */
static inline bool paths_steps_are_range(const struct paths_steps *s)
{
	return s->estimated && !s->at_least &&
	       (double)s->most > PATHS_RANGE_LEAST * (double)s->fewest;
}

/* Whether there is a mean step: not where only a lower bound of their number is known, or as good
 * as that. */
static inline bool paths_steps_have_mean(const struct paths_steps *s)
{
	return !s->at_least &&
	       (!s->estimated || (double)s->most <= PATHS_MEAN_RANGE * (double)s->fewest);
}

struct paths_track {
	uint32_t pid;
	struct bytes node, comm;
	uint32_t tid;
	struct bytes thread; /* the same as text */
	int64_t from_ns, to_ns;
	bool has_steps;
	struct paths_steps steps;
	struct bytes held_by; /* whom the wait is for in which it ends; p NULL: nobody is known */
	LIST(struct paths_phase) phases; /* in order of time */
	bool hidden;			 /* whoever asked did not ask for it */
};

/* Zero-initialised is empty. */
struct paths {
	LIST(struct paths_track) tracks;
	struct arena memory;
	bool failed; /* memory was exhausted while it was made */
};

/* A copy in the memory of *p. */
struct bytes paths_copy(struct paths *p, struct bytes text);

/* Another element of one of the lists; NULL, and p->failed: out of memory. */
#define paths_add(p, list) \
	((__typeof__((list)->v))paths_added_((p), list_add((list), &(p)->memory)))
void *paths_added_(struct paths *p, void *element);

/* The phase of that name; NULL: there is none. */
const struct paths_phase *paths_find_phase(const struct paths_track *t, const char *name);

/* The wait in which a track ends, and which can only be a hang; NULL: there is none, or it may be
 * for something from outside. */
const struct paths_cause *paths_find_hang(const struct paths_track *t);

/* Whether its steps stopped before the end, in a hang much longer than one of them. */
bool paths_is_stuck(const struct paths_track *t);

/* The key "paths" and its value. */
void paths_write_json(const struct paths *p, struct jsonw *j);

/*
 * Reads the member "paths" of an analysis, which anybody may have written; what *p had is gone.
 * Members of a later version are ignored. ERR_DAMAGED: it is no JSON, and *p is empty; or a member
 * has not its type: the first such is named, and *p has the others. ERR_LIMIT: it takes more memory
 * than size_max times JSON_SIZE_BYTES (base/jsoncheck.h). ERR_NOMEM.
 */
int paths_read_json(struct paths *p, struct bytes analysis, size_t size_max, struct err *e);

void paths_free(struct paths *p);

#endif
