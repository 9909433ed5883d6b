/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream as metrics: what Prometheus and OTLP are told. Counters run from the recording's beginning, gauges are the
 * newest value, durations are histograms of fixed bounds, so that those of several machines add up. Memory is bounded by
 * METERS_POINTS.
 */
#ifndef INGERO_EMIT_METERS_H
#define INGERO_EMIT_METERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/emit/format.h"

/* Series a recording may make; those beyond are not kept but counted. A thousand processes with ten values each fit. */
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

struct meter_chain {
	uint64_t id, lost_ns;
	uint32_t kind, severity; /* world string; enum chain_severity */
};

struct meters {
	const struct emit *em;
	VEC(struct meter_family) families; /* in the order they came up */
	struct map by_key;		   /* family and labels -> point index + 1 */
	struct map chains, open;	   /* what is said of one now: see meters.c */
	VEC(struct meter_chain) told;
	uint64_t points, dropped;
	uint64_t memory_bytes;	     /* of the machine, 0 unknown */
	int64_t begin_ns, newest_ns; /* INT64_MAX, INT64_MIN: nothing yet */
};

bool meters_begin(struct meters *m, const struct emit *em); /* false: out of memory */
int meters_item(struct meters *m, const struct stream_item *it, struct err *e);
/* Bring what is worked out at the time of asking up to date: before families are read. False: out of memory. */
bool meters_settle(struct meters *m);
void meters_free(struct meters *m);

/* For who fills them in: the point of a family with these labels, made when there is none. NULL: out of memory, or too
 * many (m->dropped says how many). */
struct meter_point *meters_point(struct meters *m, unsigned family, uint32_t node,
				 const struct meter_label *labels);
/* A family by its dotted name; made when there is none. Index, or -1: out of memory. */
int meters_family(struct meters *m, const char *dotted, const char *unit, const char *help,
		  enum meter_type type);

/* A SAMPLE record: a value of the system, a process, a cgroup or a GPU. */
bool meters_sample(struct meters *m, const struct rec_SAMPLE *r, const struct record *rec);

#endif
