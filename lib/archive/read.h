/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive of ours (formats/archive.sql) as the event stream that it was made of: events and
 * records in their order, with every field that its tables have. Nothing in it is trusted: rows
 * that cannot be are left out and counted.
 */
#ifndef INGERO_ARCHIVE_READ_H
#define INGERO_ARCHIVE_READ_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct archive_reader;

/* What it says of itself, and what was left out of it in reading, after the end. */
struct archive_reader_told {
	uint8_t node_uuid[16]; /* of the node that records without one are about */
	uint64_t boot;
	/* Times are of a monotonic clock, and this makes UTC of them; 0: they are UTC, as those of
	 * several machines are */
	int64_t real_minus_mono_ns;
	uint64_t salt;		/* differs between recordings */
	bool complete;		/* what it was made of had ended cleanly */
	uint64_t unmapped;	/* rows that have no op here */
	uint64_t impossible;	/* rows with times that cannot be */
	uint64_t left_out;	/* events of minutes that were left out when it was made */
	const char *recordings; /* which it holds, as who made it said; "": nobody said */
};

/* The file stays as it is. *out NULL: a database of something else. ERR_CANNOT, ERR_DAMAGED;
 * ERR_TOO_NEW. */
int archive_reader_open(struct archive_reader **out, struct world *w, const char *path,
			struct err *e);
void archive_reader_free(struct archive_reader *r);

/* Owned by the reader, read once. Damage met on the way is its error. */
struct event_stream *archive_reader_stream(struct archive_reader *r);
const struct archive_reader_told *archive_reader_told(const struct archive_reader *r);

#endif
