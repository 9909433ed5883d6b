/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether things come at equal distances, and where a series of numbers changes its level: pure
 * functions of numbers that know no events. Neither assumes a distribution of the numbers.
 */
#ifndef INGERO_STAT_PERIOD_H
#define INGERO_STAT_PERIOD_H

#include <stdbool.h>
#include <stddef.h>

/* How likely n distances would be as alike as these, came the things at random (Rayleigh's test of
 * each distance's place on a circle of the median distance): 1 when n is below 3. *period: the
 * median distance. gaps is sorted. */
double period_chance(double *gaps, size_t n, double *period);

/* Where the values before and after differ most (Pettitt's test): *at is the first value behind the
 * change; how likely a change as clear as that would be in values of one level: 1 when n is below 4
 * or out of memory. */
double change_chance(const double *x, size_t n, size_t *at);

#endif
