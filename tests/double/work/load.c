/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: equal units of work for as long as it is left to run, each of launches, computing, one copy
 * and one wait, and a line for each unit that says what it took:
 *
 *	END_NS WALL_NS CPU_NS KIND THREAD
 *
 * by CLOCK_MONOTONIC and the thread's CPU clock. Computing is a number of iterations that is
 * calibrated once: what is taken from the thread meanwhile makes the unit longer, and is seen. Kind
 * 0 is a unit with calls, kind 1 one of quiet phases, which only computes. Prints "ready PID" first.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/double/work/work.h"

enum { KIND_CALLS, KIND_QUIET };

static struct work_cuda cuda;
static uint64_t threads = 1, launches = 20, work_us = 1000, busy_ms, quiet_ms, seconds;
static bool quiet_computes;
static const char *progress_path;
static int progress;
static double iterations_per_us;
static uint64_t start_ns;

struct moment {
	uint64_t wall_ns, cpu_ns;
};

static struct moment read_moment(void)
{
	return (struct moment){ .wall_ns = work_now(), .cpu_ns = work_cpu_now() };
}

/* Every iteration needs the one before. */
static void compute(uint64_t iterations)
{
	uint64_t x = iterations;

	for (uint64_t i = 0; i < iterations; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
}

static void calibrate(void)
{
	const uint64_t n = 1000000;

	/* Interrupts only make it longer: the shortest of several is the right one. */
	for (int i = 0; i < 20; i++) {
		uint64_t from = work_cpu_now(), ns;
		double rate;

		compute(n);
		ns = work_cpu_now() - from;
		rate = (double)n * 1000 / (double)(ns ? ns : 1);
		iterations_per_us = rate > iterations_per_us ? rate : iterations_per_us;
	}
}

static void log_unit(struct moment *from, int kind, long tid)
{
	struct moment now = read_moment();
	char line[128];
	int n = snprintf(line, sizeof line, "%llu %llu %llu %d %ld\n",
			 (unsigned long long)now.wall_ns,
			 (unsigned long long)(now.wall_ns - from->wall_ns),
			 (unsigned long long)(now.cpu_ns - from->cpu_ns), kind, tid);

	if (write(progress, line, (size_t)n) != n)
		work_die(progress_path);
	*from = now;
}

static int make_calls(void *device, void *host, void *stream)
{
	struct dim3 one = { 1, 1, 1 };
	uint64_t iterations = (uint64_t)((double)work_us * iterations_per_us);
	void *args[] = { &device };
	int rc = cuda.cudaMemcpyAsync(device, host, 4096, 1, stream);

	for (uint64_t i = 0; i < launches; i++) {
		rc |= cuda.cudaLaunchKernel("load_kernel", one, one, args, 0, stream);
		compute(iterations / launches);
	}
	return rc | cuda.cudaStreamSynchronize(stream);
}

/* Phases begin at the same time in every thread. Sleeps to the end of a quiet phase that does not
 * compute. */
static bool is_quiet(uint64_t now)
{
	uint64_t busy = busy_ms * 1000000, cycle = busy + quiet_ms * 1000000,
		 at = cycle ? (now - start_ns) % cycle : 0;

	if (at < busy || !quiet_ms)
		return false;
	if (!quiet_computes)
		work_sleep_until(now - at + cycle);
	return true;
}

static void *run(void *arg)
{
	uint64_t end = seconds ? start_ns + seconds * 1000000000 : UINT64_MAX;
	void *device = NULL, *stream = NULL, *host = calloc(1, 4096);
	long tid = work_tid();
	struct moment from;
	int rc;

	(void)arg;
	rc = cuda.cudaMalloc(&device, 4096) | cuda.cudaStreamCreate(&stream);
	from = read_moment();
	while (rc == 0 && from.wall_ns < end) {
		int kind = KIND_CALLS;

		if (is_quiet(from.wall_ns)) {
			if (!quiet_computes) {
				from = read_moment();
				continue;
			}
			compute((uint64_t)(1000 * iterations_per_us));
			kind = KIND_QUIET;
		} else {
			rc = make_calls(device, host, stream);
		}
		log_unit(&from, kind, tid);
	}
	free(host);
	return rc ? arg : NULL;
}

int main(int argc, char **argv)
{
	const struct work_option options[] = {
		{ "progress", WORK_TEXT, &progress_path, "file for a line for each unit of work" },
		{ "threads", WORK_U64, &threads, "threads [1]" },
		{ "launches", WORK_U64, &launches, "kernel launches in a unit [20]" },
		{ "work-us", WORK_U64, &work_us, "computing in a unit, us of CPU time [1000]" },
		{ "busy-ms", WORK_U64, &busy_ms, "length of phases with calls [always]" },
		{ "quiet-ms", WORK_U64, &quiet_ms, "length of phases without, between them [0]" },
		{ "quiet-computes", WORK_FLAG, &quiet_computes,
		  "compute in quiet phases, in units of 1000 us; otherwise sleep" },
		{ "seconds", WORK_U64, &seconds, "stop after that long [never]" },
		{ 0 },
	};
	pthread_t id[64];
	int failed;

	work_options(argc, argv, "Equal units of work, each with a line that says what it took.",
		     options);
	if (!progress_path || !threads || threads > 64 || !launches)
		return 2;
	progress = open(progress_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (progress < 0)
		work_die(progress_path);
	work_cuda_open(&cuda, NULL);
	calibrate();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	start_ns = work_now();
	for (uint64_t k = 1; k < threads; k++)
		if (pthread_create(&id[k], NULL, run, &cuda))
			work_die("cannot start a thread");
	failed = run(&cuda) != NULL;
	for (uint64_t k = 1; k < threads; k++) {
		void *result;

		pthread_join(id[k], &result);
		failed |= result != NULL;
	}
	if (failed)
		fprintf(stderr, "load: a call failed\n");
	return failed;
}
