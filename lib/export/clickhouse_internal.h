/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for ClickHouse: events and findings.
 */
#ifndef INGERO_EXPORT_CLICKHOUSE_INTERNAL_H
#define INGERO_EXPORT_CLICKHOUSE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/jsonw.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/export/comm_ids.h"
#include "lib/export/format.h"
#include "lib/world/site_frames.h"
#include "lib/world/world.h"

/*
 * Which job and rank processes belong to, as PLACE records say it. Memory is bounded by
 * PROCESS_PLACE_MAX processes; of further ones nothing is known.
 */

#define PROCESS_PLACE_MAX (1u << 20)

struct process_place_row {
	uint32_t process; /* world id */
	uint32_t job; /* string: the scheduler's job, else the run its ranks have in common, else
			 the pod; 0: none of them */
	int64_t rank; /* -1: none */
};

/* Zero-initialised is empty. */
struct process_place {
	VEC(struct process_place_row) v;
	struct map by; /* process -> index */
};

/* Takes PLACE records, passes over the rest; the newest statement holds. False: out of memory. */
bool process_place_record(struct process_place *p, struct world *w, const struct record *r);
/* Never NULL: of a process nothing is said about, job 0 and rank -1. */
const struct process_place_row *process_place_of(const struct process_place *p, uint32_t process);
/* The process of that number on that machine; where machine is 0, on any. */
const struct process_place_row *process_place_pid(const struct process_place *p,
						  const struct world *w, struct bytes node,
						  uint32_t pid);
void process_place_free(struct process_place *p);

/*
 * Rows for a column store, all tables in one stream: a line of JSON each, its key "row" says which
 * table it is for (formats/clickhouse/). Times are UTC in nanoseconds, or of the recording's clock
 * where it does not say what time it was.
 */

struct clickhouse {
	struct export_ctx em;
	struct process_place placed;
	struct comm_ids comms;
	struct site_frames sites;
};

/* Begins a line: {"row":..,"node":..,"job":..,"rank":..; and ends it. */
void clickhouse_begin(struct jsonw *j, const struct clickhouse *c, const char *row,
		      struct bytes node, const struct process_place_row *at);
void clickhouse_end(struct jsonw *j);
/* Of a time on the recording's clock. */
int64_t clickhouse_time(const struct clickhouse *c, int64_t ns);

/*
 * What an analysis found, as rows: causes, where the time of processes went, loops and their slow
 * steps.
 */

/* A body that is not JSON is passed over. */
void clickhouse_cause(const struct clickhouse *c, const struct rec_CHAIN *r);
void clickhouse_analysis(const struct clickhouse *c, const struct rec_ANALYSIS *r);

#endif
