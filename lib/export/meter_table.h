/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families of metrics and their points, by name and labels. Durations are histograms of fixed
 * bounds, so that those of several machines add up. Memory is bounded by METERS_POINTS.
 */
#ifndef INGERO_EXPORT_METER_TABLE_H
#define INGERO_EXPORT_METER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

/* Series a recording may make; those beyond are not kept but counted. A thousand processes with ten
 * values each fit. */
#define METERS_POINTS 65536

/* Upper bounds of durations in ns; what is longer than the last is counted above it. */
#define METERS_BOUNDS 24
extern const uint64_t meters_bounds_ns[METERS_BOUNDS];

#define METER_LABELS 6

struct meter_label {
	const char *key; /* NULL behind the last */
	uint32_t text;	 /* world string */
};

struct meter_point {
	struct meter_label labels[METER_LABELS];
	uint32_t node;	 /* world id of the machine, 0 unknown: not among the labels */
	int64_t time_ns; /* of the newest value, on the recording's clock */
	double value;
	uint64_t *buckets;	/* of histograms: METERS_BOUNDS + 1 counts */
	uint64_t count, sum_ns; /* of histograms */
};

enum meter_type { METER_GAUGE, METER_COUNTER, METER_HISTOGRAM };

struct meter_family {
	char name[80];	  /* "gpu_memory_used_bytes": Prometheus */
	char dotted[80];  /* "gpu.memory.used": OpenTelemetry */
	const char *unit; /* of OpenTelemetry (UCUM): "s", "By", "1", "{call}" */
	const char *help;
	enum meter_type type;
	VEC(struct meter_point) points;
};

/* Zero-initialised is empty. */
struct meter_table {
	VEC(struct meter_family) families; /* in the order they came up */
	struct map by_key;		   /* family and labels -> point index + 1 */
	uint64_t points, dropped;
};

void meter_table_free(struct meter_table *t);

/* The point of a family with these labels, made when there is none. NULL: out of memory, or too
 * many (t->dropped says how many). */
struct meter_point *meter_point(struct meter_table *t, unsigned family, uint32_t node,
				const struct meter_label *labels);
/* A family by its dotted name; made when there is none. Index, or -1: out of memory. */
int meter_family(struct meter_table *t, const char *dotted, const char *unit, const char *help,
		 enum meter_type type);

#endif
