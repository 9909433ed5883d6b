/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detectors for findings that the ledger (account/thread_ledger.h) cannot express: gaps, memory,
 * copies, graphs, collectives, errors. Each subscribes to ops, keeps bounded state, and reports
 * facts (account/fact.h) at the end of every second of event time. One file in detect/ each; the
 * table is in detect/subscriptions.c.
 */
#ifndef INGERO_ACCOUNT_WATCH_H
#define INGERO_ACCOUNT_WATCH_H

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/gpustate/graphs.h"
#include "lib/attrib/line.h"
#include "lib/gpustate/allocations.h"

struct cause;

/* What a detector receives of an op, or-ed. */
enum watch_wants {
	WATCH_EVENT =
		1, /* each event in stream order, before its time is attributed; not late ones */
	/* each outermost call with its parts; op NULL: each span outside calls, but time on CPU
	 * before an outermost call is its before_ns: detectors that want it subscribe to all
	 * outermost calls */
	WATCH_OUTER = 2,
	WATCH_INNER = 4,   /* each call inside another, with its parts */
	WATCH_OFFCPU = 8,  /* each off-CPU interval with its parts, at any depth */
	WATCH_ASLEEP = 16, /* only once watches_wake was called for the detector */
	/* Outermost calls that need not be passed to the detector (late_names.c): */
	WATCH_BEGINNING = 32, /* those of a process whose ledger entry has `begun` */
	/* launches counted down by the ledger's `launches_left`, but the last */
	WATCH_COUNTDOWN = 64,
};

typedef bool watch_hear(void *state, struct cause *c, const struct line_piece *p);

struct watch_def {
	const char *name;
	size_t size; /* of its state, which begins zeroed */
	/* op NULL: spans outside calls. Called once per op; the answer never changes. */
	unsigned (*wants)(const struct op_def *op);
	/* All may be NULL. False: out of memory. Arguments are borrowed until the function
	 * returns. */
	bool (*event)(void *state, struct cause *c, const struct event *ev,
		      const struct op_def *op);
	watch_hear *piece;
	bool (*record)(void *state, struct cause *c, const struct record *r); /* every record */
	/* Memory of a device was got, given back or refused (gpustate/allocations.h). */
	bool (*memory)(void *state, struct cause *c, const struct live_told *t);
	/* A CUDA graph was captured, instantiated, launched or destroyed (gpustate/graphs.h). */
	bool (*graph)(void *state, struct cause *c, const struct graph_told *t);
	/* The stream is over: hand out what is known only now, before anything is reported. */
	bool (*ends)(void *state, struct cause *c);
	/* A second of event time is over (its number), or the recording is (INT64_MAX): report what
	 * is due. */
	int (*settle)(void *state, struct cause *c, int64_t pane, struct err *e);
	/* The process ended long ago, and no report at the end can be about it any more
	 * (account/ended.h): drop its state, unless it was reported. */
	bool (*forget)(void *state, struct cause *c, uint32_t process);
	void (*free)(void *state); /* what the state owns, not itself */
	/* Off-CPU intervals, if handled apart from spans outside calls; NULL: piece gets them. */
	watch_hear *offcpu;
	/* Calls, if handled apart from spans outside calls; NULL: piece gets them. */
	watch_hear *outer, *inner;
};

#define WATCHES_MAX 32

/* The listeners to spans: a range of the lists of struct watches. */
struct watch_list {
	uint32_t from, n;
};

/* Zero: not computed yet. */
struct watch_ears {
	bool made;
	bool deaf;	    /* a call that no detector wants as an event */
	bool memory, graph; /* as live and graphs have it */
	uint32_t event;	    /* bit i: detector i wants it */
	struct watch_list outer, inner, offcpu;
	struct watch_list beginning, countdown; /* outermost calls, too; not in outer */
};

/* Zero-initialised is empty. */
struct watches {
	void *state[WATCHES_MAX];
	uint32_t awake;		 /* bit i: watch i */
	struct watch_ears *ears; /* by op, all there are; 0 is outside calls */
	VEC(uint16_t) made;	 /* of which ops they are */
	VEC(struct watch_ear {
		watch_hear *hear;
		void *state;
	})
	lists;
};

bool watches_start(struct watches *w);
void watches_free(struct watches *w);

/* The detector of this state gets all it wants from the next span on. */
static inline void watches_wake(struct watches *w, const void *state)
{
	unsigned i = 0;

	while (i < WATCHES_MAX && w->state[i] != state)
		i++;
	if (i < WATCHES_MAX && !(w->awake >> i & 1)) {
		w->awake |= 1u << i;
		while (w->made.n)
			w->ears[w->made.v[--w->made.n]] = (struct watch_ears){ 0 };
	}
}

/* Computes them. NULL: out of memory. */
const struct watch_ears *watches_ears_made(struct cause *c, uint16_t op);

static inline const struct watch_ears *watches_ears_of(const struct watches *w, struct cause *c,
						       uint16_t op)
{
	return w->ears[op].made ? &w->ears[op] : watches_ears_made(c, op);
}

/* Whether an event of this op is a call that watches_event passes to no detector. */
static inline bool watches_deaf(const struct watches *w, uint16_t op)
{
	return w->ears[op].deaf;
}

bool watches_event(struct cause *c, const struct event *ev);

/* Passes the span to all listeners of a list. */
static inline bool watches_tell(const struct watches *w, struct cause *c,
				const struct watch_list *list, const struct line_piece *p)
{
	const struct watch_ear *ear = w->lists.v + list->from;

	for (const struct watch_ear *end = ear + list->n; ear != end; ear++)
		if (!ear->hear(ear->state, c, p))
			return false;
	return true;
}

/* From line_sink: calls, stretches outside calls, and off-CPU intervals. */
static inline bool watches_call(const struct watches *w, struct cause *c,
				const struct line_piece *p)
{
	const struct watch_ears *ears = watches_ears_of(w, c, p->ev->op);

	if (!ears || p->depth)
		return ears && watches_tell(w, c, &ears->inner, p);
	return watches_tell(w, c, &ears->outer, p) && watches_tell(w, c, &ears->beginning, p) &&
	       watches_tell(w, c, &ears->countdown, p);
}

static inline bool watches_outside(const struct watches *w, struct cause *c,
				   const struct line_piece *p)
{
	const struct watch_ears *ears = watches_ears_of(w, c, 0);

	return ears && watches_tell(w, c, &ears->outer, p);
}

static inline bool watches_offcpu(const struct watches *w, struct cause *c,
				  const struct line_piece *p)
{
	const struct watch_ears *ears = watches_ears_of(w, c, p->ev->op);

	return ears && watches_tell(w, c, &ears->offcpu, p);
}
/* The listeners of a struct live and a struct graphs whose ctx is the struct cause. */
bool watches_memory(void *cause, const struct live_told *t);
bool watches_graph(void *cause, const struct graph_told *t);
bool watches_record(struct cause *c, const struct record *r);
bool watches_end(struct cause *c);
bool watches_forget(struct cause *c, uint32_t process);
int watches_settle(struct cause *c, int64_t pane, struct err *e);

#endif
