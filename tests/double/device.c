/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, events and memory accounting of the double's device. Nothing here takes a lock, so that
 * a clean run shows no lock waits: completion times are atomic maxima and free memory slots are a
 * tagged lock-free stack.
 */
#include "device.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"
#include "truth.h"

#define SLOTS	   (1u << 20)
#define SLOT_SHIFT 26		     /* 64 MiB of addresses each */
#define SLOT_BASE  0x100000000000ull /* below where programs and heaps are mapped */
#define HOST_MAGIC 0x646f75626c653031ull

/* With a collective in it that not all ranks are known to have entered (one, and one thread per stream): what was given
 * after that comes behind it. */
struct stream {
	_Atomic uint64_t busy_until_ns;
	bool meeting;
	uint32_t ranks;
	uint64_t sequence, behind_ns;
};

struct event {
	_Atomic uint64_t at_ns;
};

struct host_header {
	uint64_t magic;
	uint64_t bytes;
};

static struct stream legacy;
static __thread struct stream per_thread, *meets; /* meets: where this thread is in a collective */
static _Atomic uint64_t device_busy_until_ns;

static uint64_t launch_ns, copy_ns_per_kb, never_after = UINT64_MAX;
static _Atomic uint64_t launches;

static uint64_t total_bytes;
static _Atomic uint64_t used_bytes;
static struct slot {
	uint64_t bytes;
	uint32_t next;
} * slots;
static _Atomic uint64_t free_head; /* tag << 32 | slot number + 1, 0: none */
static _Atomic uint32_t fresh;	   /* slots never used start here */

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
	total_bytes = setting("DOUBLE_DEVICE_MB", 81920) << 20;
	slots = calloc(SLOTS, sizeof *slots); /* untouched pages cost nothing */
	if (!slots)
		abort();
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

int device_launch(void *stream, int pt)
{
	uint64_t n = 0;

	if (never_after != UINT64_MAX)
		n = atomic_fetch_add(&launches, 1) + 1;
	submit(stream_of(stream, pt), n > never_after ? UINT64_MAX : launch_ns);
	return CU_OK;
}

static uint64_t copy_ns(uint64_t bytes)
{
	return copy_ns_per_kb * (bytes >> 10) + copy_ns_per_kb * (bytes & 1023) / 1024;
}

int device_copy(void *stream, int pt, uint64_t bytes)
{
	submit(stream_of(stream, pt), copy_ns(bytes));
	return CU_OK;
}

int device_copy_wait(void *stream, int pt, uint64_t bytes)
{
	met(stream_of(stream, pt), true);
	wait_for(submit(stream_of(stream, pt), copy_ns(bytes)));
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

/* For the double of NCCL: a collective, the sequence-th of so many ranks, takes as long as a kernel from when all are there. */
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
	if (!met(stream_of(stream, pt), false))
		return CU_NOT_READY;
	return done(atomic_load(&stream_of(stream, pt)->busy_until_ns));
}

int device_stream_sync(void *stream, int pt)
{
	met(stream_of(stream, pt), true);
	wait_for(atomic_load(&stream_of(stream, pt)->busy_until_ns));
	return CU_OK;
}

int device_stream_wait_event(void *stream, int pt, void *event)
{
	if (!event)
		return CU_INVALID_HANDLE;
	raise_to(&stream_of(stream, pt)->busy_until_ns,
		 atomic_load(&((struct event *)event)->at_ns));
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
	uint64_t at, now;

	if (!event)
		return CU_INVALID_HANDLE;
	met(stream_of(stream, pt), true);
	at = atomic_load(&stream_of(stream, pt)->busy_until_ns);
	now = truth_now();
	atomic_store(&((struct event *)event)->at_ns, at > now ? at : now);
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

static uint32_t slot_take(void)
{
	uint64_t head = atomic_load(&free_head), next;
	uint32_t n;

	while (head & UINT32_MAX) {
		n = (uint32_t)head - 1;
		next = ((head >> 32) + 1) << 32 | __atomic_load_n(&slots[n].next, __ATOMIC_RELAXED);
		if (atomic_compare_exchange_weak(&free_head, &head, next))
			return n;
	}
	n = atomic_fetch_add(&fresh, 1);
	return n < SLOTS ? n : UINT32_MAX;
}

static void slot_give(uint32_t n)
{
	uint64_t head = atomic_load(&free_head), next;

	do {
		__atomic_store_n(&slots[n].next, (uint32_t)head, __ATOMIC_RELAXED);
		next = ((head >> 32) + 1) << 32 | (n + 1);
	} while (!atomic_compare_exchange_weak(&free_head, &head, next));
}

int device_alloc(uint64_t *out, size_t bytes)
{
	uint32_t n;

	if (!out || !bytes)
		return CU_INVALID_VALUE;
	if (bytes > total_bytes || atomic_fetch_add(&used_bytes, bytes) + bytes > total_bytes) {
		if (bytes <= total_bytes)
			atomic_fetch_sub(&used_bytes, bytes);
		return CU_OUT_OF_MEMORY;
	}
	n = slot_take();
	if (n == UINT32_MAX) {
		atomic_fetch_sub(&fresh, 1);
		atomic_fetch_sub(&used_bytes, bytes);
		return CU_OUT_OF_MEMORY;
	}
	__atomic_store_n(&slots[n].bytes, bytes, __ATOMIC_RELEASE);
	*out = SLOT_BASE + ((uint64_t)n << SLOT_SHIFT);
	return CU_OK;
}

int device_alloc_host(void **out, size_t bytes)
{
	struct host_header *h;

	if (!out || !bytes)
		return CU_INVALID_VALUE;
	h = calloc(1, sizeof *h + bytes);
	if (!h)
		return CU_OUT_OF_MEMORY;
	*h = (struct host_header){ .magic = HOST_MAGIC, .bytes = bytes };
	*out = h + 1;
	return CU_OK;
}

int device_free(uint64_t p)
{
	if (!p)
		return CU_OK;
	if (p >= SLOT_BASE && p < SLOT_BASE + ((uint64_t)SLOTS << SLOT_SHIFT)) {
		uint32_t n = (uint32_t)((p - SLOT_BASE) >> SLOT_SHIFT);
		uint64_t bytes = __atomic_exchange_n(&slots[n].bytes, 0, __ATOMIC_ACQ_REL);

		if (!bytes)
			return CU_INVALID_VALUE;
		atomic_fetch_sub(&used_bytes, bytes);
		slot_give(n);
		return CU_OK;
	}
	if (p < 65536 || p % 16 || ((struct host_header *)(uintptr_t)p)[-1].magic != HOST_MAGIC)
		return CU_INVALID_VALUE;
	((struct host_header *)(uintptr_t)p)[-1].magic = 0;
	free((struct host_header *)(uintptr_t)p - 1);
	return CU_OK;
}

int device_memory(size_t *free_bytes, size_t *total)
{
	uint64_t used = atomic_load(&used_bytes);

	if (free_bytes)
		*free_bytes = used < total_bytes ? total_bytes - used : 0;
	if (total)
		*total = total_bytes;
	return CU_OK;
}
