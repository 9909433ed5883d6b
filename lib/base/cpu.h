/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine's processor can do beyond its architecture's least. Whoever has a faster way
 * for it has a plain one too, with the same result; all other architectures take that.
 */
#ifndef INGERO_BASE_CPU_H
#define INGERO_BASE_CPU_H

#include <stdbool.h>

/* Tests set it, to compare both ways. */
extern bool cpu_plain_only;

#if defined(__x86_64__)
#define CPU_X86	  1
#define CPU_AVX2  __attribute__((target("avx2")))
#define CPU_CLMUL __attribute__((target("pclmul,sse4.1")))
#define CPU_LZCNT \
	__attribute__((target("avx2,lzcnt,bmi2"))) /* shifts and leading zeroes in one step */

static inline bool cpu_has_avx2(void)
{
	return !cpu_plain_only && __builtin_cpu_supports("avx2");
}

static inline bool cpu_has_lzcnt(void)
{
	/* What does not know it counts from the other end: only a compiler that can ask for it may
	 * use it. */
#if defined(__GNUC__) && !defined(__clang__)
	return cpu_has_avx2() && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
#else
	return false;
#endif
}

static inline bool cpu_has_clmul(void)
{
	return !cpu_plain_only && __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("sse4.1");
}
#else
#define CPU_X86 0
#endif

#endif
