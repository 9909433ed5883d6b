/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the double's device: one reserved range of addresses, divided into classes of sizes
 * that are powers of two and each of those into slots, so that an address leads to its allocation
 * by arithmetic. Nothing here takes a lock, so that a clean run shows no lock waits: free slots are
 * a tagged lock-free stack. Pages that nobody touches cost nothing.
 */
#include "memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "defaults.h"
#include "device.h"

#define CLASS_SHIFT 38 /* 256 GiB of addresses for each class */
#define CLASS_MIN   9  /* 512 bytes, as NVIDIA's allocations are aligned */
#define CLASS_MAX   38
#define CLASSES	    (CLASS_MAX - CLASS_MIN + 1)
#define ARENA	    ((uint64_t)CLASSES << CLASS_SHIFT)
#define SLOTS_MAX   (1u << 20) /* of a class; what does not fit goes into the next one */
#define ALIGNMENT   (2ull << 20)
/* From this size on a freed allocation's pages go back to the kernel. */
#define GIVE_BACK  65536
#define REGISTERED 1024

struct slot {
	_Atomic uint64_t bytes; /* 0: free */
	uint32_t next, kind;
};

static struct slot (*slots)[SLOTS_MAX];
static struct {
	_Atomic uint64_t free_head; /* tag << 32 | slot number + 1, 0: none */
	_Atomic uint32_t fresh;	    /* slots never used start here */
} classes[CLASSES];

static bool contents;
static uint64_t base; /* of the arena */
static uint64_t total_bytes;
static _Atomic uint64_t used_bytes;

static struct {
	_Atomic uint64_t start, bytes;
} registered[REGISTERED];
static _Atomic uint32_t nregistered;

static void *reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "double: cannot reserve %zu bytes of address space\n", bytes);
		abort();
	}
	madvise(p, bytes, MADV_DONTDUMP);
	return p;
}

void memory_start(void)
{
	const char *mb = getenv("DOUBLE_DEVICE_MB"), *with = getenv("DOUBLE_CONTENTS");

	total_bytes = (mb ? strtoull(mb, NULL, 10) : DEFAULT_DEVICE_MB) << 20;
	contents = with ? *with == '1' : DEFAULT_CONTENTS;
	base = (uintptr_t)reserve(ARENA + ALIGNMENT) + ALIGNMENT - 1;
	base -= base % ALIGNMENT;
	slots = reserve(CLASSES * sizeof *slots);
}

bool memory_has_contents(void)
{
	return contents;
}

/* For the doubles of libraries that give the device work. */
__attribute__((visibility("default"))) int double_has_contents(void);
int double_has_contents(void)
{
	return contents;
}

static uint64_t slot_address(unsigned order, uint32_t n)
{
	return base + ((uint64_t)order << CLASS_SHIFT) + ((uint64_t)n << (order + CLASS_MIN));
}

static uint32_t slot_take(unsigned order)
{
	uint64_t head = atomic_load(&classes[order].free_head), next;
	uint64_t most = 1ull << (CLASS_SHIFT - CLASS_MIN - order);
	uint32_t n;

	while (head & UINT32_MAX) {
		n = (uint32_t)head - 1;
		next = ((head >> 32) + 1) << 32 |
		       __atomic_load_n(&slots[order][n].next, __ATOMIC_RELAXED);
		if (atomic_compare_exchange_weak(&classes[order].free_head, &head, next))
			return n;
	}
	n = atomic_fetch_add(&classes[order].fresh, 1);
	if (n < SLOTS_MAX && n < most)
		return n;
	atomic_fetch_sub(&classes[order].fresh, 1);
	return UINT32_MAX;
}

static void slot_give(unsigned order, uint32_t n)
{
	uint64_t head = atomic_load(&classes[order].free_head), next;

	do {
		__atomic_store_n(&slots[order][n].next, (uint32_t)head, __ATOMIC_RELAXED);
		next = ((head >> 32) + 1) << 32 | (n + 1);
	} while (!atomic_compare_exchange_weak(&classes[order].free_head, &head, next));
}

bool memory_account(uint64_t bytes)
{
	if (bytes > total_bytes)
		return false;
	if (atomic_fetch_add(&used_bytes, bytes) + bytes <= total_bytes)
		return true;
	atomic_fetch_sub(&used_bytes, bytes);
	return false;
}

void memory_unaccount(uint64_t bytes)
{
	atomic_fetch_sub(&used_bytes, bytes);
}

int memory_alloc(uint64_t *out, size_t bytes, enum memory_kind kind)
{
	unsigned order;
	uint32_t n = UINT32_MAX;

	if (!out || !bytes)
		return CU_INVALID_VALUE;
	if (kind == MEMORY_DEVICE && !memory_account(bytes))
		return CU_OUT_OF_MEMORY;
	order = bytes > 1u << CLASS_MIN ? 64 - (unsigned)__builtin_clzll(bytes - 1) - CLASS_MIN : 0;
	for (; order < CLASSES && n == UINT32_MAX; order++)
		n = slot_take(order);
	if (n == UINT32_MAX) {
		if (kind == MEMORY_DEVICE)
			memory_unaccount(bytes);
		return CU_OUT_OF_MEMORY;
	}
	order--;
	slots[order][n].kind = kind;
	atomic_store_explicit(&slots[order][n].bytes, bytes, memory_order_release);
	*out = slot_address(order, n);
	return CU_OK;
}

/* The slot that an address lies in, allocated or not; NULL: not of the arena. */
static struct slot *slot_of(uint64_t p, unsigned *order, uint32_t *n)
{
	uint64_t number;

	if (p < base || p >= base + ARENA)
		return NULL;
	*order = (unsigned)((p - base) >> CLASS_SHIFT);
	number = ((p - base) & ((1ull << CLASS_SHIFT) - 1)) >> (*order + CLASS_MIN);
	*n = (uint32_t)number;
	return number < SLOTS_MAX ? &slots[*order][number] : NULL;
}

struct memory_range memory_find(uint64_t p)
{
	struct memory_range none = { 0 }, r;
	unsigned order;
	uint32_t n;
	struct slot *s = slot_of(p, &order, &n);

	if (!s)
		return none;
	r.bytes = atomic_load_explicit(&s->bytes, memory_order_acquire);
	r.start = slot_address(order, n);
	r.kind = (enum memory_kind)s->kind;
	return p - r.start < r.bytes ? r : none;
}

int memory_free(uint64_t p)
{
	unsigned order;
	uint32_t n;
	struct slot *s = slot_of(p, &order, &n);
	enum memory_kind kind;
	uint64_t bytes;

	if (!p)
		return CU_OK;
	if (!s || p != slot_address(order, n))
		return CU_INVALID_VALUE;
	kind = (enum memory_kind)s->kind;
	bytes = atomic_exchange(&s->bytes, 0);
	if (!bytes)
		return CU_INVALID_VALUE;
	if (kind == MEMORY_DEVICE)
		memory_unaccount(bytes);
	if (bytes >= GIVE_BACK && (kind != MEMORY_DEVICE || contents))
		madvise((void *)(uintptr_t)p, bytes, MADV_DONTNEED);
	slot_give(order, n);
	return CU_OK;
}

int memory_info(size_t *free_bytes, size_t *total)
{
	uint64_t used = atomic_load(&used_bytes);

	if (free_bytes)
		*free_bytes = used < total_bytes ? total_bytes - used : 0;
	if (total)
		*total = total_bytes;
	return CU_OK;
}

void memory_register(uint64_t p, size_t bytes)
{
	uint32_t n = atomic_fetch_add(&nregistered, 1) % REGISTERED;

	atomic_store(&registered[n].bytes, 0);
	atomic_store(&registered[n].start, p);
	atomic_store(&registered[n].bytes, bytes);
}

void memory_unregister(uint64_t p)
{
	for (uint32_t i = 0; i < REGISTERED && i < atomic_load(&nregistered); i++)
		if (atomic_load(&registered[i].start) == p)
			atomic_store(&registered[i].bytes, 0);
}

struct memory_range memory_find_any(uint64_t p)
{
	struct memory_range r = memory_find(p);

	for (uint32_t i = 0; !r.kind && i < REGISTERED && i < atomic_load(&nregistered); i++) {
		uint64_t start = atomic_load(&registered[i].start);
		uint64_t bytes = atomic_load(&registered[i].bytes);

		if (p - start < bytes)
			r = (struct memory_range){ MEMORY_PINNED, start, bytes };
	}
	return r;
}

uint64_t work_bytes(const struct work *w)
{
	return w->kind == WORK_CALL ? 0 : w->width * w->height;
}

/* Rows from p on: host memory, which the double cannot judge, or within one allocation. */
static bool is_allocated(uint64_t p, size_t pitch, size_t width, size_t height)
{
	struct memory_range r;

	if (p < base || p >= base + ARENA || !width || !height)
		return true;
	r = memory_find(p);
	return r.kind && pitch * (height - 1) + width <= r.bytes - (p - r.start);
}

bool work_is_valid(const struct work *w)
{
	if (w->kind == WORK_CALL || !contents)
		return true;
	return is_allocated(w->dst, w->dst_pitch, w->width, w->height) &&
	       (w->kind == WORK_SET || is_allocated(w->src, w->src_pitch, w->width, w->height));
}

static void set_row(char *to, const struct work *w)
{
	if (w->value_bytes == 1) {
		memset(to, (int)w->value, w->width);
		return;
	}
	for (size_t i = 0; i + w->value_bytes <= w->width; i += w->value_bytes)
		memcpy(to + i, &w->value, w->value_bytes); /* little-endian, as both CPUs are */
}

void work_run(const struct work *w)
{
	if (w->kind == WORK_CALL) {
		w->f(w->data);
		return;
	}
	for (size_t y = 0; contents && y < w->height; y++) {
		char *to = (char *)(uintptr_t)w->dst + y * w->dst_pitch;

		if (w->kind == WORK_SET)
			set_row(to, w);
		else
			memmove(to, (char *)(uintptr_t)w->src + y * w->src_pitch, w->width);
	}
}
