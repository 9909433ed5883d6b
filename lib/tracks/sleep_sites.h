/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places at which threads sleep on their own request, and whether the sleeps there keep a pace or
 * are added to the work (lib/stat/pace.h), and whether they poll (lib/stat/polls.h). A place is a
 * call site in one thread. A wait for descriptors, or on a condition, whose time ran out is a
 * sleep, too: event loops and timers wait so for their next turn; and so is a read that a timer
 * ended, which is one of a timerfd.
 */
#ifndef INGERO_TRACKS_SLEEP_SITES_H
#define INGERO_TRACKS_SLEEP_SITES_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/stat/pace.h"
#include "lib/stat/polls.h"
#include "lib/world/site_frames.h"

/* Kept, 2.8 MiB: beyond, those that slept longest ago make room. */
#define SLEEP_SITES_MAX 4096

struct sleep_site {
	uint32_t thread, frame; /* world ids; frame 0: the place is not known */
	struct pace_sums sums;
	struct poll_sums polls;
};

/* The newest preemption of a thread, looked for by its id: another thread's may have taken the
 * place. */
#define SLEEP_SITES_PREEMPTED 1024
struct sleep_preempted {
	uint32_t thread;
	int64_t from_ns, until_ns;
};

/* The newest wait of a thread that another one ended, kept in the same way: a wait on a condition
 * until a time goes on after each wake-up that was not what it waits for, up to the same time. */
struct sleep_interrupted {
	uint32_t thread, frame;
	int64_t from_ns, until_ns; /* with those before it at that place */
};

/* The newest sleep in a context, kept in the same way. */
struct sleep_newest {
	uint32_t ctx;
	struct sleep_site *site; /* NULL: it has done something else since */
};

/* When a thread last woke one that waited for a descriptor, kept in the same way: it sent
 * something, which is more than a look. */
struct sleep_sent {
	uint32_t thread;
	int64_t ns;
};

/* Zero-initialised but for w is empty. */
struct sleep_sites {
	const struct world *w;
	const struct op_def *op; /* of off-CPU intervals; NULL: there was none yet */
	VEC(struct sleep_site *) v;
	struct map by; /* thread and frame -> position */
	struct sleep_preempted preempted[SLEEP_SITES_PREEMPTED];
	struct sleep_newest newest[SLEEP_SITES_PREEMPTED];
	struct sleep_interrupted interrupted[SLEEP_SITES_PREEMPTED];
	struct sleep_sent sent[SLEEP_SITES_PREEMPTED];
};

/* The next off-CPU interval in stream order. False: out of memory. */
bool sleep_sites_interval(struct sleep_sites *s, struct site_frames *frames,
			  const struct event *ev);

/* In place of a frame: those of a thread's event loop, whichever of its tasks goes on. */
#define SLEEP_SITES_EVENT_LOOP UINT32_MAX

enum pace sleep_sites_pace(const struct sleep_sites *s, uint32_t thread, uint32_t frame);
struct poll sleep_sites_poll(const struct sleep_sites *s, uint32_t thread, uint32_t frame);

/* Another event: a call ends a run of sleeps, a CPU sample does not. */
static inline void sleep_sites_event(struct sleep_sites *s, const struct event *ev)
{
	struct sleep_newest *newest = &s->newest[ev->ctx % SLEEP_SITES_PREEMPTED];

	if (newest->ctx == ev->ctx && ev->dur_ns)
		newest->site = NULL;
}

void sleep_sites_free(struct sleep_sites *s);

#endif
