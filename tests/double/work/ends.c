/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends: so many synchronizing calls straight from main, through a library that keeps frame
 * pointers, and through one that keeps none; the same from a thread. See tests/double/through.c.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/double/work/work.h"

static struct work_cuda cuda;
static uint64_t direct = 5, kept = 10, lost = 20, from_thread = 7, errors;
static int (*through_kept)(int (*)(void)), (*through_lost)(int (*)(void));

__attribute__((noinline)) static int call(void)
{
	int rc = cuda.cudaDeviceSynchronize();

	__asm__ volatile("" : : : "memory");
	return rc;
}

static void *by_name(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	void *at = handle ? dlsym(handle, "through") : NULL;

	if (!at)
		work_die(library);
	return at;
}

__attribute__((noinline)) static void *in_thread(void *none)
{
	for (uint64_t i = 0; i < from_thread; i++)
		errors += through_kept(call) != 0;
	return none;
}

int main(int argc, char **argv)
{
	const struct work_option options[] = {
		{ "direct", WORK_U64, &direct, "calls from main [5]" },
		{ "kept", WORK_U64, &kept, "through a library with frame pointers [10]" },
		{ "lost", WORK_U64, &lost, "through one without [20]" },
		{ "thread", WORK_U64, &from_thread, "from a thread, with frame pointers [7]" },
		{ 0 },
	};
	pthread_t thread;
	FILE *f;

	work_options(argc, argv, "Calls through libraries with and without frame pointers.",
		     options);
	*(void **)&through_kept = by_name("libthrough-kept.so");
	*(void **)&through_lost = by_name("libthrough-lost.so");
	work_cuda_open(&cuda, NULL);
	for (uint64_t i = 0; i < direct; i++)
		errors += call() != 0;
	for (uint64_t i = 0; i < kept; i++)
		errors += through_kept(call) != 0;
	for (uint64_t i = 0; i < lost; i++)
		errors += through_lost(call) != 0;
	if (from_thread &&
	    (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL)))
		work_die("thread");
	f = work_truth_open("ends");
	fprintf(f,
		", \"direct\": %llu, \"kept\": %llu, \"lost\": %llu, \"thread\": %llu, \"errors\": "
		"%llu",
		(unsigned long long)direct, (unsigned long long)kept, (unsigned long long)lost,
		(unsigned long long)from_thread, (unsigned long long)errors);
	work_truth_close(f);
	return errors != 0;
}
