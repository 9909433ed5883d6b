/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the state of a segment, and the object of a blocked one, to its class. */
#include "lib/path/path_class.h"

#include "lib/event/syscall.h"

static const char *const texts[PATH_CLASSES] = {
	[PATH_UNKNOWN] = "unknown",
	[PATH_OWN] = "own code",
	[PATH_CALL] = "in call",
	[PATH_DEVICE] = "device",
	[PATH_RECLAIM] = "memory reclaim",
	[PATH_COMPACT] = "memory compaction",
	[PATH_FAULT] = "page fault",
	[PATH_STOLEN] = "stolen by the hypervisor",
	[PATH_THROTTLED] = "throttled",
	[PATH_WAKE_UP] = "wake-up latency",
	[PATH_TAKEN] = "CPU taken",
	[PATH_CPU_OTHER] = "runnable, occupant unknown",
	[PATH_LOCK] = "lock",
	[PATH_SLEEP] = "sleep",
	[PATH_DISK] = "disk",
	[PATH_CHILD] = "child process",
	[PATH_STOPPED] = "stopped",
	[PATH_FROZEN] = "frozen",
	[PATH_DEMAND] = "nothing asked",
	[PATH_REPLY] = "waiting for a reply",
	[PATH_SEND] = "sending",
	[PATH_LOSSY] = "lost segments",
	[PATH_OUTSIDE] = "outside (socket or poll)",
	[PATH_BLOCKED] = "blocked",
	[PATH_YIELD] = "yielding its CPU",
	[PATH_RECORDER] = "the recorder",
	[PATH_UNENDED] = "never ended",
	[PATH_TOO_DEEP] = "chain too deep",
};

const char *path_class_text(enum path_class class)
{
	return class < PATH_CLASSES ? texts[class] : "?";
}

static enum path_class class_outside(const struct segment *s)
{
	if (s->flags & SEGMENT_IN_SYNC)
		return PATH_DEVICE;
	if (s->object == OBJECT_SOCKET && s->flags & SEGMENT_LOSSY)
		return PATH_LOSSY;
	if (s->object == OBJECT_SOCKET && s->syscall && syscall_sends(s->syscall - 1u))
		return PATH_SEND;
	switch (s->flags & (SEGMENT_DEMAND | SEGMENT_REPLY)) {
	case SEGMENT_DEMAND:
		return PATH_DEMAND;
	case SEGMENT_REPLY:
		return PATH_REPLY;
	default:
		return PATH_OUTSIDE;
	}
}

static enum path_class class_blocked(const struct segment *s)
{
	if (s->flags & SEGMENT_GETS_MEMORY)
		return PATH_RECLAIM;
	if (s->flags & (SEGMENT_FILE_PAGE | SEGMENT_SWAPPED))
		return PATH_FAULT;
	switch (s->object) {
	case OBJECT_GPU:
		return PATH_DEVICE;
	case OBJECT_TIMER:
		return s->flags & SEGMENT_IN_SYNC ? PATH_DEVICE : PATH_SLEEP;
	case OBJECT_DISK:
		return PATH_DISK;
	case OBJECT_FAULT:
		return PATH_FAULT;
	case OBJECT_CHILD:
		return PATH_CHILD;
	case OBJECT_STOP:
		return PATH_STOPPED;
	case OBJECT_FREEZER:
		return PATH_FROZEN;
	case OBJECT_PROBE:
		return PATH_RECORDER;
	case OBJECT_POLL:
	case OBJECT_SOCKET:
		return class_outside(s);
	default:
		if (s->flags & (SEGMENT_DEMAND | SEGMENT_REPLY))
			return class_outside(s);
		if (s->flags & SEGMENT_EXCLUSION)
			return PATH_LOCK;
		return s->flags & SEGMENT_IN_SYNC ? PATH_DEVICE : PATH_BLOCKED;
	}
}

enum path_class path_class_of(const struct segment *s)
{
	static const enum path_class classes[SEGMENT_STATES] = {
		[SEGMENT_UNKNOWN] = PATH_UNKNOWN,     [SEGMENT_OWN] = PATH_OWN,
		[SEGMENT_CALL] = PATH_CALL,	      [SEGMENT_SYNC] = PATH_DEVICE,
		[SEGMENT_RECLAIM] = PATH_RECLAIM,     [SEGMENT_COMPACT] = PATH_COMPACT,
		[SEGMENT_FAULT_IN] = PATH_FAULT,      [SEGMENT_STOLEN] = PATH_STOLEN,
		[SEGMENT_THROTTLED] = PATH_THROTTLED, [SEGMENT_WAKE_UP] = PATH_WAKE_UP,
		[SEGMENT_UNENDED] = PATH_UNENDED,     [SEGMENT_TOO_DEEP] = PATH_TOO_DEEP,
	};

	if (segment_yields(s) && !(s->flags & SEGMENT_IN_SYNC))
		return PATH_YIELD;
	if (s->state == SEGMENT_RUNNABLE)
		return s->who ? PATH_TAKEN : PATH_CPU_OTHER;
	if (s->state == SEGMENT_BLOCKED)
		return class_blocked(s);
	return s->state < SEGMENT_STATES ? classes[s->state] : PATH_UNKNOWN;
}

uint32_t path_class_culprit(enum path_class class, const struct segment *s, uint32_t anchor,
			    uint32_t thread)
{
	switch (class) {
	case PATH_UNKNOWN:
	case PATH_STOLEN:
	case PATH_WAKE_UP:
	case PATH_CPU_OTHER:
	case PATH_TOO_DEEP:
		return 0;
	case PATH_TAKEN:
		return s->who;
	case PATH_YIELD: /* not whoever had the CPU */
		return thread != anchor && thread != s->who ? thread : 0;
	case PATH_CHILD:
	case PATH_STOPPED:
	case PATH_FROZEN:
		/* Of a thread that the anchor waits for, who let it go on is not the culprit. Nor
		 * is its child what waited for a child. */
		return thread != anchor ? thread : s->who;
	default:
		if (s->state == SEGMENT_BLOCKED && s->object != OBJECT_DISK && s->who)
			return s->who;
		return thread != anchor ? thread : 0;
	}
}
