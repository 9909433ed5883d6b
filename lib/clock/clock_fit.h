/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What collectives tell of clocks. An all-reduce is done on no rank before every rank has called
 * it, so a machine that saw it done before another one called it has a clock that is wrong, or that
 * one has; and how little later it saw it done bounds by how much the two can differ at most.
 * Clocks that contradict nobody stay as they are; one that does is moved to the middle of what is
 * possible.
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
