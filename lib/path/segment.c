/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the states that a segment of a thread's time can be in.
 */
#include "lib/path/segment.h"

static const char *const texts[SEGMENT_STATES] = {
	[SEGMENT_UNKNOWN] = "unknown",
	[SEGMENT_OWN] = "own code",
	[SEGMENT_CALL] = "in call",
	[SEGMENT_SYNC] = "device (spin or return)",
	[SEGMENT_RECLAIM] = "memory reclaim",
	[SEGMENT_COMPACT] = "memory compaction",
	[SEGMENT_FAULT_IN] = "page fault, on CPU",
	[SEGMENT_STOLEN] = "stolen by the hypervisor",
	[SEGMENT_THROTTLED] = "throttled",
	[SEGMENT_WAKE_UP] = "wake-up latency",
	[SEGMENT_RUNNABLE] = "CPU taken",
	[SEGMENT_BLOCKED] = "blocked",
	[SEGMENT_WAITING] = "waiting",
	[SEGMENT_UNENDED] = "never ended",
	[SEGMENT_MIXED] = "mixed",
	[SEGMENT_TOO_DEEP] = "chain too deep",
};

const char *segment_state_text(enum segment_state state)
{
	return state < SEGMENT_STATES ? texts[state] : "?";
}
