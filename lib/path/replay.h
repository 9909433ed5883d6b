/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if by replay: how much earlier each thread would have been had causes of lost time taken
 * nothing. Where subtraction takes the cause out of the path alone, the replay lets every thread
 * run forward and finds what the path would have waited for instead. All causes are replayed in one
 * pass, each in a lane; the last lane has all of them at once that
 * can go.
 */
#ifndef INGERO_PATH_REPLAY_H
#define INGERO_PATH_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/path/path.h"

#define REPLAY_LANES 16
/* Of more threads than this, each with up to 12 KiB of shifts and batches, nothing is replayed. */
#define REPLAY_THREADS 4096
#define REPLAY_ALL     (REPLAY_LANES - 1) /* the lane without all causes but those that stay */

/* What is not known (when the device was done, whether a time from outside would have come earlier,
 * too) is replayed twice. */
enum replay_end { REPLAY_CAUTIOUS, REPLAY_HOPEFUL, REPLAY_ENDS };

struct replay;

/* Of a path that is finished, which stays the caller's and must not change meanwhile. NULL: out of
 * memory. */
struct replay *replay_new(struct path *p);
void replay_free(struct replay *r);

/* What the thread does so is the lane's cause. occupant: 0, or the thread that had the CPU
 * meanwhile and that the path does not need, which is it then; exclusion: only while somebody waits
 * for the thread to leave. False: out of memory. */
struct replay_mark {
	unsigned lane;
	bool stays; /* it is not of the last lane */
	uint32_t thread, occupant;
	bool exclusion;
	struct segment s; /* its end means nothing */
};
bool replay_mark(struct replay *r, const struct replay_mark *m);

struct replay_span {
	int64_t from_ns, to_ns;
};

/* Of the spans, and from the first one's begin to the last one's end. */
struct replay_gain {
	int64_t spans_ns[REPLAY_ENDS],
		whole_ns[REPLAY_ENDS];	       /* what the anchor would have gained */
	uint64_t spans_path_ns, whole_path_ns; /* what of its path is the cause's */
	uint64_t busiest_ns; /* CPU time that one thread which the path needs had still to spend in
				the whole */
};

struct replay_gains {
	struct replay_gain lanes[REPLAY_LANES];
	uint64_t device_ns; /* that the devices of the anchor's process were at work, at least */
	uint64_t whole_ns;  /* of the whole */
	bool is_all; /* else what lies before from_ns is known as sums only, and was not replayed */
	int64_t from_ns;
};

/* Replays the anchor's spans, n > 0 in order of time. False: out of memory. */
bool replay_run(struct replay *r, uint32_t anchor, const struct replay_span *spans, size_t n,
		struct replay_gains *out);

#endif
