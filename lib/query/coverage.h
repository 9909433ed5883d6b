/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many calls were made, where probes of their tier were detached for a part of the time (PAUSED
 * records): those that were counted, times the time that their process lived over the time of it
 * that was covered. What was counted before the first pause is all there. Costs nothing where
 * nothing was paused.
 */
#ifndef INGERO_QUERY_COVERAGE_H
#define INGERO_QUERY_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/paused.h"
#include "lib/world/world.h"

/* Of a process, since the first pause. */
struct coverage_process {
	int64_t from_ns; /* INT64_MIN: it was there before; INT64_MAX: it did nothing since */
	int64_t to_ns;	 /* INT64_MAX: it did not end */
};

/* Zero-initialised is empty. */
struct coverage {
	struct paused paused;
	int64_t from_ns, to_ns; /* the time that is looked at, when estimates are asked for */
	int64_t event_ns;	/* start of the first event since; INT64_MIN: there was none yet */
	int64_t first_ns;	/* the first pause, of whatever node and tier */
	uint32_t before;	/* processes known when the first pause was recorded */
	VEC(struct coverage_process) lives; /* by world process */
};

/* Takes every record. False: out of memory. */
bool coverage_add_record(struct coverage *c, const struct world *w, const struct record *r);
bool coverage_update_process(struct coverage *c, const struct world *w, const struct event *ev);
/* Every event in stream order: when processes begin and end. False: out of memory. */
static inline bool coverage_add_event(struct coverage *c, const struct world *w,
				      const struct event *ev)
{
	return (c->paused.lists.n == 0 && ev->op != OP_PROC_EXIT) ||
	       coverage_update_process(c, w, ev);
}
void coverage_free(struct coverage *c);

/* Calls of one process and tier since the first pause, in a row of some table. */
struct coverage_part {
	uint32_t process; /* world id, 0: not known */
	uint32_t tier;
	uint64_t count, errors, total_ns;
};

/* Zero-initialised is empty. */
struct coverage_row {
	VEC(struct coverage_part) v;
	/* Of all of the time: tiers of its calls (1 << enum op_tier, or-ed), and whose they were;
	 * op: of the newest. */
	uint32_t process;
	uint16_t op;
	bool several; /* processes */
	uint8_t tiers;
};

void coverage_row_set_process(struct coverage_row *row, uint32_t process, uint16_t op);

bool coverage_row_add(struct coverage_row *row, uint32_t process, uint16_t op, bool failed,
		      uint64_t dur_ns);
/* One more call in a row; records come before events that ended earlier. False: out of memory. */
static inline bool coverage_count_call(const struct coverage *c, struct coverage_row *row,
				       uint32_t process, uint16_t op, bool failed, int64_t end_ns,
				       uint64_t dur_ns)
{
	if (row->op != op || row->process != process)
		coverage_row_set_process(row, process, op);
	return c->paused.lists.n == 0 || end_ns <= c->first_ns ||
	       coverage_row_add(row, process, op, failed, dur_ns);
}
void coverage_row_free(struct coverage_row *row);

/* From when on counts stand for more: the first pause, or the beginning of what is looked at. */
int64_t coverage_since(const struct coverage *c);

/* Whether no call of the tier was recorded from the first pause on, or from the begin of the
 * process (0: any), to the end of it or of what is looked at: how many there were is not known. */
bool coverage_is_unknown(const struct coverage *c, const struct world *w, uint32_t process,
			 unsigned tier);

/* What there was of what a row has counted; `is` and `least` are false where all of it was
 * recorded. */
struct estimate coverage_estimate(const struct coverage *c, const struct world *w,
				  const struct coverage_row *row, const struct estimate *counted);

#endif
