/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the states that a span's time is divided into.
 */
#include "lib/event/part.h"

#include <string.h>

static const struct {
	const char *name, *text;
} part_names[PART_COUNT] = {
	[PART_SELF] = { "self", "on CPU, own code" },
	[PART_PREEMPTED] = { "preempted", "preempted" },
	[PART_RUNQ] = { "runqueue", "woken, waiting for a busy CPU" },
	[PART_CPU_IDLE] = { "wakeup", "woken, waiting for its CPU to wake up or switch" },
	[PART_WAIT_UNKNOWN] = { "wait_unknown", "waiting for a CPU, occupant not recorded" },
	[PART_THROTTLED] = { "throttled", "throttled by a CPU quota" },
	[PART_STOLEN] = { "stolen", "stolen by the hypervisor" },
	[PART_DISK] = { "disk", "blocked on disk" },
	[PART_LOCK] = { "lock", "blocked on a lock" },
	[PART_FAULT] = { "fault", "blocked in a page fault" },
	[PART_STOPPED] = { "stopped", "stopped or traced" },
	[PART_ATTACH] = { "attach", "held up by ingero-record's probes" },
	[PART_RECORDER] = { "recorder", "ingero-record had the CPU" },
	[PART_SLEEP] = { "sleep", "sleeping on its own request" },
	[PART_IDLE] = { "idle", "waiting for work (condition, semaphore)" },
	[PART_SOCKET] = { "socket", "blocked on a socket" },
	[PART_POLL] = { "poll", "polling descriptors" },
	[PART_FD] = { "fd", "blocked on a pipe or file" },
	[PART_CHILD] = { "child", "waiting for a child process" },
	[PART_BLOCKED] = { "blocked", "blocked, reason not recorded" },
	[PART_DEVICE] = { "device", "waiting for the GPU" },
	[PART_UNKNOWN] = { "unknown", "unknown (calls cut off, or events lost)" },
};

const char *part_name(enum part part)
{
	return (unsigned)part < PART_COUNT ? part_names[part].name : "unknown";
}

const char *part_text(enum part part)
{
	return (unsigned)part < PART_COUNT ? part_names[part].text : "unknown";
}

enum part part_of(struct bytes name)
{
	unsigned i = 0;

	while (i < PART_COUNT && !bytes_equal(name, bytes_of(part_names[i].name)))
		i++;
	return (enum part)i;
}
