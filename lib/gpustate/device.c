/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work is kept as two times per stream, of the newest that was submitted and of what is known to be
 * done: no list of work, however much is outstanding.
 */
#include "lib/gpustate/device.h"

#include "lib/base/hash.h"

void devices_free(struct devices *ds)
{
	for (size_t i = 0; i < ds->v.n; i++)
		vec_free(&ds->v.v[i].streams);
	vec_free(&ds->v);
	vec_free(&ds->events);
	vec_free(&ds->unused_events);
	map_free(&ds->by);
	map_free(&ds->event_by);
}

enum device_act device_act_of(const struct op_def *op)
{
	if (op->source != SOURCE_CUDA && op->source != SOURCE_DRIVER && op->source != SOURCE_GRAPH)
		return DEVICE_NOTHING;
	switch (op->id) {
	case OP_CUDA_STREAM_SYNC:
	case OP_CU_STREAM_SYNC:
	case OP_CUDA_STREAM_QUERY:
	case OP_CU_STREAM_QUERY:
		return DEVICE_SYNC_STREAM;
	case OP_CUDA_EVENT_SYNC:
	case OP_CU_EVENT_SYNC:
	case OP_CUDA_EVENT_QUERY:
	case OP_CU_EVENT_QUERY:
		return DEVICE_SYNC_EVENT;
	case OP_CUDA_EVENT_RECORD:
	case OP_CU_EVENT_RECORD:
	case OP_CUDA_EVENT_RECORD_WITH_FLAGS:
	case OP_CU_EVENT_RECORD_WITH_FLAGS:
		return DEVICE_RECORD;
	case OP_CUDA_STREAM_WAIT_EVENT:
	case OP_CU_STREAM_WAIT_EVENT:
		return DEVICE_WAIT_EVENT;
	case OP_CUDA_STREAM_BEGIN_CAPTURE:
	case OP_CU_STREAM_BEGIN_CAPTURE:
	case OP_CUDA_STREAM_BEGIN_CAPTURE_TO_GRAPH:
	case OP_CU_STREAM_BEGIN_CAPTURE_TO_GRAPH:
		return DEVICE_CAPTURE;
	case OP_CUDA_STREAM_END_CAPTURE:
	case OP_CU_STREAM_END_CAPTURE:
		return DEVICE_CAPTURED;
	default:
		break;
	}
	if (op->flags & OP_SUBMIT)
		return op->flags & OP_SYNC ? DEVICE_COPY : DEVICE_SUBMIT;
	return op->flags & OP_SYNC ? DEVICE_SYNC : DEVICE_NOTHING;
}

uint32_t devices_find(struct devices *ds, uint32_t process, uint32_t gpu)
{
	uint64_t key = (uint64_t)process << 32 | gpu, at;
	struct device fresh = { .process = process, .gpu = gpu };

	if (map_get(&ds->by, key, &at))
		return (uint32_t)at;
	if (!vec_push(&ds->v, fresh) || !map_put(&ds->by, key, ds->v.n - 1))
		return UINT32_MAX;
	return (uint32_t)ds->v.n - 1;
}

uint32_t devices_known(const struct devices *ds, uint32_t process, uint32_t gpu)
{
	uint64_t at;

	return map_get(&ds->by, (uint64_t)process << 32 | gpu, &at) ? (uint32_t)at : UINT32_MAX;
}

/* Position of the stream; UINT32_MAX when there are too many, *nomem when for lack of memory. */
static uint32_t stream_at(struct device *d, const struct device_call *call, bool *nomem)
{
	uint64_t handle = call->stream == 1 ? 0 : call->stream; /* 1: the default stream by name */

	if (handle == DEVICE_PER_THREAD)
		handle = hash_u64((uint64_t)call->thread << 8 | DEVICE_PER_THREAD);
	for (size_t i = 0; i < d->streams.n; i++) {
		if (d->streams.v[i].handle == handle)
			return (uint32_t)i;
	}
	if (d->streams.n >= DEVICE_STREAMS) {
		d->overflow = true;
		return UINT32_MAX;
	}
	if (!vec_push(&d->streams, (struct device_stream){ .handle = handle,
							   .last_ns = INT64_MIN,
							   .done_ns = INT64_MIN })) {
		*nomem = true;
		return UINT32_MAX;
	}
	return (uint32_t)d->streams.n - 1;
}

/* Everything submitted to the stream up to this time is done, and what that waited for. */
static void cover_stream(struct device *d, uint32_t stream, int64_t upto_ns, unsigned hops)
{
	struct device_stream *s = &d->streams.v[stream];
	unsigned left = 0;

	if (upto_ns <= s->done_ns)
		return;
	s->done_ns = upto_ns;
	if (s->busy && s->last_ns <= upto_ns) {
		s->busy = false;
		d->busy--;
		d->covers++;
	}
	if (hops == 0)
		return;
	for (unsigned i = 0; i < s->nwaits; i++) {
		struct device_wait w = s->waits[i];

		if (w.made_ns <= upto_ns)
			cover_stream(d, w.stream, w.ns, hops - 1);
		else
			s->waits[left++] = w;
	}
	s->nwaits = left;
}

static bool record_event(struct devices *ds, uint32_t device, uint32_t stream,
			 const struct device_call *call)
{
	uint64_t key = hash_u64(call->event) ^ ds->v.v[device].process, at;
	struct device_event ev = { device, stream, call->start_ns, key };

	if (!map_get(&ds->event_by, key, &at)) {
		if (!ds->unused_events.n && ds->events.n >= DEVICE_EVENTS)
			return true;
		at = vec_place(&ds->events, &ds->unused_events);
		if (at == UINT32_MAX || !map_put(&ds->event_by, key, at))
			return false;
	}
	ds->events.v[at] = ev;
	return true;
}

bool devices_forget(struct devices *ds, uint32_t device)
{
	struct device *d = &ds->v.v[device];

	for (uint32_t i = 0; i < ds->events.n; i++) {
		struct device_event *ev = &ds->events.v[i];

		if (ev->device != device || !map_del(&ds->event_by, ev->key))
			continue;
		*ev = (struct device_event){ .device = UINT32_MAX };
		if (!vec_push(&ds->unused_events, i))
			return false;
	}
	vec_free(&d->streams);
	d->busy = 0;
	return true;
}

/* NULL: recorded before anything was seen, or for another device. */
static const struct device_event *find_recorded(const struct devices *ds, uint32_t device,
						const struct device_call *call)
{
	uint64_t at;

	if (!map_get(&ds->event_by, hash_u64(call->event) ^ ds->v.v[device].process, &at) ||
	    ds->events.v[at].device != device)
		return NULL;
	return &ds->events.v[at];
}

static void wait_event(struct device *d, uint32_t stream, const struct device_event *ev,
		       int64_t made_ns)
{
	struct device_stream *s = &d->streams.v[stream];
	unsigned i = 0;

	while (i < s->nwaits && s->waits[i].stream != ev->stream)
		i++;
	if (ev->stream == stream || i == DEVICE_WAITS)
		return;
	s->nwaits += i == s->nwaits;
	s->waits[i] = (struct device_wait){ ev->stream, ev->ns, made_ns };
}

void device_resume(struct device *d, int64_t until_ns)
{
	for (size_t i = 0; i < d->streams.n; i++) {
		struct device_stream *s = &d->streams.v[i];

		if (s->busy || s->last_ns > d->resumed_ns)
			device_submit(d, s, until_ns);
	}
	d->resumed_ns = until_ns;
}

bool devices_call(struct devices *ds, uint32_t device, const struct device_call *call)
{
	struct device *d = &ds->v.v[device];
	const struct device_event *ev;
	bool nomem = false;
	uint32_t stream = 0;

	if (call->act != DEVICE_SYNC && call->act != DEVICE_SYNC_EVENT) {
		stream = stream_at(d, call, &nomem);
		if (stream == UINT32_MAX)
			return !nomem;
	}
	switch (call->act) {
	case DEVICE_SUBMIT:
		device_submit(d, &d->streams.v[stream], call->end_ns);
		break;
	case DEVICE_COPY:
		device_submit(d, &d->streams.v[stream], call->start_ns);
		cover_stream(d, stream, call->start_ns, DEVICE_WAITS);
		break;
	case DEVICE_SYNC:
		for (uint32_t i = 0; i < d->streams.n; i++)
			cover_stream(d, i, call->start_ns, 0);
		break;
	case DEVICE_SYNC_STREAM:
		cover_stream(d, stream, call->start_ns, DEVICE_WAITS);
		break;
	case DEVICE_SYNC_EVENT:
		ev = find_recorded(ds, device, call);
		if (ev)
			cover_stream(d, ev->stream, ev->ns, DEVICE_WAITS);
		break;
	case DEVICE_RECORD:
		return record_event(ds, device, stream, call);
	case DEVICE_WAIT_EVENT:
		ev = find_recorded(ds, device, call);
		if (ev)
			wait_event(d, stream, ev, call->end_ns);
		break;
	case DEVICE_CAPTURE:
		d->streams.v[stream].capturing = true;
		break;
	case DEVICE_CAPTURED:
		d->streams.v[stream].capturing = false;
		break;
	default:
		break;
	}
	return true;
}
