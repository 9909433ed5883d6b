/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state kept per traced thread, found by world id without hashing: ids are dense. Memory
 * grows with threads that have events and are not given up, never with events.
 */
#ifndef INGERO_ATTRIB_THREAD_H
#define INGERO_ATTRIB_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/attrib/moves.h"
#include "lib/attrib/nest.h"
#include "lib/attrib/wakers.h"
#include "lib/world/world.h"

struct line_thread {
	uint32_t id, process, node, ctx; /* world ids; ctx: the first it was seen in */
	bool seen;			 /* cursor_ns holds */
	int64_t cursor_ns;		 /* time outside calls is settled up to here */
	struct nest nest;
	VEC(uint32_t) ctxs; /* all it was seen in */
	struct wakers wakers;
	struct moves moves;
	/* The last wait for a mutex was ended by the clock, not by a release: the next one shows to
	 * whom it is charged. */
	uint64_t lock_object, lock_ns;
	int64_t lock_start_ns, lock_end_ns;
	int64_t lock_timed_ns; /* its end, even if the thread was preempted right after it */
	bool lock_over;	       /* it has waited for something else since */
	/* To whom it is charged, and how much of it, if another thread has stated so meanwhile;
	 * late: a culprit, 0 none. */
	uint32_t late;
	uint64_t late_ns;
	uint32_t sample; /* stack in which it was found on its CPU last */
	int64_t sample_ns;
	/* It released a lock then for which others had waited for so long; held: the culprit that
	 * it is as its holder, 0 none. If it has to wait for the lock at once, it is at the same
	 * place. */
	uint32_t held;
	uint64_t held_ns;
	int64_t released_ns;
};

struct threads {
	const struct world *w;
	VEC(struct line_thread *) by_id;  /* by world thread id */
	VEC(struct line_thread *) by_ctx; /* by world ctx id; NULL not looked up yet */
};

void threads_free(struct threads *t);

/* Give up what is kept of it. */
void threads_forget(struct threads *t, uint32_t id);

/* The thread of a context. NULL when the context has none; *nomem says when that is for lack of
 * memory. */
struct line_thread *threads_of_ctx_slow(struct threads *t, uint32_t ctx, bool *nomem);

static inline struct line_thread *threads_of_ctx(struct threads *t, uint32_t ctx, bool *nomem)
{
	if (ctx < t->by_ctx.n && t->by_ctx.v[ctx])
		return t->by_ctx.v[ctx];
	return threads_of_ctx_slow(t, ctx, nomem);
}

/* The state of a thread that may have had no event yet, and has no context then. NULL: there is no
 * such thread, or *nomem. */
struct line_thread *threads_of(struct threads *t, uint32_t id, bool *nomem);

/* NULL when this thread had no event yet. */
static inline struct line_thread *threads_get(const struct threads *t, uint32_t id)
{
	return id < t->by_id.n ? t->by_id.v[id] : NULL;
}

#endif
