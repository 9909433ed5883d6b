/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of events laid out as lines of slices, for formats that draw: on a line slices lie side
 * by side or one inside the other, never across. Events come in the order of their ends, an inner
 * call before the one that contains it; here the outer one begins first. For that a thread's calls
 * are held until the outermost has come, TIMELINE_HELD at most; an outer call that comes even later
 * is passed on then, with its earlier beginning. An event that would cross another gets a lane of
 * its own. Every event becomes one slice or one instant.
 */
#ifndef INGERO_EXPORT_TIMELINE_H
#define INGERO_EXPORT_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/export/arrows.h"
#include "lib/export/step_slices.h"
#include "lib/export/tracks.h"
#include "lib/event/paused.h"
#include "lib/event/chain.h"
#include "lib/event/open_call.h"
#include "lib/event/stream.h"

#define TIMELINE_HELD 256

/* An interval on a line, or an instant (start == end). Borrowed. */
struct timeline_slice {
	int64_t start_ns, end_ns;
	const struct event *event;   /* NULL: a chain, or a call that is still open */
	const struct op_def *op;     /* NULL: not known, or a chain */
	const struct finding *chain; /* NULL: none */
	const char *lost; /* NULL, or what is missing here: "lost 12 events: ring full" */
	const char *step; /* NULL, or which step of a loop it is: "step 12" */
	uint32_t name;	  /* world string that it is called by, 0: by its op */
	uint32_t process; /* world id */
	uint32_t stack;
	const struct arrows_of *arrows; /* NULL: none */
};

/* What a format does with it. All return false when out of memory. A line comes before what stands
 * on it. */
struct timeline_sink {
	tracks_new_fn *track;
	/* Of a line in the order of time, but for what encloses all that came; end_ns is known,
	 * what is inside comes before end is called. */
	bool (*begin)(void *ctx, const struct track *t, const struct timeline_slice *s);
	bool (*end)(void *ctx, const struct track *t, int64_t ns);
	bool (*instant)(void *ctx, const struct track *t, const struct timeline_slice *s);
	/* It had not ended when the recording did. */
	bool (*open)(void *ctx, const struct track *t, const struct timeline_slice *s);
	bool (*value)(void *ctx, const struct track *t, int64_t ns, double value);
	bool (*clock)(void *ctx, const struct rec_CLOCK *r, const struct record *rec);
	tracks_order_fn *order; /* last */
};

struct timeline {
	const struct timeline_sink *sink;
	void *ctx;
	struct tracks tracks;
	struct arrows arrows;
	struct chain_list chains;
	struct open_calls open; /* at the end */
	struct paused paused;
	struct step_slices steps;
	int64_t newest_ns; /* end of the newest event */
	bool nomem;
};

/* w and told are borrowed. */
void timeline_init(struct timeline *tl, const struct timeline_sink *sink, void *ctx,
		   const struct world *w, const struct late_names *told);
/* Before the first item: the steps of programs are to stand on it, too. False: out of memory. */
bool timeline_show_steps(struct timeline *tl);
int timeline_item(struct timeline *tl, const struct stream_item *item, struct err *e);
/* What is still held, and the chains as they stand in the end. */
int timeline_finish(struct timeline *tl, struct err *e);
void timeline_free(struct timeline *tl);

/* Times that a timeline can show: not before 0. */
static inline int64_t timeline_start(const struct event *ev)
{
	return ev->end_ns <= 0 || ev->dur_ns > (uint64_t)ev->end_ns ? 0 : event_start(ev);
}
static inline int64_t timeline_end(const struct event *ev)
{
	return ev->end_ns > 0 ? ev->end_ns : 0;
}

#endif
