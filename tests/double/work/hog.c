/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hog: takes a share of one CPU. In every period it burns until its own CPU time has caught up with
 * duty x elapsed time, then sleeps to the end of the period; a period in which it could not run is
 * made up for in the next ones.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/double/work/work.h"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

__attribute__((noinline)) static void burn_to(uint64_t cpu_ns)
{
	while (!stop && work_cpu_now() < cpu_ns)
		for (volatile int i = 0; i < 1000; i++)
			;
}

int main(int argc, char **argv)
{
	uint64_t duty = 20, period_ms = 10, seconds = 10, fifo = 0, end, period = 0;
	struct work_sched before, after;
	const struct work_option options[] = {
		{ "duty", WORK_U64, &duty, "per cent of the CPU [20]" },
		{ "period-ms", WORK_U64, &period_ms, "length of a period [10]" },
		{ "seconds", WORK_U64, &seconds, "how long, 0 until a signal [10]" },
		{ "fifo", WORK_U64, &fifo, "real-time priority, 0 none [0]" },
		{ 0 },
	};
	FILE *f;

	work_options(argc, argv, "Takes a share of a CPU.", options);
	if (duty > 100 || !period_ms)
		return 2;
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (fifo &&
	    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = (int)fifo }))
		work_die("cannot run in real time");
	work_sched_read(&before);
	end = seconds ? before.at_ns + seconds * 1000000000u : UINT64_MAX;
	while (!stop && work_now() < end) {
		period++;
		burn_to(before.cpu_ns + period * period_ms * 10000 * duty);
		if (!stop)
			work_sleep_until(before.at_ns + period * period_ms * 1000000);
	}
	work_sched_read(&after);
	f = work_truth_open("hog");
	fprintf(f,
		",\"duty\":%llu,\"periods\":%llu,\"start_ns\":%llu,\"wall_ns\":%llu,\"thread_cpu_"
		"ns\":%llu",
		(unsigned long long)duty, (unsigned long long)period,
		(unsigned long long)before.at_ns, (unsigned long long)(after.at_ns - before.at_ns),
		(unsigned long long)(after.cpu_ns - before.cpu_ns));
	work_truth_sched(f, &before, &after);
	work_truth_close(f);
	return 0;
}
