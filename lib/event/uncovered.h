/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that a recording does not hold although they may have been made: before a library's probes
 * were in place, or through a library that could not be probed. Whoever concludes something from
 * the absence of calls asks uncovered_within first.
 */
#ifndef INGERO_EVENT_UNCOVERED_H
#define INGERO_EVENT_UNCOVERED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/jsonw.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

#define UNCOVERED_END INT64_MAX /* as until_ns: nothing is recorded from then on */

struct uncovered_row {
	uint32_t process; /* world id */
	uint32_t before;  /* position + 1 of another row of that process; 0 none */
	/* On the recording's clock. Where it was not said when, since_ns and until_ns are
	 * INT64_MIN, and ns holds. */
	int64_t since_ns, until_ns;
	uint64_t ns;	 /* until - since; 0: until the end, how long that is is not known */
	bool from_start; /* since_ns is when the process began */
	char layer[16];	 /* "runtime"; empty: which libraries it had is not known */
	char path[200];	 /* its last part, where it is longer */
	char reason[160];
};

/* Zero-initialised is empty. */
struct uncovered {
	VEC(struct uncovered_row) v;
	struct map newest; /* process -> position + 1 of its newest row */
};

/* Takes every record. False: out of memory. */
bool uncovered_record(struct uncovered *u, const struct record *r);
void uncovered_free(struct uncovered *u);

/* Whether calls of the process may be missing anywhere in [from, to]. */
bool uncovered_within(const struct uncovered *u, uint32_t process, int64_t from_ns, int64_t to_ns);

/* "calls of the first 812 ms of process 4711 (python3) were not recorded: its libcudart.so.12 was
 * loaded before the probes were in place". comm may be empty. */
void uncovered_text(struct buf *out, const struct uncovered_row *row, uint32_t pid,
		    struct bytes comm);

/* The members of a row in JSON but for its process; times from start_ns on, null where they are not
 * known. */
void uncovered_json(struct jsonw *j, const struct uncovered_row *row, int64_t start_ns);

#endif
