/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that signals ended: what waits for one of them waits for ever. The newest CAUSE_KILLED
 * are kept.
 */
#ifndef INGERO_ACCOUNT_KILLED_H
#define INGERO_ACCOUNT_KILLED_H

#include <stdint.h>

#include "lib/event/event.h"
#include "lib/world/world.h"

#define CAUSE_KILLED 256

struct cause_killed_one {
	uint32_t process;
	int64_t time_ns;
	uint64_t status; /* as wait(2) gives it */
};

/* Zero-initialised is empty. */
struct cause_killed {
	uint64_t n; /* ever */
	struct cause_killed_one v[CAUSE_KILLED];
};

/* The process that ends with this PROC_EXIT event; 0: it is of a thread that is not its first. */
uint32_t cause_exited(const struct world *w, const struct event *ev);

/* A PROC_EXIT event. */
void cause_killed_event(struct cause_killed *k, const struct world *w, const struct event *ev);

/* The last child of this process that a signal ended then, or between; NULL: none did. */
const struct cause_killed_one *cause_killed_child(const struct cause_killed *k,
						  const struct world *w, uint32_t process,
						  int64_t from_ns, int64_t to_ns);

#endif
