/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The double's device: streams that are busy until a moment of CLOCK_MONOTONIC, waits that end at
 * that moment, and memory that is only accounted for (device memory has addresses but no contents;
 * managed and pinned host memory is real). With no environment every duration is zero and nothing
 * waits.
 */
#ifndef TESTS_DOUBLE_DEVICE_H
#define TESTS_DOUBLE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

enum {
	CU_OK = 0,
	CU_INVALID_VALUE = 1,
	CU_OUT_OF_MEMORY = 2,
	CU_INVALID_HANDLE = 400,
	CU_NOT_FOUND = 500,
	CU_NOT_READY = 600
};

void device_start(void);

/* A stream handle of the caller; pt: this is a per-thread-default-stream entry point. */
int device_launch(void *stream, int pt);
int device_copy(void *stream, int pt, uint64_t bytes);
int device_copy_wait(void *stream, int pt, uint64_t bytes); /* the blocking copies */
int device_stream_create(void **out);
int device_stream_destroy(void *stream);
int device_stream_query(void *stream, int pt);
int device_stream_sync(void *stream, int pt);
int device_stream_wait_event(void *stream, int pt, void *event);
int device_sync(void);

int device_event_create(void **out);
int device_event_destroy(void *event);
int device_event_record(void *event, void *stream, int pt);
int device_event_query(void *event);
int device_event_sync(void *event);
int device_event_elapsed(float *ms, void *from, void *to);

int device_alloc(uint64_t *out, size_t bytes);
int device_alloc_host(void **out, size_t bytes); /* pinned and managed: the process can touch it */
int device_free(uint64_t p);
int device_memory(size_t *free_bytes, size_t *total_bytes);

/*
 * wait.c: returns at that moment of CLOCK_MONOTONIC (UINT64_MAX: never), the way $DOUBLE_SYNC says.
 */
void device_wait_until(uint64_t ns);
void device_wait_start(void);

#endif
