/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thins the idle counter of a CPU: writes only readings that a straight line would miss. Since the
 * reading that was written last the counter has stood still, has grown as fast as time, or neither.
 * As long as it is one of the first two the readings lie on a line, whose end is written when the
 * counter bends.
 */
#include "lib/host/idle.h"

enum slope { SLOPE_UNKNOWN, SLOPE_BUSY, SLOPE_IDLE, SLOPE_BETWEEN };

static enum slope slope_of(const struct host_idle_point *from, const struct host_idle_point *to,
			   uint64_t tick_ns)
{
	uint64_t grown = to->ticks - from->ticks, passed;

	if (to->time_ns <= from->time_ns)
		return SLOPE_BETWEEN;
	passed = (uint64_t)(to->time_ns - from->time_ns) / tick_ns;
	if (passed < 2)
		return SLOPE_BETWEEN; /* within a tick it would be both */
	if (grown == 0)
		return SLOPE_BUSY;
	return grown + 1 >= passed && grown <= passed + 1 ? SLOPE_IDLE : SLOPE_BETWEEN;
}

static bool all_written(const struct host_idle *cpu)
{
	return cpu->seen.time_ns == cpu->written.time_ns;
}

unsigned host_idle_next(struct host_idle *cpu, const struct host_idle_point *now, uint64_t tick_ns,
			struct host_idle_point out[2])
{
	struct host_idle_point at = *now, before = cpu->seen;
	enum slope slope;
	unsigned n = 0;

	if (cpu->some && at.ticks < before.ticks) /* waiting for disks is counted loosely */
		at.ticks = before.ticks;
	slope = cpu->some ? slope_of(&cpu->written, &at, tick_ns) : SLOPE_UNKNOWN;
	if (slope != cpu->slope && cpu->some && !all_written(cpu)) {
		cpu->written = out[n++] = before;
		slope = slope_of(&before, &at, tick_ns);
	}
	cpu->slope = (uint8_t)slope;
	cpu->seen = at;
	if (!cpu->some || slope == SLOPE_BETWEEN ||
	    at.time_ns - cpu->written.time_ns >= HOST_IDLE_REST_NS)
		cpu->written = out[n++] = at;
	cpu->some = true;
	return n;
}

bool host_idle_rest(struct host_idle *cpu, struct host_idle_point *out)
{
	if (!cpu->some || all_written(cpu))
		return false;
	*out = cpu->written = cpu->seen;
	return true;
}
