/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a flight recorder write down what it remembers: a call that took too long, one that
 * failed, or that none returns any more.
 */
#ifndef INGERO_FILTER_TRIGGER_H
#define INGERO_FILTER_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/event.h"

struct filter_trigger {
	uint64_t *slow_ns; /* by op: longer than that; NULL: no such trigger */
	uint64_t idle_ns;  /* no call has returned for so long; 0: no such trigger */
	bool errors;	   /* any call that failed */
};

/* "cudaStreamSynchronize>100ms", "driver:cu*>1s", "idle>20s", "error". The op is as for
 * filter_name. ERR_USAGE for anything else. */
int filter_trigger_add(struct filter_trigger *t, const char *text, struct err *e);
void filter_trigger_free(struct filter_trigger *t);

/* It took too long, whether or not it failed. */
static inline bool filter_trigger_slow(const struct filter_trigger *t, const struct event *ev)
{
	return t->slow_ns && ev->dur_ns > t->slow_ns[ev->op];
}

static inline bool filter_trigger_hit(const struct filter_trigger *t, const struct event *ev)
{
	return filter_trigger_slow(t, ev) || (t->errors && event_failed(ev->op, ev->ret));
}

#endif
