/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What seldom happens in a function that is called for every event is a function of its own: what it needs of registers and
 * stack is not paid for by those who pass it by.
 */
#ifndef INGERO_BASE_RARE_H
#define INGERO_BASE_RARE_H

#define RARE __attribute__((noinline, cold))
/* Neither rare nor usual. */
#define APART __attribute__((noinline))
/* Part of every event's way, whatever the compiler thinks of its size. */
#define USUAL static inline __attribute__((always_inline))

#endif
