/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis of one stream: items in, chain records and one analysis record out. The sequence of
 * records is a function of the stream's events and records alone: every window is event time,
 * every order is order of appearance. Memory is bounded by threads, culprits, classes and sites.
 */
#ifndef INGERO_DETECT_ANALYSIS_H
#define INGERO_DETECT_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/account/analysis_options.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/attrib/line.h"
#include "lib/world/world.h"

struct cause;

/* w and sink stay the caller's. NULL: out of memory. opt NULL: the defaults. */
struct cause *cause_new(struct world *w, const struct cause_options *opt, struct cause_sink *sink);
void cause_free(struct cause *c);

int cause_item(struct cause *c, const struct stream_item *item, struct err *e);

/* The stream ended: what is still to be said of the whole of it, and the analysis record. */
int cause_finish(struct cause *c, struct err *e);

#endif
