/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values over time in fixed memory: equal spans, which double when there are too many. Nothing is
 * dropped: what is counted in all points is what was added. A span begins at a multiple of its
 * length.
 */
#ifndef INGERO_STAT_SERIES_H
#define INGERO_STAT_SERIES_H

#include <stdint.h>

#define SERIES_POINTS 128

struct series_point {
	uint64_t n; /* values */
	double sum;
};

/* Zero-initialised is empty, once span_ns is set to the shortest span wanted. */
struct series {
	int64_t span_ns;
	int64_t first; /* point i covers [(first + i) * span_ns, (first + i + 1) * span_ns) */
	unsigned n;    /* points; those without values within are there */
	unsigned at;   /* the newest one added to, and what it covers: most values come in order */
	int64_t at_from_ns, at_to_ns;
	struct series_point v[SERIES_POINTS];
};

/* n values that sum up to sum, at that time. */
void series_add(struct series *s, int64_t time_ns, uint64_t n, double sum);

/*
 * The same in so many points (more than 0, at most SERIES_POINTS) for a picture, the first of them
 * for the first span; *top: the largest. Return how many were filled in. Rates are of n, per second
 * of what lies within [start_ns, end_ns); a point at either end of which less than half does is
 * left out where there are others. Means are of the values; a point without values has the mean of
 * the one before.
 */
unsigned series_rates(const struct series *s, int64_t start_ns, int64_t end_ns, double *v,
		      unsigned width, double *top);
unsigned series_means(const struct series *s, double *v, unsigned width, double *top);

#endif
