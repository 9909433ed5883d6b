/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jumper: leaves calls without returning from them. A timer's signal interrupts a
 * cudaStreamSynchronize that would never end, and its handler jumps out with siglongjmp, over the
 * runtime call and the driver call inside it; after each jump one call on an idle stream is made
 * that returns. So of 2N calls entered exactly N return.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "tests/double/truth.h"
#include "tests/double/work/work.h"

static struct work_cuda cuda;
static struct counter *driver_calls;
static sigjmp_buf out;
static volatile uint64_t jumped, calls_before;
static volatile sig_atomic_t armed;

/* However late the timer or this thread is: only a call that has reached the driver is left. */
static void on_alarm(int number)
{
	(void)number;
	if (!armed || atomic_load(&driver_calls->tally->count) == calls_before)
		return;
	armed = 0;
	siglongjmp(out, 1);
}

__attribute__((noinline)) static void interrupted_sync(void)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };

	calls_before = atomic_load(&driver_calls->tally->count);
	if (sigsetjmp(out, 1)) {
		setitimer(ITIMER_REAL, &never, NULL);
		jumped++;
		return;
	}
	armed = 1;
	setitimer(ITIMER_REAL, &often, NULL);
	cuda.cudaStreamSynchronize(NULL);
	abort(); /* the stream is never done */
}

static struct counter *find_counter(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	struct counter *(*counter_of)(const char *);

	counter_of = driver ? (struct counter * (*)(const char *)) dlsym(driver, "double_counter")
			    : NULL;
	if (!counter_of)
		work_die("this is not the double's driver");
	return counter_of(name);
}

int main(int argc, char **argv)
{
	uint64_t count = 10, errors = 0;
	const struct work_option options[] = {
		{ "count", WORK_U64, &count, "jumps [10]" },
		{ 0 },
	};
	struct dim3 one = { 1, 1, 1 };
	void *idle = NULL;
	FILE *f;

	work_options(argc, argv, "Jumps out of blocking calls.", options);
	setenv("DOUBLE_NEVER_AFTER", "0", 1);
	signal(SIGALRM, on_alarm);
	work_cuda_open(&cuda, NULL);
	errors += cuda.cudaStreamCreate(&idle) != 0;
	errors += cuda.cudaLaunchKernel("never_ends", one, one, NULL, 0, NULL) != 0;
	driver_calls = find_counter("cuStreamSynchronize");
	for (uint64_t i = 0; i < count; i++) {
		interrupted_sync();
		errors += cuda.cudaStreamSynchronize(idle) != 0;
	}
	f = work_truth_open("jumper");
	fprintf(f,
		",\"op\":\"cudaStreamSynchronize\",\"entered\":%llu,\"returned\":%llu,\"jumped\":%"
		"llu,"
		"\"errors\":%llu",
		(unsigned long long)(2 * count), (unsigned long long)count,
		(unsigned long long)jumped, (unsigned long long)errors);
	work_truth_close(f);
	return errors != 0;
}
