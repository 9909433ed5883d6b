/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "What went wrong?": the chains of a stream, from the analysis that it carries or, if it has none,
 * from one that is made here. A recording without an analysis is never reported as healthy.
 */
#ifndef INGERO_QUERY_CHAINS_H
#define INGERO_QUERY_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/detect/analysis.h"
#include "lib/event/chain.h"
#include "lib/event/missing.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct query_chains {
	struct chain_list list;
	bool found_analyzed; /* the stream carried its analysis */
	bool asleep;	     /* a record says that a thread sleeps */
	bool unfinished;     /* a recording in it did not end cleanly */
	bool coverage;	     /* ingero-record said what it attached to */
	bool library_seen;   /* and a CUDA library was among it */
	uint64_t events, lost,
		open;	  /* open: calls that were when the recording, or the part of it, ended */
	int64_t start_ns; /* of the recording, on its clock; valid when has_start */
	int64_t end_ns;
	int64_t real_minus_mono_ns; /* valid when has_real */
	bool has_start, has_real;
	struct missing missing; /* beside events */
};

struct query_chains_run; /* a question in progress: several streams, one after another, are one
			    recording */

/* w must outlive the run. opt NULL: the defaults. NULL: out of memory. */
struct query_chains_run *query_chains_new(struct world *w, const struct cause_options *opt);
int query_chains_item(struct query_chains_run *run, const struct stream_item *item, struct err *e);

/* An ASLEEP record that was just given, of a recording that is still made (now_ns: UTC):
 * cause_stands. */
bool query_chains_ongoing_wait(struct query_chains_run *run, const struct record *r, int64_t now_ns,
			       struct buf *out);

/* No more items: the answer, borrowed until the run is freed. */
int query_chains_end(struct query_chains_run *run, const struct query_chains **answer,
		     struct err *e);
void query_chains_free(struct query_chains_run *run);

/* Whether a stream of so many events carried the analysis of all of them: that of one recording of
 * several, or of a part, is not. Where events were left out behind it (ingero-correlate
 * --chains-only) there are fewer than it says. */
bool query_chains_is_complete(const struct chain_list *carried, uint64_t events);

/* Adds a record about the recording itself: when it began, its clock, what is missing from it. 1:
 * the record is about something else. */
int query_chains_add_record(struct query_chains *a, const struct world *w, const struct record *r,
			    struct err *e);

/* Frees an answer that no run owns; it is empty afterwards. */
void query_chains_clear(struct query_chains *a);

#endif
