/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management of the double's device. A handle is a memory file; mapping it twice
 * shows the same contents twice. Its memory is counted as used until the handle is released and its
 * last mapping is gone, as on a device.
 */
#include "vmm.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "memory.h"

struct mapping {
	struct mapping *next;
	uint64_t start, bytes;
	struct handle *of;
};

struct handle {
	struct handle *next;
	uint64_t id, bytes;
	int fd; /* -1: memory without contents */
	unsigned mappings;
	bool released;
};

/* Rare calls: one lock for all, which a process that allocates in one thread never waits for. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles;
static struct mapping *mappings;
static uint64_t last_id = 0x7c0000000000;

int vmm_create(uint64_t *handle, size_t bytes)
{
	struct handle *h;

	if (!handle || !bytes)
		return CU_INVALID_VALUE;
	if (!memory_account(bytes))
		return CU_OUT_OF_MEMORY;
	h = calloc(1, sizeof *h);
	if (!h)
		abort();
	h->bytes = bytes;
	h->fd = memory_has_contents() ? memfd_create("double-device", MFD_CLOEXEC) : -1;
	if (memory_has_contents() && (h->fd < 0 || ftruncate(h->fd, (off_t)bytes)))
		abort();
	pthread_mutex_lock(&lock);
	*handle = h->id = last_id += 64;
	h->next = handles;
	handles = h;
	pthread_mutex_unlock(&lock);
	return CU_OK;
}

static struct handle *find_handle(uint64_t id)
{
	struct handle *h = handles;

	while (h && (h->id != id || h->released))
		h = h->next;
	return h;
}

/* Ends a handle that nothing refers to any more. */
static void end_unused(struct handle *h)
{
	struct handle **p = &handles;

	if (!h->released || h->mappings)
		return;
	while (*p != h)
		p = &(*p)->next;
	*p = h->next;
	memory_unaccount(h->bytes);
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}

int vmm_release(uint64_t handle)
{
	struct handle *h;

	pthread_mutex_lock(&lock);
	h = find_handle(handle);
	if (h) {
		h->released = true;
		end_unused(h);
	}
	pthread_mutex_unlock(&lock);
	return h || !memory_has_contents() ? CU_OK : CU_INVALID_VALUE;
}

static bool is_reserved(uint64_t p, size_t bytes)
{
	struct memory_range r = memory_find(p);

	return r.kind == MEMORY_RESERVED && bytes <= r.bytes - (p - r.start);
}

/* Addresses without memory: touching them ends the process, as it ends a kernel on a device. */
static int make_empty(uint64_t p, size_t bytes)
{
	return mmap((void *)(uintptr_t)p, bytes, PROT_NONE,
		    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED
		       ? CU_INVALID_VALUE
		       : CU_OK;
}

int vmm_reserve(uint64_t *p, size_t bytes)
{
	int rc = memory_alloc(p, bytes, MEMORY_RESERVED);

	return rc || !memory_has_contents() ? rc : make_empty(*p, bytes);
}

int vmm_free(uint64_t p)
{
	struct memory_range r = memory_find(p);

	if (r.kind != MEMORY_RESERVED || r.start != p)
		return memory_has_contents() ? CU_INVALID_VALUE : CU_OK;
	/* The addresses may serve another allocation. */
	if (memory_has_contents() &&
	    mmap((void *)(uintptr_t)p, r.bytes, PROT_READ | PROT_WRITE,
		 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return CU_INVALID_VALUE;
	return memory_free(p);
}

static int map_handle(struct handle *h, uint64_t p, size_t bytes, size_t offset)
{
	struct mapping *m;

	if (!h || offset > h->bytes || bytes > h->bytes - offset)
		return CU_INVALID_VALUE;
	if (h->fd >= 0 && mmap((void *)(uintptr_t)p, bytes, PROT_NONE, MAP_FIXED | MAP_SHARED,
			       h->fd, (off_t)offset) == MAP_FAILED)
		return CU_INVALID_VALUE;
	m = malloc(sizeof *m);
	if (!m)
		abort();
	*m = (struct mapping){ mappings, p, bytes, h };
	mappings = m;
	h->mappings++;
	return CU_OK;
}

int vmm_map(uint64_t p, size_t bytes, size_t offset, uint64_t handle)
{
	int rc;

	if (!is_reserved(p, bytes))
		return memory_has_contents() ? CU_INVALID_VALUE : CU_OK;
	pthread_mutex_lock(&lock);
	rc = map_handle(find_handle(handle), p, bytes, offset);
	pthread_mutex_unlock(&lock);
	return rc;
}

int vmm_unmap(uint64_t p, size_t bytes)
{
	bool found = false;

	if (!is_reserved(p, bytes))
		return memory_has_contents() ? CU_INVALID_VALUE : CU_OK;
	pthread_mutex_lock(&lock);
	for (struct mapping **at = &mappings, *m; (m = *at);) {
		if (m->start < p || m->start + m->bytes > p + bytes) {
			at = &m->next;
			continue;
		}
		found = true;
		*at = m->next;
		m->of->mappings--;
		end_unused(m->of);
		free(m);
	}
	pthread_mutex_unlock(&lock);
	if (!found)
		return CU_INVALID_VALUE;
	return memory_has_contents() ? make_empty(p, bytes) : CU_OK;
}

int vmm_set_access(uint64_t p, size_t bytes)
{
	if (!is_reserved(p, bytes))
		return memory_has_contents() ? CU_INVALID_VALUE : CU_OK;
	if (memory_has_contents() && mprotect((void *)(uintptr_t)p, bytes, PROT_READ | PROT_WRITE))
		return CU_INVALID_VALUE;
	return CU_OK;
}
