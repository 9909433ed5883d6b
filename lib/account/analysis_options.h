/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of an analysis, and the sink that receives its records.
 */
#ifndef INGERO_ACCOUNT_ANALYSIS_OPTIONS_H
#define INGERO_ACCOUNT_ANALYSIS_OPTIONS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/record.h"

/* A cause is reported if it takes all of these. */
struct cause_options {
	double min_share;     /* of wall time, of the victim's worst-hit thread; 0: 0.01 */
	uint64_t min_lost_ns; /* 0: 10 ms */
	uint64_t min_count;   /* 0: 5 */
};

struct cause_sink {
	/* A CHAIN or, at the end, the ANALYSIS record; borrowed until it returns. */
	int (*record)(struct cause_sink *s, const struct record *r, struct err *e);
};

#endif
