/* SPDX-License-Identifier: Apache-2.0 */
/* sleeper: sleeps between two launches, for no good reason, and knows how long it slept. */
#include "tests/double/work/work.h"

static struct work_cuda cuda;

__attribute__((noinline)) static uint64_t doze(uint64_t us)
{
	uint64_t from = work_now();

	work_sleep_until(from + us * 1000);
	return work_now() - from;
}

int main(int argc, char **argv)
{
	uint64_t rounds = 50, sleep_us = 5000, slept = 0, errors = 0;
	const struct work_option options[] = {
		{ "rounds", WORK_U64, &rounds, "sleeps [50]" },
		{ "sleep-us", WORK_U64, &sleep_us, "length of a sleep, us [5000]" },
		{ 0 },
	};
	struct dim3 one = { 1, 1, 1 };
	struct work_sched before, after;
	FILE *f;

	work_options(argc, argv, "Sleeps between launches.", options);
	work_cuda_open(&cuda, NULL);
	work_sched_read(&before);
	for (uint64_t i = 0; i < rounds; i++) {
		errors += cuda.cudaLaunchKernel("step", one, one, NULL, 0, NULL) != 0;
		errors += cuda.cudaDeviceSynchronize() != 0;
		slept += doze(sleep_us);
	}
	work_sched_read(&after);
	f = work_truth_open("sleeper");
	fprintf(f, ",\"rounds\":%llu,\"slept_ns\":%llu,\"errors\":%llu,\"wall_ns\":%llu",
		(unsigned long long)rounds, (unsigned long long)slept, (unsigned long long)errors,
		(unsigned long long)(after.at_ns - before.at_ns));
	work_truth_sched(f, &before, &after);
	work_truth_close(f);
	return errors != 0;
}
