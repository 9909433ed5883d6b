/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that tell nothing new are left out: a value is said when it has moved by more than the
 * deadband since it was last said, or when the heartbeat has passed since. What is left out is
 * counted. Errors (XIDs) are always said.
 */
#ifndef INGERO_RECORD_DEADBAND_FILTER_H
#define INGERO_RECORD_DEADBAND_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

/* Metric of a subject, when it was last said. */
struct deadband_value {
	uint32_t metric, process, cgroup, gpu, cpu;
	int64_t time_ns;
	double value;
	double rate; /* a counter's growth per second when last said; < 0 not known yet */
};

struct deadband {
	/* A share in percent of the value last said; of a metric that is itself in percent, points
	 * of it. A counter's value is how fast it grows. 0: any change. */
	double deadband;
	uint64_t heartbeat_ns; /* 0: none */
	bool on;	       /* false: everything is said */
	uint64_t said, left_out;
	struct map index; /* hash of metric and subject -> index of values */
	VEC(struct deadband_value) values;
};

/* Is this record to be said? Anything but a sample is. */
bool deadband_wants(struct deadband *t, const struct record *r);
/* Everything is new again: another file begins, or the recording ends. */
void deadband_forget(struct deadband *t);
void deadband_free(struct deadband *t);

#endif
