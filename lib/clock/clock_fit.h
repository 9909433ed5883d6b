/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fits the clocks of machines by collectives. An all-reduce is done on no rank before every rank
 * has called it. If by their clocks one machine saw it done before another one called it, one of
 * the two clocks is wrong; else the time between bounds the error of the two clocks. Clocks without
 * contradictions stay as they are; one with a contradiction is moved to the middle of its possible
 * range.
 */
#ifndef INGERO_CLOCK_CLOCK_FIT_H
#define INGERO_CLOCK_CLOCK_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/clock/collective_times.h"

#define CLOCK_FIT_MACHINES 1024 /* of more nothing is asked: pairs are too many */

struct clock_fit {
	bool known;	   /* it met others */
	int64_t by_ns;	   /* to be added to its times; 0 where they contradict nobody */
	uint64_t error_ns; /* at most, against the machine whose clock was kept */
};

/* fits[0..machines), zeroed by the caller. m is sorted. */
int clock_fit(struct collective_time_list *m, struct clock_fit *fits, uint32_t machines,
	      struct err *e);

#endif
