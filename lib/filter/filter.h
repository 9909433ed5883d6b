/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events somebody asked for: by process, by name, by time. An empty selection takes all.
 * Answers per context and per op are remembered, so that asking costs two look-ups per event.
 */
#ifndef INGERO_FILTER_FILTER_H
#define INGERO_FILTER_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

/* A time as given: `back` before the recording's end, at a UTC time, or at one of the recording's
 * own clock. */
struct filter_time {
	enum { FILTER_NO_TIME, FILTER_BACK, FILTER_CLOCK, FILTER_OWN } kind;
	uint64_t back_ns;
	int64_t own_ns;
	const char *text; /* FILTER_CLOCK: borrowed; its day is known once the recording's end is */
};

struct filter {
	VEC(uint32_t) pids;
	VEC(const char *) patterns; /* borrowed */
	VEC(const char *) nodes;    /* names of machines; borrowed */
	struct filter_time since, until;
	/* Or since the oldest of the newest N selected events; 0: not given. */
	uint64_t newest;
	/* Also select calls that are open when the time begins or ends: the reader reads on to
	 * learn how they ended. */
	bool calls;
	bool resolved;
	int64_t since_ns,
		until_ns; /* on the recording's clock, once resolved: since <= end < until */
	VEC(uint8_t) ctx_answers; /* by world ctx id: 0 not asked yet, 1 no, 2 yes */
	uint8_t *op_answers;	  /* by op number */
};

void filter_free(struct filter *s);

/* "4711". ERR_USAGE when it is no process id. */
int filter_pid(struct filter *s, const char *text, struct err *e);

/* "cuMemAlloc", "cu*Alloc*", "cuda", "driver:cuLaunch*". A name without wildcards that no known
 * event has is ERR_USAGE, with the nearest ones named. text is borrowed. */
int filter_name(struct filter *s, const char *text, struct err *e);

/* Whether an op has that name, or is of that source, as for filter_name. */
bool filter_name_matches(const char *pattern, const struct op_def *op);

/* "5m" (before the end), "15:40", ISO time. text is borrowed. */
int filter_time(struct filter_time *t, const char *text, struct err *e);

/* What programs take on their command lines, as given: -p, -e, -n, --since, --until, --last,
 * --last-events. All borrowed. */
struct filter_words {
	const char *const *pids, *const *names, *const *nodes;
	size_t npids, nnames, nnodes;
	const char *since, *until; /* NULL: not given */
	bool last_given;
	uint64_t last_ns;
	uint64_t newest; /* events; 0: not given */
	/* Or this interval of the recording's clock, wherever the recording ends by now. */
	bool own_given;
	int64_t from_ns, to_ns;
};
int filter_words(struct filter *s, const struct filter_words *words, struct err *e);

/* A time was asked for, so that the recording's end has to be known first. */
static inline bool filter_needs_end(const struct filter *s)
{
	return s->since.kind != FILTER_NO_TIME || s->until.kind != FILTER_NO_TIME || s->newest;
}

/* The recording ends at end_ns on its clock; has_real: that clock lies real_minus_mono_ns behind
 * UTC. */
int filter_resolve(struct filter *s, int64_t end_ns, bool has_real, int64_t real_minus_mono_ns,
		   struct err *e);

/* Whether ev is asked for; by what happened (name, process) and by when. */
bool filter_event(struct filter *s, const struct world *w, const struct event *ev);

/* Whether a machine (world id) is asked for; unknown ones are when all are. */
bool filter_node(const struct filter *s, const struct world *w, uint32_t node);

/* Whether a stretch of time has a part in the time asked for. */
bool filter_overlaps(const struct filter *s, int64_t from, int64_t to);

/* Whether the time that a record is about (record_times) has a part in the selected time. What it
 * sums up lies anywhere in its time. */
bool filter_record_time(const struct filter *s, const struct record *r);

/* Whether a process (world id) is asked for, whatever it did and when. */
bool filter_process(const struct filter *s, const struct world *w, uint32_t process);

#endif
