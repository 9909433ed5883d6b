/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of kernels that programs have registered with the runtime. Launches look it up without
 * a lock: it is an open hash table whose keys never move and are never taken out; a stub that is
 * registered again gets its old place.
 */
#include "registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PLACES (1u << 18) /* PyTorch registers about 30,000 */

struct binary {
	void *image, *library;
	uint32_t first; /* place + 1 of its functions, 0: none */
};

static struct function {
	const void *_Atomic stub;
	struct binary *binary; /* NULL: unregistered */
	const char *name;
	void *_Atomic kernel;
	uint32_t next;
} functions[PLACES];

static struct binary no_image;
static uint32_t nfunctions;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void **registry_add(void *image)
{
	struct binary *b = calloc(1, sizeof *b);

	if (b)
		b->image = image;
	return (void **)b;
}

/* Where a stub is, or the free place where it would be. */
static struct function *place_of(const void *stub)
{
	uint32_t i = (uint32_t)(((uintptr_t)stub >> 4) * 0x9e3779b97f4a7c15ull >> 46);
	const void *there;

	while ((there = atomic_load_explicit(&functions[i].stub, memory_order_acquire)) &&
	       there != stub)
		i = (i + 1) % PLACES;
	return &functions[i];
}

/*
 * A kernel that several files of a program instantiate has one stub, which each of them registers:
 * it is the last one's. So is a stub of a library that was closed without unregistering.
 */
static void take_out(struct function *f)
{
	uint32_t *at = f->binary ? &f->binary->first : NULL;

	while (at && *at && *at != (uint32_t)(f - functions) + 1)
		at = &functions[*at - 1].next;
	if (at && *at)
		*at = f->next;
}

void registry_add_function(void **binary, const void *stub, const char *name)
{
	struct binary *b = binary ? (struct binary *)binary : &no_image;
	struct function *f;

	pthread_mutex_lock(&lock);
	f = place_of(stub);
	/* A quarter stays free, so that searches end soon. */
	if (f->stub || nfunctions < PLACES / 4 * 3) {
		nfunctions += !f->stub;
		take_out(f);
		f->name = name;
		f->kernel = NULL;
		f->binary = b;
		f->next = b->first;
		b->first = (uint32_t)(f - functions) + 1;
		atomic_store_explicit(&f->stub, stub, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
}

void registry_remove(void **binary)
{
	struct binary *b = (struct binary *)binary;

	if (!b)
		return;
	pthread_mutex_lock(&lock);
	for (uint32_t at = b->first; at;) {
		struct function *f = &functions[at - 1];

		at = f->next;
		f->binary = NULL;
		f->name = NULL;
		f->kernel = NULL;
		f->next = 0;
	}
	pthread_mutex_unlock(&lock);
	free(b);
}

static int load(struct function *f, const struct registry_loader *loader)
{
	void *kernel = NULL;
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (f->binary && !f->kernel) {
		if (!f->binary->library)
			rc = loader->load(&f->binary->library, f->binary->image);
		if (!rc)
			rc = loader->find(&kernel, f->binary->library, f->name);
		f->kernel = kernel;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void *registry_kernel(const void *stub, const struct registry_loader *loader, int *rc)
{
	struct function *f = place_of(stub);

	if (!f->stub || !f->binary)
		return (void *)(uintptr_t)stub;
	if (!f->kernel)
		*rc = load(f, loader);
	return f->kernel;
}
