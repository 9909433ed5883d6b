/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the same work with and without a clock of our own that interrupts it 20,000 times a second.
 * The least of several rounds counts: what disturbs a round only adds.
 */
#include "lib/record/tick.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/host/clock.h"

#define ROUNDS	  12
#define PERIOD_NS 50000
#define WORK	  500000 /* additions: a few periods */

static int64_t work_ns(void)
{
	int64_t from = host_clock_mono();

	for (volatile unsigned i = 0; i < WORK; i++)
		;
	return host_clock_mono() - from;
}

double record_tick_ns(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = PERIOD_NS,
					.disabled = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int64_t without = INT64_MAX, with = INT64_MAX;

	if (fd < 0)
		return 0;
	for (int i = 0; i < ROUNDS; i++) {
		int64_t took = work_ns();

		without = took < without ? took : without;
		if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			break;
		took = work_ns();
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		with = took < with ? took : with;
	}
	close(fd);
	return with > without && with < INT64_MAX
		       ? (double)(with - without) / ((double)with / PERIOD_NS)
		       : 0;
}
