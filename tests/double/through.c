/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that calls back, built twice: libthrough-kept.so keeps frame pointers,
 * libthrough-lost.so keeps none and has something else in that register while it calls, as most
 * libraries do at some time: no walk by frame pointers gets through it.
 */
int through(int (*call)(void));

__attribute__((visibility("default"), noinline)) int through(int (*call)(void))
{
	int rc;

#ifdef THROUGH_LOST
#if defined(__x86_64__)
	__asm__ volatile("xor %%ebp, %%ebp" : : : "rbp");
#elif defined(__aarch64__)
	__asm__ volatile("mov x29, xzr" : : : "x29");
#endif
#endif
	rc = call();
	__asm__ volatile("" : : : "memory");
	return rc;
}
