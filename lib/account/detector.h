/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detectors for findings that the ledger (account/thread_ledger.h) cannot express: gaps, memory,
 * copies, graphs, collectives, errors. Each subscribes to ops, keeps bounded state, and reports
 * facts (account/fact.h) at the end of every second of event time. One file in detect/ each; the
 * table is in detect/subscriptions.c.
 */
#ifndef INGERO_ACCOUNT_DETECTOR_H
#define INGERO_ACCOUNT_DETECTOR_H

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/gpustate/graphs.h"
#include "lib/attrib/line.h"
#include "lib/gpustate/allocations.h"

struct cause;
struct tolls_def;

/* What a detector receives of an op, or-ed. */
enum subscription {
	SUBSCRIBE_EVENTS =
		1, /* each event in stream order, before its time is attributed; not late ones */
	/* each outermost call with its parts; op NULL: each span outside calls, but time on CPU
	 * before an outermost call is its before_ns: detectors that want it subscribe to all
	 * outermost calls */
	SUBSCRIBE_CALLS = 2,
	SUBSCRIBE_INNER_CALLS = 4, /* each call inside another, with its parts */
	SUBSCRIBE_OFFCPU = 8,	   /* each off-CPU interval with its parts, at any depth */
	SUBSCRIBE_LAZY = 16,	   /* only once detectors_wake was called for the detector */
	/* Outermost calls that need not be passed to the detector (late_names.c): */
	SUBSCRIBE_STARTUP_ONLY = 32, /* those of a process whose ledger entry has `begun` */
	/* launches counted down by the ledger's `launches_left`, but the last */
	SUBSCRIBE_AT_NTH_LAUNCH = 64,
};

typedef bool detector_on_span(void *state, struct cause *c, const struct line_piece *p);

#define DETECTOR_TOLLS 3

struct detector {
	size_t size; /* of its state, which begins zeroed */
	/* Kinds of findings that it adds up row by row: its state begins with a struct tolls for
	 * each of them, which are reported, given up and freed after the functions below. */
	const struct tolls_def *tolls[DETECTOR_TOLLS];
	/* op NULL: spans outside calls. Called once per op; the answer never changes. */
	unsigned (*subscribe_op)(const struct op_def *op);
	/* All may be NULL. False: out of memory. Arguments are borrowed until the function
	 * returns. */
	bool (*on_event)(void *state, struct cause *c, const struct event *ev,
			 const struct op_def *op);
	detector_on_span *on_span;
	bool (*on_record)(void *state, struct cause *c, const struct record *r); /* every record */
	/* Memory of a device was got, given back or refused (gpustate/allocations.h). */
	bool (*on_memory)(void *state, struct cause *c, const struct live_told *t);
	/* A CUDA graph was captured, instantiated, launched or destroyed (gpustate/graphs.h). */
	bool (*on_graph)(void *state, struct cause *c, const struct graph_told *t);
	/* The stream is over: hand out what is known only now, before anything is reported. */
	bool (*on_end)(void *state, struct cause *c);
	/* A second of event time is over (its number), or the recording is (INT64_MAX): report what
	 * is due. */
	int (*flush_window)(void *state, struct cause *c, int64_t pane, struct err *e);
	/* The process ended long ago, and no report at the end can be about it any more
	 * (account/ended.h): drop its state, unless it was reported. */
	bool (*forget_process)(void *state, struct cause *c, uint32_t process);
	void (*free)(void *state); /* what the state owns, not itself */
	/* Off-CPU intervals, if handled apart from spans outside calls; NULL: on_span gets them. */
	detector_on_span *on_offcpu;
	/* Calls, if handled apart from spans outside calls; NULL: on_span gets them. */
	detector_on_span *on_call, *on_inner_call;
};

#define DETECTORS_MAX 32

/* The listeners to spans: a range of the lists of struct detectors. */
struct subscriber_list {
	uint32_t from, n;
};

/* Zero: not computed yet. */
struct op_subscribers {
	bool made;
	bool no_event;	    /* a call that no detector wants as an event */
	bool memory, graph; /* as live and graphs have it */
	uint32_t event;	    /* bit i: detector i wants it */
	struct subscriber_list outer, inner, offcpu;
	struct subscriber_list beginning, countdown; /* outermost calls, too; not in outer */
};

/* Zero-initialised is empty. */
struct detectors {
	void *state[DETECTORS_MAX];
	uint32_t awake;		    /* bit i: detector i */
	struct op_subscribers *ops; /* by op, all there are; 0 is outside calls */
	VEC(uint16_t) made;	    /* which ops these are */
	VEC(struct subscriber {
		detector_on_span *on_span;
		void *state;
	})
	lists;
};

bool detectors_start(struct detectors *w);
void detectors_free(struct detectors *w);

/* The detector of this state gets all it wants from the next span on. */
static inline void detectors_wake(struct detectors *w, const void *state)
{
	unsigned i = 0;

	while (i < DETECTORS_MAX && w->state[i] != state)
		i++;
	if (i < DETECTORS_MAX && !(w->awake >> i & 1)) {
		w->awake |= 1u << i;
		while (w->made.n)
			w->ops[w->made.v[--w->made.n]] = (struct op_subscribers){ 0 };
	}
}

/* Computes them. NULL: out of memory. */
const struct op_subscribers *detectors_subscribers_made(struct cause *c, uint16_t op);

static inline const struct op_subscribers *detectors_subscribers_of(const struct detectors *w,
								    struct cause *c, uint16_t op)
{
	return w->ops[op].made ? &w->ops[op] : detectors_subscribers_made(c, op);
}

/* Whether an event of this op is a call that detectors_event passes to no detector. */
static inline bool detectors_want_no_event(const struct detectors *w, uint16_t op)
{
	return w->ops[op].no_event;
}

bool detectors_event(struct cause *c, const struct event *ev);

/* Passes the span to all listeners of a list. */
static inline bool detectors_notify(const struct detectors *w, struct cause *c,
				    const struct subscriber_list *list, const struct line_piece *p)
{
	const struct subscriber *s = w->lists.v + list->from;

	for (const struct subscriber *end = s + list->n; s != end; s++)
		if (!s->on_span(s->state, c, p))
			return false;
	return true;
}

/* From line_sink: calls, stretches outside calls, and off-CPU intervals. */
static inline bool detectors_call(const struct detectors *w, struct cause *c,
				  const struct line_piece *p)
{
	const struct op_subscribers *to = detectors_subscribers_of(w, c, p->ev->op);

	if (!to || p->depth)
		return to && detectors_notify(w, c, &to->inner, p);
	return detectors_notify(w, c, &to->outer, p) && detectors_notify(w, c, &to->beginning, p) &&
	       detectors_notify(w, c, &to->countdown, p);
}

static inline bool detectors_outside(const struct detectors *w, struct cause *c,
				     const struct line_piece *p)
{
	const struct op_subscribers *to = detectors_subscribers_of(w, c, 0);

	return to && detectors_notify(w, c, &to->outer, p);
}

static inline bool detectors_offcpu(const struct detectors *w, struct cause *c,
				    const struct line_piece *p)
{
	const struct op_subscribers *to = detectors_subscribers_of(w, c, p->ev->op);

	return to && detectors_notify(w, c, &to->offcpu, p);
}
/* The listeners of a struct live and a struct graphs whose ctx is the struct cause. */
bool detectors_memory(void *cause, const struct live_told *t);
bool detectors_graph(void *cause, const struct graph_told *t);
bool detectors_record(struct cause *c, const struct record *r);
bool detectors_end(struct cause *c);
bool detectors_forget_process(struct cause *c, uint32_t process);
int detectors_flush_window(struct cause *c, int64_t pane, struct err *e);

#endif
