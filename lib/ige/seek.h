/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in a regular file, of which only a stretch of time is wanted. Where every block lies
 * and what time it covers is learned from indexes, checked against the blocks' headers, or from the
 * headers alone; the answer is that of reading everything and leaving out what is outside.
 * Only sound files are read this way: damage is ige/reader.h's business.
 */
#ifndef INGERO_IGE_SEEK_H
#define INGERO_IGE_SEEK_H

#include "lib/ige/reader.h"

struct ige_seek;

/* fd stays the caller's, is read with pread and never moved. ERR_CANNOT: not a regular file, or one
 * that has to be read from the beginning (damage, newer parts); nothing was reported then and
 * nothing is lost by reading it so. One that ends inside a block, or is being written, is sought as
 * far as it goes. */
int ige_seek_open(struct ige_seek **out, struct world *w, int fd, const char *name, struct err *e);
void ige_seek_free(struct ige_seek *s);

/* Blocks whose place came from an index; the rest was found from header to header. */
uint64_t ige_seek_indexed(const struct ige_seek *s);

/* Greatest end of all events; INT64_MIN: there are none. */
int64_t ige_seek_end(const struct ige_seek *s);

/* Smallest start of the events blocks that hold events overlapping [since, until): who needs what
 * lies inside those events seeks from there. since when there are none. */
int64_t ige_seek_reach(const struct ige_seek *s, int64_t since_ns, int64_t until_ns);

enum ige_seek_what {
	IGE_SEEK_EVENTS = 1,
	IGE_SEEK_RECORDS = 2, /* all of them, whatever their time */
};

/* Everything in the blocks that can hold events overlapping [since, until), in the file's order; an
 * event that does not overlap may come with them. Blocks left out are emitted as empty items with
 * their number of events (item.skipped) and losses. ops: only blocks that can hold one of these
 * (sum of ige_op_bit); 0: all. Begins anew; one stream at a time. Close does nothing. */
struct event_stream *ige_seek_stream(struct ige_seek *s, int64_t since_ns, int64_t until_ns,
				     unsigned what, uint64_t ops);

/* Of the stream last begun, as a reader of the whole would report it; events it left out are in. */
const struct ige_report *ige_seek_report(const struct ige_seek *s);

#endif
