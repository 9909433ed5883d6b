/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period of a sequence of calls: the smallest shift by which the sequence nearly equals itself.
 * For programs whose stacks do not show their loop.
 */
#ifndef INGERO_LOOPS_CALL_PERIOD_H
#define INGERO_LOOPS_CALL_PERIOD_H

#include <stddef.h>
#include <stdint.h>

#define CALL_PERIOD_MAX 1024 /* calls */

/* Of v, oldest first; 0: it has none. */
unsigned call_period_find(const uint64_t *v, size_t n);

/* Where in v the newest run of that many calls begins that equals the one before it, to the call;
 * n: there is none. */
size_t call_period_reference(const uint64_t *v, size_t n, unsigned period);

#endif
