/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From events in stream order to spans of time with their parts: every call, every off-CPU
 * interval, and the time of each thread outside its calls. Streaming: one pass, memory bounded by
 * threads, CPUs and fixed windows; a thread that ended is kept until no other thread can be found
 * to have waited for it (WAKERS_AGE_NS). The spans passed on at depth 0 (outermost calls, outside)
 * tile each thread's time from its first event to its last without gap or overlap.
 */
#ifndef INGERO_ATTRIB_LINE_H
#define INGERO_ATTRIB_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/event.h"
#include "lib/attrib/culprit.h"
#include "lib/attrib/parts.h"
#include "lib/world/world.h"

struct line_piece {
	const struct event *ev;	 /* the call or off-CPU interval; NULL: on CPU outside calls */
	const struct op_def *op; /* of ev */
	uint32_t thread, process, node;
	unsigned depth; /* calls open around it */
	int64_t start_ns, end_ns;
	const struct parts *parts; /* sum to end - start */
	uint64_t calls_ns;	   /* of a call: spent in calls inside it; the rest is its own */
	uint64_t overlap_ns;	   /* of its unknown time: already part of the span before */
	/* of an outermost call, for listeners that want it so: time on CPU right before, not passed
	 * on by itself */
	uint64_t before_ns;
	bool sound; /* false: what was inside contradicts itself */
	bool open;  /* a call that had not returned when the recording ended */
};

/* It left its CPU, and never came to another. */
static inline bool line_unended(const struct line_piece *p)
{
	uint64_t cpu;

	return p->op->id == OP_SCHED_OFFCPU && event_get(p->ev, p->op, COL_CPU_OUT, &cpu) &&
	       !event_get(p->ev, p->op, COL_CPU_IN, &cpu);
}

/* What the call took itself, without what the host took of it, or of these parts (1 << enum part,
 * or-ed). */
static inline uint64_t line_own_ns(const struct line_piece *p, uint32_t besides)
{
	uint64_t other = parts_sum(p->parts, PARTS_NOT_OWN | 1u << PART_UNKNOWN | besides);

	return p->ev->dur_ns > other ? p->ev->dur_ns - other : 0;
}

/* The listener. Spans come in the order in which they ended; borrowed until the function
 * returns. */
struct line_sink {
	void (*call)(struct line_sink *s,
		     const struct line_piece *p); /* every call, at every depth */
	void (*outside)(
		struct line_sink *s,
		const struct line_piece *p); /* time outside calls; parts may be SELF only */
	void (*offcpu)(struct line_sink *s,
		       const struct line_piece *p); /* every off-CPU interval, and every stretch
						       taken by a hypervisor, at every depth */
	/* Time on CPU between two outermost calls comes with the second one, as its before_ns. */
	bool together;
	/* The fast path for most calls: outermost and inner ones that are sound, over, and nothing
	 * but PART_SELF and PART_DEVICE, none of it passed on before. line_event returns what these
	 * return. NULL: such calls go to call(); line_new fills them in. */
	int (*plain)(struct line_sink *s, const struct line_piece *p);
	int (*plain_inner)(struct line_sink *s, const struct line_piece *p);
};

/* That stretch as a piece of its own, in parts. */
static inline struct line_piece line_before(const struct line_piece *p, struct parts *parts)
{
	parts_set(parts, PART_SELF, p->before_ns);
	return (struct line_piece){ .thread = p->thread,
				    .process = p->process,
				    .node = p->node,
				    .start_ns = p->start_ns - (int64_t)p->before_ns,
				    .end_ns = p->start_ns,
				    .parts = parts,
				    .sound = true };
}

struct line;

/* w and sink stay the caller's and must outlive the line. NULL: out of memory. */
struct line *line_new(const struct world *w, struct line_sink *sink);
void line_free(struct line *l);

/* The next event in stream order. late: it could not be sorted in; it is counted and not placed. */
int line_event(struct line *l, const struct event *ev, bool late, struct err *e);

/* Events are missing between these times. */
void line_lost(struct line *l, int64_t since_ns, int64_t until_ns, uint64_t events);

/* A call that had not returned at the end of the recording: told after the last event, outermost
 * last. */
int line_open(struct line *l, uint32_t thread, uint16_t op, int64_t start_ns, unsigned depth,
	      uint32_t stack, int64_t end_ns, struct err *e);

/* Whether anything of the thread's own time is known that ended after then. */
bool line_heard(const struct line *l, uint32_t thread, int64_t since_ns);

/* Whether the thread is known to have been outside calls, or to have left its outermost one, behind
 * then. */
bool line_went_on(const struct line *l, uint32_t thread, int64_t since_ns);

/* The context in which a thread was seen first; 0: in none. */
uint32_t line_ctx(const struct line *l, uint32_t thread);

/* An off-CPU interval that had not ended at the end of what there is, of a thread that may have had
 * no event: told after the last event. Its context is line_ctx. */
int line_asleep(struct line *l, uint32_t thread, const struct event *ev, struct err *e);

struct culprits *line_culprits(struct line *l);

struct line_totals {
	uint64_t events, late, lost;
	uint64_t unsound; /* calls whose insides contradict themselves */
};
const struct line_totals *line_totals(const struct line *l);

/* What is held now, for tests of the bound. */
struct line_memory {
	size_t threads, levels, wakers, slices, culprits;
};
void line_memory(const struct line *l, struct line_memory *m);

#endif
