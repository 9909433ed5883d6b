/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The double's device: streams that are busy until a moment of CLOCK_MONOTONIC and waits that end
 * at that moment; its memory is memory.h's, its graphs are graph.h's. With no environment every
 * duration is zero and nothing waits.
 */
#ifndef TESTS_DOUBLE_DEVICE_H
#define TESTS_DOUBLE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CU_OK = 0,
	CU_INVALID_VALUE = 1,
	CU_OUT_OF_MEMORY = 2,
	CU_INVALID_DEVICE = 101,
	CU_INVALID_HANDLE = 400,
	CU_ILLEGAL_STATE = 401,
	CU_NOT_FOUND = 500,
	CU_NOT_READY = 600,
	CU_NOT_SUPPORTED = 801,
	CU_CAPTURE_UNSUPPORTED = 900
};

void device_start(void);

/* A stream handle of the caller; pt: this is a per-thread-default-stream entry point. */
int device_launch(void *stream, int pt);
/*
 * A copy or set takes its bytes times DOUBLE_COPY_NS_PER_KB; its contents move at once, or when the
 * graph is launched that the stream is captured into. wait: until it is done.
 */
struct work;
int device_work(void *stream, int pt, const struct work *w, bool wait);
/* The real driver calls it on a thread of its own; here this thread waits for the stream's work so
 * far and calls it. */
int device_call(void *stream, int pt, void (*f)(void *), void *data);
int device_graph_launch(void *stream, int pt, void *exec);
int device_capture_begin(void *stream, int pt, void *into); /* into: a graph, or NULL */
int device_capture_end(void *stream, int pt, void **graph);
int device_capture_info(void *stream, int pt, int *active, uint64_t *id, void **graph);
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

/*
 * wait.c: returns at that moment of CLOCK_MONOTONIC (UINT64_MAX: never), the way $DOUBLE_SYNC says.
 */
void device_wait_until(uint64_t ns);
void device_wait_start(void);

#endif
