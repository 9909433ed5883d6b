/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latedl: loads CUDA late, calls at once, and later loads a second copy of the runtime and calls
 * that at once. With --thread the load happens in a thread of its own; with --asked each load and
 * the calls after it wait for a line on standard input, and a line on standard output says that a
 * load is done.
 */
#include <pthread.h>

#include "tests/double/work/work.h"

static uint64_t after_ms = 200, again_ms = 200, count = 100, again_count, errors;
static const char *second = "libcudart.so.12";
static bool in_thread, asked;

static void await(uint64_t ms)
{
	if (!asked)
		work_sleep_until(work_now() + ms * 1000000);
	else
		for (int c = getchar(); c != '\n'; c = getchar())
			if (c == EOF)
				work_die("nobody asks any more");
}

static void call(const char *lib, uint64_t n)
{
	struct work_cuda cuda;
	struct dim3 one = { 1, 1, 1 };

	work_cuda_open(&cuda, lib);
	if (asked) {
		printf("loaded\n");
		fflush(stdout);
		await(0);
	}
	for (uint64_t i = 0; i < n; i++) {
		errors += cuda.cudaLaunchKernel("step", one, one, NULL, 0, NULL) != 0;
		errors += cuda.cudaStreamSynchronize(NULL) != 0;
	}
}

static void *late(void *unused)
{
	(void)unused;
	await(after_ms);
	call(NULL, count);
	if (*second) {
		await(again_ms);
		call(second, again_count ? again_count : count);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct work_option options[] = {
		{ "after-ms", WORK_U64, &after_ms, "before the first load [200]" },
		{ "again-ms", WORK_U64, &again_ms, "before the second load [200]" },
		{ "second", WORK_TEXT, &second, "the second copy, '' for none [libcudart.so.12]" },
		{ "count", WORK_U64, &count, "calls of each of two ops of each copy [100]" },
		{ "again-count", WORK_U64, &again_count, "of the second copy [as the first]" },
		{ "asked", WORK_FLAG, &asked,
		  "a line on standard input for each load and its calls" },
		{ "thread", WORK_FLAG, &in_thread, "load and call in a second thread" },
		{ 0 },
	};
	uint64_t total;
	pthread_t thread;
	FILE *f;

	work_options(argc, argv, "Loads CUDA late, and a second copy later.", options);
	if (!in_thread)
		late(NULL);
	else if (pthread_create(&thread, NULL, late, NULL))
		work_die("cannot start a thread");
	else
		pthread_join(thread, NULL);
	total = count + (!*second ? 0 : again_count ? again_count : count);
	f = work_truth_open("latedl");
	fprintf(f,
		",\"copies\":%d,\"errors\":%llu,\"ops\":{\"cudaLaunchKernel\":%llu,"
		"\"cudaStreamSynchronize\":%llu}",
		*second ? 2 : 1, (unsigned long long)errors, (unsigned long long)total,
		(unsigned long long)total);
	work_truth_close(f);
	return errors != 0;
}
