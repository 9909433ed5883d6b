/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding up the parts of a stretch of time. The list of takers is small and exact for the
 * largest few: one that is pushed out stays in its category's sum, so nothing is ever lost
 * from the total.
 */
#include "lib/line/parts.h"

static const struct {
	const char *name, *text;
} part_names[PART_COUNT] = {
	[PART_SELF] = { "self", "on CPU, own code" },
	[PART_PREEMPTED] = { "preempted", "preempted" },
	[PART_RUNQ] = { "runqueue", "woken, waiting for a busy CPU" },
	[PART_CPU_IDLE] = { "wakeup", "woken, waiting for an idle CPU" },
	[PART_WAIT_UNKNOWN] = { "wait_unknown", "waiting for a CPU, occupant not recorded" },
	[PART_THROTTLED] = { "throttled", "throttled by a CPU quota" },
	[PART_STOLEN] = { "stolen", "stolen by the hypervisor" },
	[PART_DISK] = { "disk", "blocked on disk" },
	[PART_LOCK] = { "lock", "blocked on a lock" },
	[PART_FAULT] = { "fault", "blocked in a page fault" },
	[PART_STOPPED] = { "stopped", "stopped or traced" },
	[PART_SLEEP] = { "sleep", "sleeping on its own request" },
	[PART_IDLE] = { "idle", "waiting for work (condition, semaphore)" },
	[PART_SOCKET] = { "socket", "blocked on a socket" },
	[PART_POLL] = { "poll", "polling descriptors" },
	[PART_FD] = { "fd", "blocked on a pipe or file" },
	[PART_CHILD] = { "child", "waiting for a child process" },
	[PART_BLOCKED] = { "blocked", "blocked, reason not recorded" },
	[PART_DEVICE] = { "device", "waiting for the GPU" },
	[PART_UNKNOWN] = { "unknown", "unknown (events lost)" },
};

const char *part_name(enum part part)
{
	return (unsigned)part < PART_COUNT ? part_names[part].name : "unknown";
}

const char *part_text(enum part part)
{
	return (unsigned)part < PART_COUNT ? part_names[part].text : "unknown";
}

static void culprit_add(struct parts *p, enum part part, uint32_t culprit, uint64_t ns)
{
	unsigned least = 0;

	for (unsigned i = 0; i < p->nculprits; i++) {
		if (p->c[i].culprit == culprit && p->c[i].part == (uint32_t)part) {
			p->c[i].ns += ns;
			return;
		}
		if (p->c[i].ns < p->c[least].ns)
			least = i;
	}
	if (p->nculprits < PARTS_CULPRITS)
		least = p->nculprits++;
	else if (p->c[least].ns >= ns)
		return;
	p->c[least] = (struct part_culprit){ culprit, (uint32_t)part, ns };
}

void parts_add(struct parts *p, enum part part, uint32_t culprit, uint64_t ns)
{
	if (ns == 0)
		return;
	if (p->mask >> part & 1) {
		p->ns[part] += ns;
	} else {
		p->mask |= 1u << part;
		p->ns[part] = ns;
	}
	if (culprit)
		culprit_add(p, part, culprit, ns);
}

void parts_blame(struct parts *p, enum part part, uint32_t culprit, uint64_t ns)
{
	if (culprit && ns)
		culprit_add(p, part, culprit, ns);
}

void parts_merge(struct parts *into, const struct parts *from)
{
	for (uint32_t m = from->mask; m; m &= m - 1) {
		unsigned part = (unsigned)__builtin_ctz(m);

		parts_add(into, part, 0, from->ns[part]);
	}
	for (unsigned i = 0; i < from->nculprits; i++)
		culprit_add(into, from->c[i].part, from->c[i].culprit, from->c[i].ns);
}

void parts_clear(struct parts *p)
{
	p->mask = 0;
	p->nculprits = 0;
}

void parts_to_device(struct parts *p)
{
	uint64_t ns = parts_sum(p, PARTS_DEVICE_LIKE);

	if (ns == 0)
		return;
	p->mask &= ~PARTS_DEVICE_LIKE;
	parts_add(p, PART_DEVICE, 0, ns);
}

uint64_t parts_sum(const struct parts *p, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t m = p->mask & which; m; m &= m - 1)
		sum += p->ns[__builtin_ctz(m)];
	return sum;
}
