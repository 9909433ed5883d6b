/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that one thread has and another one works on, again and again in the same memory. A
 * processor that writes where another one still keeps a copy of what was there waits for it line by
 * line: 30 ns a line were measured where the two do not share a cache, against 3 where what is
 * written is kept by neither. So the numbers are copied past the caches, in as few bytes as they
 * fit, and the thread that has them goes on in memory of its own.
 */
#ifndef INGERO_BASE_NT_COPY_H
#define INGERO_BASE_NT_COPY_H

#include <stddef.h>
#include <stdint.h>

#define NT_COPY_ALIGN 64 /* where they are put */
/* Bytes of memory for n numbers of `width` bytes: 8, 4, or bytes. */
#define NT_COPY_BYTES(n, width) \
	(((size_t)(n) * (width) + NT_COPY_ALIGN - 1) & ~(size_t)(NT_COPY_ALIGN - 1))

/* n numbers less base, which fit in width bytes. */
void nt_copy_put(void *to, const uint64_t *from, size_t n, uint64_t base, unsigned width);
void nt_copy_put_bytes(void *to, const uint8_t *from, size_t n);
/* The same by the thread that works on them. */
void nt_copy_get(uint64_t *to, const void *from, size_t n, unsigned width);

#endif
