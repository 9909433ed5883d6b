/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forker: children that load CUDA and call at once, all at the same time. They are forked from a
 * process that has not loaded it (default), from one that has and has called (--loaded), or they
 * exec another program first (--exec).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/double/work/work.h"

static struct work_cuda cuda;
static uint64_t children = 4, count = 100;
static bool loaded, exec_first;

static int call(void)
{
	struct dim3 one = { 1, 1, 1 };
	void *p = NULL;
	int rc = 0;

	for (uint64_t i = 0; i < count; i++) {
		rc |= cuda.cudaMalloc(&p, 4096);
		rc |= cuda.cudaLaunchKernel("step", one, one, NULL, 0, NULL);
		rc |= cuda.cudaDeviceSynchronize();
		rc |= cuda.cudaFree(p);
	}
	return rc;
}

/* The same program again, as a process that makes the calls itself. */
static _Noreturn void become_caller(char *self)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)count);
	work_exec_self((char *[]){ self, "--children", "0", "--count", text, "--truth", "/dev/null",
				   NULL });
}

int main(int argc, char **argv)
{
	const struct work_option options[] = {
		{ "children", WORK_U64, &children, "child processes, 0: call in this one [4]" },
		{ "count", WORK_U64, &count, "calls of each of four ops in each [100]" },
		{ "loaded", WORK_FLAG, &loaded, "load CUDA and call before forking too" },
		{ "exec", WORK_FLAG, &exec_first, "children exec before they call" },
		{ 0 },
	};
	pid_t pids[256];
	uint64_t failed = 0, callers;
	FILE *f;

	work_options(argc, argv, "Children that call CUDA at once.", options);
	if (children > 256)
		return 2;
	if (loaded || !children) {
		work_cuda_open(&cuda, NULL);
		failed += call() != 0;
	}
	for (uint64_t i = 0; i < children; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			work_die("cannot fork");
		if (pids[i])
			continue;
		if (exec_first)
			become_caller(argv[0]);
		if (!loaded)
			work_cuda_open(&cuda, NULL);
		exit(call() != 0);
	}
	for (uint64_t i = 0; i < children; i++) {
		int status = 1;

		waitpid(pids[i], &status, 0);
		failed += status != 0;
	}
	callers = children + (loaded || !children);
	f = work_truth_open("forker");
	fprintf(f, ",\"count\":%llu,\"callers\":%llu,\"failed\":%llu,\"pids\":[",
		(unsigned long long)count, (unsigned long long)callers, (unsigned long long)failed);
	for (uint64_t i = 0; i < children; i++)
		fprintf(f, "%s%d", i ? "," : "", pids[i]);
	fprintf(f, "],\"ops\":{");
	for (int i = 0; i < 4; i++)
		fprintf(f, "%s\"%s\":%llu", i ? "," : "",
			(const char *[]){ "cudaMalloc", "cudaLaunchKernel", "cudaDeviceSynchronize",
					  "cudaFree" }[i],
			(unsigned long long)(count * callers));
	fprintf(f, "}");
	work_truth_close(f);
	return failed != 0;
}
