/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and events of the double's device. Nothing here takes a lock, so that a clean run shows
 * no lock waits: completion times are atomic maxima.
 */
#include "device.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "graph.h"
#include "memory.h"
#include "shared.h"
#include "truth.h"

/* With a collective in it that not all ranks are known to have entered (one, and one thread per
 * stream): what was given after that comes behind it. */
struct stream {
	_Atomic uint64_t busy_until_ns;
	bool meeting;
	uint32_t ranks;
	uint64_t sequence, behind_ns;
	_Atomic uint64_t capture; /* the one it is or was part of, 0: none */
};

struct event {
	_Atomic uint64_t at_ns;
	_Atomic uint64_t capture; /* recorded in that one */
};

static struct stream legacy;
static __thread struct stream per_thread, *meets; /* meets: where this thread is in a collective */
static _Atomic uint64_t device_busy_until_ns;

static uint64_t launch_ns, copy_ns_per_kb, never_after = UINT64_MAX;
static _Atomic uint64_t launches;

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

void device_start(void)
{
	launch_ns = setting("DOUBLE_LAUNCH_NS", 0);
	copy_ns_per_kb = setting("DOUBLE_COPY_NS_PER_KB", 0);
	never_after = setting("DOUBLE_NEVER_AFTER", UINT64_MAX);
	memory_start();
	shared_start();
	device_wait_start();
}

static struct stream *stream_of(void *handle, int pt)
{
	if (handle == (void *)2 || (pt && !handle))
		return &per_thread;
	return !handle || handle == (void *)1 ? &legacy : handle;
}

static void raise_to(_Atomic uint64_t *p, uint64_t v)
{
	uint64_t old = atomic_load(p);

	while (old < v && !atomic_compare_exchange_weak(p, &old, v))
		;
}

/* Whether all ranks have come, if they had to. */
static bool met(struct stream *s, bool wait)
{
	uint64_t all;

	if (!s->meeting)
		return true;
	if (!shared_met(s->sequence, s->ranks, wait, &all))
		return false;
	s->meeting = false;
	raise_to(&s->busy_until_ns, all + launch_ns + s->behind_ns);
	raise_to(&device_busy_until_ns, atomic_load(&s->busy_until_ns));
	return true;
}

/* Queues work behind what the stream already has. */
static uint64_t submit(struct stream *s, uint64_t ns)
{
	uint64_t old = atomic_load(&s->busy_until_ns), now, end;

	if (!ns)
		return old;
	if (!met(s, false)) {
		s->behind_ns += ns;
		return old;
	}
	now = truth_now();
	if (ns != UINT64_MAX && shared_turn(old > now ? old : now, ns, &end)) {
		raise_to(&s->busy_until_ns, end);
		raise_to(&device_busy_until_ns, end);
		return end;
	}
	do {
		end = (old > now ? old : now) + ns;
		if (old == UINT64_MAX || ns == UINT64_MAX)
			end = UINT64_MAX;
	} while (!atomic_compare_exchange_weak(&s->busy_until_ns, &old, end));
	raise_to(&device_busy_until_ns, end);
	return end;
}

static void wait_for(uint64_t ns)
{
	if (ns)
		device_wait_until(ns);
}

/* The capture that a stream is part of, 0: none. */
static uint64_t capture_of(const struct stream *s)
{
	uint64_t id = atomic_load_explicit(&s->capture, memory_order_relaxed);

	return id && capture_is_active(id) ? id : 0;
}

static uint64_t run_ns(uint64_t ns)
{
	if (never_after == UINT64_MAX)
		return ns;
	return atomic_fetch_add(&launches, 1) + 1 > never_after ? UINT64_MAX : ns;
}

int device_launch(void *stream, int pt)
{
	struct stream *s = stream_of(stream, pt);
	uint64_t capture = capture_of(s);

	if (capture)
		capture_add(capture, launch_ns, NULL);
	else
		submit(s, run_ns(launch_ns));
	return CU_OK;
}

static uint64_t copy_ns(uint64_t bytes)
{
	return copy_ns_per_kb * (bytes >> 10) + copy_ns_per_kb * (bytes & 1023) / 1024;
}

int device_work(void *stream, int pt, const struct work *w, bool wait)
{
	struct stream *s = stream_of(stream, pt);
	uint64_t ns = copy_ns(work_bytes(w)), capture = capture_of(s);

	if (!work_is_valid(w))
		return CU_INVALID_VALUE;
	if (capture) {
		capture_add(capture, ns, w);
		return CU_OK;
	}
	if (wait)
		met(s, true);
	ns = submit(s, ns);
	if (wait)
		wait_for(ns);
	work_run(w);
	return CU_OK;
}

int device_call(void *stream, int pt, void (*f)(void *), void *data)
{
	struct work w = { .kind = WORK_CALL, .f = f, .data = data };

	if (!f)
		return CU_INVALID_VALUE;
	if (!capture_of(stream_of(stream, pt)))
		device_stream_sync(stream, pt);
	return device_work(stream, pt, &w, false);
}

int device_capture_begin(void *stream, int pt, void *into)
{
	struct stream *s = stream_of(stream, pt);

	if (s == &legacy)
		return CU_CAPTURE_UNSUPPORTED;
	if (capture_of(s))
		return memory_has_contents() ? CU_ILLEGAL_STATE : CU_OK;
	s->capture = capture_begin(into);
	return s->capture ? CU_OK : CU_OUT_OF_MEMORY;
}

int device_capture_end(void *stream, int pt, void **graph)
{
	uint64_t capture = capture_of(stream_of(stream, pt));

	if (!graph)
		return CU_INVALID_VALUE;
	if (!capture && memory_has_contents())
		return CU_ILLEGAL_STATE;
	*graph = capture ? capture_end(capture) : graph_create();
	return CU_OK;
}

int device_capture_info(void *stream, int pt, int *active, uint64_t *id, void **graph)
{
	uint64_t capture = capture_of(stream_of(stream, pt));

	if (!active)
		return CU_INVALID_VALUE;
	*active = capture != 0;
	if (id)
		*id = capture;
	if (graph)
		*graph = capture_graph(capture);
	return CU_OK;
}

int device_graph_launch(void *stream, int pt, void *exec)
{
	struct stream *s = stream_of(stream, pt);
	uint64_t capture = capture_of(s), ns = graph_run(exec);

	if (capture)
		capture_add(capture, ns, NULL);
	else
		submit(s, run_ns(ns));
	return CU_OK;
}

int device_stream_create(void **out)
{
	*out = calloc(1, sizeof(struct stream));
	return *out ? CU_OK : CU_OUT_OF_MEMORY;
}

int device_stream_destroy(void *stream)
{
	if ((uintptr_t)stream <= 2)
		return CU_INVALID_HANDLE;
	met(stream, true);
	meets = NULL;
	free(stream);
	return CU_OK;
}

/* For the double of NCCL: a collective, the sequence-th of so many ranks, takes as long as a kernel
 * from when all are there. */
__attribute__((visibility("default"))) void double_collective(void *stream, uint64_t sequence,
							      uint32_t ranks);
void double_collective(void *stream, uint64_t sequence, uint32_t ranks)
{
	struct stream *s = stream_of(stream, 0);
	uint64_t now, busy;

	if (!shared_meets())
		return;
	met(s, true);
	now = truth_now();
	busy = atomic_load(&s->busy_until_ns);
	shared_enter(sequence, busy > now ? busy : now);
	s->meeting = true;
	s->sequence = sequence;
	s->ranks = ranks;
	s->behind_ns = 0;
	meets = s;
}

static int done(uint64_t ns)
{
	return !ns || ns <= truth_now() ? CU_OK : CU_NOT_READY;
}

int device_stream_query(void *stream, int pt)
{
	if (capture_of(stream_of(stream, pt)))
		return CU_CAPTURE_UNSUPPORTED;
	if (!met(stream_of(stream, pt), false))
		return CU_NOT_READY;
	return done(atomic_load(&stream_of(stream, pt)->busy_until_ns));
}

int device_stream_sync(void *stream, int pt)
{
	if (capture_of(stream_of(stream, pt)))
		return CU_CAPTURE_UNSUPPORTED;
	met(stream_of(stream, pt), true);
	wait_for(atomic_load(&stream_of(stream, pt)->busy_until_ns));
	return CU_OK;
}

int device_stream_wait_event(void *stream, int pt, void *event)
{
	struct stream *s = stream_of(stream, pt);
	struct event *e = event;
	uint64_t capture;

	if (!e)
		return CU_INVALID_HANDLE;
	capture = atomic_load(&e->capture);
	if (capture && capture_is_active(capture))
		s->capture = capture; /* it joins */
	else
		raise_to(&s->busy_until_ns, atomic_load(&e->at_ns));
	return CU_OK;
}

int device_sync(void)
{
	if (meets)
		met(meets, true);
	wait_for(atomic_load(&device_busy_until_ns));
	return CU_OK;
}

int device_event_create(void **out)
{
	*out = calloc(1, sizeof(struct event));
	return *out ? CU_OK : CU_OUT_OF_MEMORY;
}

int device_event_destroy(void *event)
{
	if (!event)
		return CU_INVALID_HANDLE;
	free(event);
	return CU_OK;
}

int device_event_record(void *event, void *stream, int pt)
{
	struct stream *s = stream_of(stream, pt);
	struct event *e = event;
	uint64_t at, now;

	if (!e)
		return CU_INVALID_HANDLE;
	e->capture = capture_of(s);
	if (e->capture)
		return CU_OK;
	met(s, true);
	at = atomic_load(&s->busy_until_ns);
	now = truth_now();
	atomic_store(&e->at_ns, at > now ? at : now);
	return CU_OK;
}

int device_event_query(void *event)
{
	return event ? done(atomic_load(&((struct event *)event)->at_ns)) : CU_INVALID_HANDLE;
}

int device_event_sync(void *event)
{
	if (!event)
		return CU_INVALID_HANDLE;
	wait_for(atomic_load(&((struct event *)event)->at_ns));
	return CU_OK;
}

int device_event_elapsed(float *ms, void *from, void *to)
{
	uint64_t a, b;

	if (!from || !to || !ms)
		return CU_INVALID_HANDLE;
	a = atomic_load(&((struct event *)from)->at_ns);
	b = atomic_load(&((struct event *)to)->at_ns);
	*ms = (float)((double)(int64_t)(b - a) / 1e6);
	return CU_OK;
}
