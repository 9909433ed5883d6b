/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bracketed readings: the moment of the other clocks is somewhere between the two readings of the
 * monotonic one.
 */
#include "lib/host/clock.h"

#include <time.h>

#define TRIES 8

static int64_t read_clock(clockid_t id)
{
	struct timespec t = { 0 };

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t host_clock_mono(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t host_clock_boot(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

int64_t host_clock_real(void)
{
	return read_clock(CLOCK_REALTIME);
}

void host_clock_record(struct record *r, const char *source)
{
	int64_t best = INT64_MAX;

	*r = (struct record){ .kind = RECORD_CLOCK };
	for (unsigned i = 0; i < TRIES; i++) {
		int64_t before = read_clock(CLOCK_MONOTONIC), boot = read_clock(CLOCK_BOOTTIME),
			real = read_clock(CLOCK_REALTIME), after = read_clock(CLOCK_MONOTONIC);

		if (after - before >= best)
			continue;
		best = after - before;
		REC_SET(r, CLOCK, mono_ns, before + best / 2);
		REC_SET(r, CLOCK, boot_ns, boot);
		REC_SET(r, CLOCK, real_ns, real);
	}
	REC_SET(r, CLOCK, uncertainty_ns, (uint64_t)(best + 1) / 2);
	REC_SET(r, CLOCK, source, bytes_of(source));
}
