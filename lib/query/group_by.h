/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting by a key: query/ops.h passes every event that it counts, and its self time and lost time
 * once they are known. Names may arrive after what they name, so keys become text when asked.
 * Memory is bounded by event/groups.h's BY_KEYS_MAX.
 */
#ifndef INGERO_QUERY_GROUP_BY_H
#define INGERO_QUERY_GROUP_BY_H

#include <stdbool.h>

#include "lib/query/coverage.h"
#include "lib/event/groups.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct query_by;

enum query_by_flags {
	/* For who compares recordings: rows that read the same are one, and processes and threads
	 * are called by their command only, since their numbers are others in every run. */
	BY_TEXT = 1 << 0,
	BY_CALLS = 1 << 1, /* calls only */
};

/* w must outlive it. how: of enum query_by_flags. NULL: out of memory. */
struct query_by *query_by_new(struct world *w, enum by_key key, unsigned how);
void query_by_free(struct query_by *by);

/* What was recorded of the time, by which counts are estimated; it must outlive by. */
void query_by_set_coverage(struct query_by *by, const struct coverage *c);

/* One event of this process (world id, 0 unknown); self_ns: what is known of its own time by now. A
 * call inside a call of the same row is the same call seen in another layer (cudaLaunchKernel and
 * the cuLaunchKernel in it), and is counted once, as the outer one; its own time and losses are
 * added. Rows of ops count each. All false when out of memory. */
bool query_by_event(struct query_by *by, const struct event *ev, const struct op_def *op,
		    uint32_t process, uint64_t self_ns);
/* More self time of an event that was passed before, and the time that the host took. */
bool query_by_add_time(struct query_by *by, const struct event *ev, const struct op_def *op,
		       uint32_t process, uint64_t self_ns, uint64_t lost_ns);
/* Every item of the stream, asked for or not, before what is counted of it: says where steps begin.
 */
int query_by_item(struct query_by *by, const struct stream_item *item, struct err *e);
bool query_by_record(struct query_by *by, const struct record *rec);
/* No more events come: a call whose outer call has not ended counts itself. */
bool query_by_end(struct query_by *by);

/* The rows so far, borrowed until asked again. NULL: out of memory. */
const struct by_table *query_by_rows(struct query_by *by);

#endif
