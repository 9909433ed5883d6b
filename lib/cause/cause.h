/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis of one stream: items in, chain records and one analysis record out. The sequence of
 * records is a function of the stream's events and records alone: every window is event time,
 * every order is order of appearance. Memory is bounded by threads, culprits, classes and sites.
 */
#ifndef INGERO_CAUSE_CAUSE_H
#define INGERO_CAUSE_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/line/line.h"
#include "lib/world/world.h"

/* What a cause must take to be told (all of it), and when it is looked at. */
struct cause_options {
	double min_share;     /* of wall time, of the victim's worst-hit thread; 0: 0.01 */
	uint64_t min_lost_ns; /* 0: 10 ms */
	uint64_t min_count;   /* 0: 5 */
};

struct cause_sink {
	/* A CHAIN or, at the end, the ANALYSIS record; borrowed until it returns. */
	int (*record)(struct cause_sink *s, const struct record *r, struct err *e);
};

struct cause;

/* w and sink stay the caller's. NULL: out of memory. opt NULL: the defaults. */
struct cause *cause_new(struct world *w, const struct cause_options *opt, struct cause_sink *sink);
void cause_free(struct cause *c);

int cause_item(struct cause *c, const struct stream_item *item, struct err *e);

/* Of an ASLEEP record that was just given, for who follows a recording: whether the process has made no call since this sleep was
 * said before, and made some until then, this thread too. Then what it waits for, and where, is appended to out. */
bool cause_stands(const struct cause *c, const struct record *r, struct buf *out);

/* The stream ended: what is still to be said of the whole of it, and the analysis record. */
int cause_finish(struct cause *c, struct err *e);

#endif
