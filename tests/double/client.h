/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the doubles of libraries above the driver (NCCL, the generated stubs) share: they count
 * their calls with the driver's double and give it kernels. Where there is another driver, or none,
 * they do neither.
 */
#ifndef TESTS_DOUBLE_CLIENT_H
#define TESTS_DOUBLE_CLIENT_H

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "truth.h"

/* A symbol of the driver's double; it is loaded at the first question. */
static inline void *client_find(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	return driver ? dlsym(driver, name) : NULL;
}

/* Begins a call: counts it under its name. */
static inline struct call client_enter(struct counter *_Atomic *counter, const char *name)
{
	static struct counter nobody_counts;
	struct counter *c = atomic_load_explicit(counter, memory_order_acquire);

	if (!c) {
		struct counter *(*find)(const char *) =
			(struct counter * (*)(const char *)) client_find("double_counter");

		c = find ? find(name) : &nobody_counts;
		atomic_store_explicit(counter, c, memory_order_release);
	}
	return c->tally ? truth_enter(c) : (struct call){ 0 };
}

static inline void client_leave(struct call *call, int rc)
{
	if (call->counter)
		truth_leave(call, rc);
}

/*
 * A kernel on that stream. As from the static runtimes inside NVIDIA's libraries it reaches the
 * driver through a pointer, and nobody has been given its name.
 */
__attribute__((unused)) static void client_launch(void *stream)
{
	typedef int launch(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			   unsigned, void *, void **, void **);
	static launch *_Atomic f;
	static char kernel;
	launch *go = atomic_load_explicit(&f, memory_order_acquire);

	if (!go) {
		int (*find)(const char *, void **, int, uint64_t, int *) =
			(int (*)(const char *, void **, int, uint64_t, int *))client_find(
				"cuGetProcAddress_v2");

		if (!find || find("cuLaunchKernel", (void **)&go, 13000, 1, NULL))
			return;
		atomic_store_explicit(&f, go, memory_order_release);
	}
	go(&kernel, 8, 8, 1, 128, 1, 1, 0, stream, NULL, NULL);
}

/* Whether device memory has contents, see README.md. */
__attribute__((unused)) static int client_has_contents(void)
{
	static _Atomic int known; /* 1: no, 2: yes */
	int k = atomic_load_explicit(&known, memory_order_relaxed);

	if (!k) {
		int (*ask)(void) = (int (*)(void))client_find("double_has_contents");

		k = 1 + (ask && ask());
		atomic_store_explicit(&known, k, memory_order_relaxed);
	}
	return k == 2;
}

#endif
