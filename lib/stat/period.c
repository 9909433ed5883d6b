/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the period of a series, and the point where its level changes, by two tests from the
 * literature: J. W. Strutt (Rayleigh) for directions; A. N. Pettitt, "A non-parametric approach to
 * the change-point problem", Applied Statistics 28 (1979), with its approximate significance.
 */
#include "lib/stat/period.h"

#include <math.h>
#include <stdlib.h>

static int compare_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double period_chance(double *gaps, size_t n, double *period)
{
	double c = 0, s = 0, r2;

	*period = 0;
	if (n < 3)
		return 1;
	qsort(gaps, n, sizeof(*gaps), compare_by_value);
	*period = n % 2 ? gaps[n / 2] : (gaps[n / 2 - 1] + gaps[n / 2]) / 2;
	if (*period <= 0)
		return 1;
	for (size_t i = 0; i < n; i++) {
		c += cos(2 * M_PI * gaps[i] / *period);
		s += sin(2 * M_PI * gaps[i] / *period);
	}
	/* Random points lie all around the circle; only those at its top speak for the period. */
	if (c <= 0)
		return 1;
	r2 = (c * c + s * s) / ((double)n * (double)n);
	return exp(-(double)n * r2);
}

struct ranked {
	double x;
	size_t at;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->x != y->x)
		return x->x < y->x ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

double change_chance(const double *x, size_t n, size_t *at)
{
	struct ranked *v = n >= 4 ? malloc(n * sizeof(*v)) : NULL;
	double *rank = v ? malloc(n * sizeof(*rank)) : NULL;
	double sum = 0, most = 0, p = 1;

	*at = 0;
	if (!rank)
		goto out;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct ranked){ x[i], i };
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n;) {
		size_t k = i;

		while (k < n && v[k].x == v[i].x)
			k++;
		/* Equal values share their ranks. */
		for (size_t m = i; m < k; m++)
			rank[v[m].at] = (double)(i + 1 + k) / 2;
		i = k;
	}
	for (size_t i = 0; i + 1 < n; i++) {
		double u;

		sum += rank[i];
		u = fabs(2 * sum - (double)(i + 1) * (double)(n + 1));
		if (u > most) {
			most = u;
			*at = i + 1;
		}
	}
	p = 2 * exp(-6 * most * most / ((double)n * (double)n * ((double)n + 1)));
out:
	free(rank);
	free(v);
	return p > 1 ? 1 : p;
}
