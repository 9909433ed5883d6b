/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What seldom happens in a function that is called for every event is a function of its own: what
 * it needs of registers and stack is not paid for by those who pass it by.
 */
#ifndef INGERO_BASE_COMPILER_H
#define INGERO_BASE_COMPILER_H

#define COLD_CALL __attribute__((noinline, cold))
/* Neither rare nor usual. */
#define NOINLINE __attribute__((noinline))
/* Part of every event's way, whatever the compiler thinks of its size. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
