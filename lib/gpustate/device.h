/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a device has work of a process, as far as the process's own calls tell: a stream has work
 * from a call that submits some until a call returns that waited for it (for the device, for the
 * stream, for an event recorded behind the work, for a copy) or a query said that it is done. A
 * stream covered by waiting for another is covered with it. What a wait covers is what had been
 * submitted when it began. Bounded: DEVICE_STREAMS streams of a device, beyond which it counts as
 * busy for ever, and DEVICE_EVENTS events, beyond which waits for others cover nothing.
 */
#ifndef INGERO_GPUSTATE_DEVICE_H
#define INGERO_GPUSTATE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"

#define DEVICE_STREAMS 1024
#define DEVICE_EVENTS  65536
#define DEVICE_WAITS   4

/* What a call is to the device. */
enum device_act {
	DEVICE_NOTHING,
	DEVICE_SUBMIT,
	DEVICE_COPY,	    /* submits, and returns when that is done */
	DEVICE_SYNC,	    /* waits for all of it */
	DEVICE_SYNC_STREAM, /* or learns that it is done */
	DEVICE_SYNC_EVENT,
	DEVICE_RECORD,
	DEVICE_WAIT_EVENT,
	DEVICE_CAPTURE, /* what a stream is given from here on is recorded, not run */
	DEVICE_CAPTURED,
};

enum device_act device_act_of(const struct op_def *op);

struct device_stream {
	uint64_t handle;
	int64_t last_ns, done_ns; /* newest work; all work up to here is done */
	bool busy, capturing;
	unsigned nwaits;
	struct device_wait {
		uint32_t stream;
		int64_t ns, made_ns; /* up to where in that stream; when it was asked for */
	} waits[DEVICE_WAITS];	     /* its work begins after that of another stream */
};

/* Handles seldom share a place: which of two streams a call is of, nobody can foresee. */
#define DEVICE_NEWEST 16
static inline unsigned device_place(uint64_t handle)
{
	return (unsigned)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 60);
}

struct device {
	uint32_t process, gpu; /* gpu 0: not known */
	VEC(struct device_stream) streams;
	uint32_t busy;	    /* streams with work */
	uint64_t covers;    /* waits that covered something */
	int64_t resumed_ns; /* since when all calls are recorded again; 0: they always were */
	bool overflow;
	uint8_t newest[DEVICE_NEWEST]; /* by handle, see device_place: position of a stream */
};

struct device_event {
	uint32_t device, stream;
	int64_t ns;
	uint64_t key;
};

/* Zero-initialised is empty. */
struct devices {
	VEC(struct device) v;
	struct map by, event_by;
	VEC(struct device_event) events;
	VEC(uint32_t) unused_events; /* positions */
};

void devices_free(struct devices *ds);

/* Position of this process's device. UINT32_MAX: out of memory. */
uint32_t devices_find(struct devices *ds, uint32_t process, uint32_t gpu);

/* No more calls use it: drops its streams and events. False: out of memory. */
bool devices_forget(struct devices *ds, uint32_t device);

/* The same, if it was found before; else UINT32_MAX. */
uint32_t devices_known(const struct devices *ds, uint32_t process, uint32_t gpu);

/* Work was submitted to one of its streams until then. */
static inline void device_submit(struct device *d, struct device_stream *s, int64_t ns)
{
	if (s->capturing)
		return;
	if (ns > s->last_ns)
		s->last_ns = ns;
	if (!s->busy && s->last_ns > s->done_ns) {
		s->busy = true;
		d->busy++;
	}
}

/* A call of thread that ended well, as act. stream and event: its columns, 0 absent. False: out of
 * memory. */
struct device_call {
	enum device_act act;
	uint32_t thread;
	uint64_t stream, event;
	int64_t start_ns, end_ns;
};
bool devices_call(struct devices *ds, uint32_t device, const struct device_call *call);

/* Until then work may have been submitted that nobody saw: streams that were given some since the
 * pause before have some from then on. */
void device_resume(struct device *d, int64_t until_ns);

#define DEVICE_PER_THREAD 2 /* cudaStreamPerThread */

/* The stream of a call with this handle, if it is the one of its place that was met last. */
static inline struct device_stream *devices_newest(const struct device *d, uint64_t stream)
{
	uint64_t handle = stream == 1 ? 0 : stream;
	uint8_t at = d->newest[device_place(handle)];

	return handle != DEVICE_PER_THREAD && at < d->streams.n && d->streams.v[at].handle == handle
		       ? &d->streams.v[at]
		       : NULL;
}

/* The same of a call that submits, if its stream is known; else false, and nothing was done. */
static inline bool devices_submit(struct device *d, uint64_t stream, int64_t end_ns)
{
	struct device_stream *s = devices_newest(d, stream);

	if (!s) {
		uint64_t handle = stream == 1 ? 0 : stream;
		size_t i = 0;

		if (handle == DEVICE_PER_THREAD)
			return false;
		while (i < d->streams.n && d->streams.v[i].handle != handle)
			i++;
		if (i == d->streams.n || i > UINT8_MAX)
			return false;
		d->newest[device_place(handle)] = (uint8_t)i;
		s = &d->streams.v[i];
	}
	device_submit(d, s, end_ns);
	return true;
}

#endif
