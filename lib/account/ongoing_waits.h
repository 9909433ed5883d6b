/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that go on where a recording does: the newest ASLEEP record of each thread, until the
 * thread is gone or the recording ends. One that ended has told such waits itself, as intervals
 * that have no end.
 */
#ifndef INGERO_ACCOUNT_ONGOING_WAITS_H
#define INGERO_ACCOUNT_ONGOING_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

struct cause;
struct line;

/* Zero-initialised is empty. */
struct cause_asleep {
	struct map at; /* world thread -> position */
	VEC(struct cause_sleeper {
		struct record said;
		uint64_t calls;	  /* that its process had made when this sleep was said first */
		int64_t calls_ns; /* when that was */
		bool again;	  /* and that was before */
	})
	v;
};

/* An ASLEEP record; calls: that the thread's process has made by now. False: out of memory. */
bool cause_asleep_record(struct cause_asleep *a, const struct world *w, const struct record *r,
			 uint64_t calls);
/* Nothing comes of this thread any more. */
void cause_asleep_gone(struct cause_asleep *a, uint32_t thread);
/* The recording of this machine ended then; node 0: of the only one. */
void cause_asleep_ended(struct cause_asleep *a, const struct world *w, uint32_t node,
			int64_t time_ns);
/* Whether a thread sleeps of which l has had no event since. */
bool cause_asleep_any(const struct cause_asleep *a, const struct line *l);
/* What comes of an event of such a thread before line has it; its context is line_ctx. > 0: line
 * does not get it; < 0: an error. */
typedef int cause_asleep_fn(void *ctx, uint32_t thread, struct event *ev, struct err *e);
/* Each of these waits, in the order of a stream, as the events that it would be if it had ended
 * where it was last said; they are forgotten then. After the last event. */
int cause_asleep_tell(struct cause_asleep *a, const struct world *w, struct line *l,
		      cause_asleep_fn *tell, void *ctx, struct err *e);
void cause_asleep_free(struct cause_asleep *a);

struct cause;
struct buf;

/* For programs that follow a recording, with an ASLEEP record just read: whether the process has
 * made no call since this sleep was stated before, and made some until then, this thread too. If
 * so, appends what it waits for, and where, to out. */
bool cause_stands(const struct cause *c, const struct record *r, struct buf *out);

#endif
