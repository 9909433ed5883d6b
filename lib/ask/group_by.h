/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting by a key: told by ask/ops.h of every event it counts, and of its own and lost time once these are known.
 * Names may arrive after what they name, so keys become text when asked. Memory is bounded by event/by.h's BY_KEYS_MAX.
 */
#ifndef INGERO_ASK_GROUP_BY_H
#define INGERO_ASK_GROUP_BY_H

#include <stdbool.h>

#include "lib/ask/covered.h"
#include "lib/event/groups.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct ask_by;

enum ask_by_how {
	/* For who compares recordings: rows that read the same are one, and processes and threads are called by their command
	 * only, since their numbers are others in every run. */
	BY_TEXT = 1 << 0,
	BY_CALLS = 1 << 1, /* calls only */
};

/* w must outlive it. how: of enum ask_by_how. NULL: out of memory. */
struct ask_by *ask_by_new(struct world *w, enum by_key key, unsigned how);
void ask_by_free(struct ask_by *by);

/* What was recorded of the time, by which counts are estimated; it must outlive by. */
void ask_by_covers(struct ask_by *by, const struct covered *c);

/* One event of this process (world id, 0 unknown); self_ns: what is known of its own time by now. A call inside a call of the
 * same row is the same call seen in another layer (cudaLaunchKernel and the cuLaunchKernel in it), and is counted once, as the
 * outer one; its own time and losses are added. Rows of ops count each. All false when out of memory. */
bool ask_by_event(struct ask_by *by, const struct event *ev, const struct op_def *op,
		  uint32_t process, uint64_t self_ns);
/* Of an event told before: more own time, and what the host took. */
bool ask_by_time(struct ask_by *by, const struct event *ev, const struct op_def *op,
		 uint32_t process, uint64_t self_ns, uint64_t lost_ns);
/* Every item of the stream, asked for or not, before what is counted of it: says where steps begin. */
int ask_by_item(struct ask_by *by, const struct stream_item *item, struct err *e);
bool ask_by_record(struct ask_by *by, const struct record *rec);
/* No more events come: a call whose outer call has not ended counts itself. */
bool ask_by_over(struct ask_by *by);

/* The rows so far, borrowed until asked again. NULL: out of memory. */
const struct by_table *ask_by_rows(struct ask_by *by);

#endif
