/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks entered a collective late, all times on one clock.
 */
#ifndef INGERO_DETECT_COLLECTIVE_LATE_H
#define INGERO_DETECT_COLLECTIVE_LATE_H

#include <stddef.h>
#include <stdint.h>

struct arrival {
	int64_t at_ns;
	uint32_t member;
};

/* Sorts the n arrivals, at least 2 of them; the last ones, as many as it returns, are the late
 * ranks: the last one, or as many as half of all where they are nearer to each other than to the
 * rest. */
size_t collective_late_find(struct arrival *v, size_t n);

#endif
