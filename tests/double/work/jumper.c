/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jumper: leaves calls without returning from them. A timer's signal interrupts a blocking
 * cudaStreamSynchronize and its handler jumps out with siglongjmp, over the runtime call and the
 * driver call inside it; after each jump one call is made that returns. So of 2N calls entered, N
 * return.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "tests/double/work/work.h"

static struct work_cuda cuda;
static sigjmp_buf out;
static volatile uint64_t jumped, returned_early;

static void on_alarm(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

__attribute__((noinline)) static void interrupted_sync(void)
{
	struct itimerval soon = { .it_value = { .tv_usec = 2000 } }, never = { 0 };

	if (sigsetjmp(out, 1)) {
		jumped++;
		return;
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	cuda.cudaStreamSynchronize(NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	returned_early++;
}

int main(int argc, char **argv)
{
	uint64_t count = 10, errors = 0;
	const struct work_option options[] = {
		{ "count", WORK_U64, &count, "jumps [10]" },
		{ 0 },
	};
	struct dim3 one = { 1, 1, 1 };
	FILE *f;

	work_options(argc, argv, "Jumps out of blocking calls.", options);
	setenv("DOUBLE_LAUNCH_NS", "20000000", 1);
	signal(SIGALRM, on_alarm);
	work_cuda_open(&cuda, NULL);
	cuda.cudaDeviceSynchronize(); /* bound before the first jump */
	for (uint64_t i = 0; i < count; i++) {
		errors += cuda.cudaLaunchKernel("step", one, one, NULL, 0, NULL) != 0;
		interrupted_sync();
		errors += cuda.cudaStreamSynchronize(NULL) != 0;
	}
	f = work_truth_open("jumper");
	fprintf(f,
		",\"op\":\"cudaStreamSynchronize\",\"entered\":%llu,\"returned\":%llu,\"jumped\":%"
		"llu,"
		"\"errors\":%llu",
		(unsigned long long)(2 * count), (unsigned long long)(count + returned_early),
		(unsigned long long)jumped, (unsigned long long)errors);
	work_truth_close(f);
	return errors != 0;
}
