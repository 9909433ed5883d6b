/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder: the last seconds of a recording in memory, as whole segments, written to a
 * file when something happened. What is older than asked for is let go, a segment at a time; a dump
 * is the segments one behind the other, which is a recording.
 */
#ifndef INGERO_RECORD_FLIGHT_H
#define INGERO_RECORD_FLIGHT_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/ige/writer.h"

struct record_flight {
	struct ige_sink sink;
	struct segment *first, *last;
	uint64_t window_ns, bytes_max; /* what is kept: at least that long, at most that much */
	uint64_t bytes;
	int64_t given_up_ns; /* what was given up for its size ended then; 0: nothing was */
};

void record_flight_init(struct record_flight *f, uint64_t window_ns, uint64_t bytes_max);
void record_flight_free(struct record_flight *f);

/* Bytes of the segment that the writer is filling: as long as it is not cut, none of it can be let
 * go. */
uint64_t record_flight_filling(const struct record_flight *f);

/* The writer was cut at now_ns: the segment is whole. Lets go of what is not needed any more: of
 * segments that are older than the window before want_ns, which is now, or when what is still to be
 * written happened. */
void record_flight_cut(struct record_flight *f, int64_t now_ns, int64_t want_ns);

/* All that is kept, to a descriptor; it stays kept. *bytes: how much. */
int record_flight_dump(const struct record_flight *f, int fd, uint64_t *bytes, struct err *e);

#endif
