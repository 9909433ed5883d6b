/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the double's device: addresses in a range of their own, from which an address tells its
 * allocation. Pinned and managed memory can always be touched; device memory has contents with
 * DOUBLE_CONTENTS=1 only.
 */
#ifndef TESTS_DOUBLE_MEMORY_H
#define TESTS_DOUBLE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_kind {
	MEMORY_NONE, /* not allocated here */
	MEMORY_DEVICE,
	MEMORY_PINNED,
	MEMORY_MANAGED,
	MEMORY_RESERVED, /* addresses that cuMemMap gives memory (vmm.c) */
	MEMORY_GRAPH,	 /* graph.c: objects whose handle is known from a made-up one */
	MEMORY_EXEC
};

struct memory_range {
	enum memory_kind kind;
	uint64_t start, bytes;
};

void memory_start(void); /* reads the environment */
/* Whether device memory has contents; then addresses and states are checked, too. */
bool memory_has_contents(void);

/* Device memory counts against DOUBLE_DEVICE_MB, the other kinds do not. CU_* codes of device.h. */
int memory_alloc(uint64_t *out, size_t bytes, enum memory_kind kind);
int memory_free(uint64_t p);
/* Counts bytes that have no address yet against the device's memory, or gives them back. */
bool memory_account(uint64_t bytes);
void memory_unaccount(uint64_t bytes);
int memory_info(size_t *free_bytes, size_t *total_bytes);

/* The live allocation that holds p, by its first address; kind MEMORY_NONE: there is none. */
struct memory_range memory_find(uint64_t p);

/* Host memory that the program has registered counts as pinned. The last 1024 ranges are known. */
void memory_register(uint64_t p, size_t bytes);
void memory_unregister(uint64_t p);
/* As memory_find, of registered memory, too. */
struct memory_range memory_find_any(uint64_t p);

/* What a stream does with memory; width in bytes. A set repeats `value`, of 1, 2 or 4 bytes. */
struct work {
	enum { WORK_COPY, WORK_SET, WORK_CALL } kind;
	uint64_t dst, src;
	size_t dst_pitch, src_pitch, width, height;
	uint32_t value, value_bytes;
	void (*f)(void *);
	void *data;
};

uint64_t work_bytes(const struct work *w);
/* Whether the addresses of device memory in it are allocated from the first byte to the last. */
bool work_is_valid(const struct work *w);
/* Does it now. Copies and sets do nothing where memory has no contents. */
void work_run(const struct work *w);

#endif
