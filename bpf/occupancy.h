// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who has a CPU while targets wait for it. Invariant: the waiters of a CPU are exactly the threads
 * whose state says so (counted, cpu_wait); while there are any, the slices sent tile the time from
 * the first one's arrival.
 *
 * Not every switch is seen: a host may keep some of its tasks out of the sight of BPF, and then
 * nothing runs on top of them. So each CPU remembers whom it was given to, and when somebody else
 * leaves it, the kernel's accounting of that task says since when it ran.
 */
#ifndef INGERO_BPF_OCCUPANCY_H
#define INGERO_BPF_OCCUPANCY_H

#include "bpf/maps.h"

#define SOURCE_SCHED 16

/* One per possible CPU, a cache line each. */
struct cpu_track {
	u64 since_ns;  /* with waiters: told up to here */
	u64 announced; /* the occupant announced last */
	u64 runs;      /* address of the task the CPU was given to last, as far as was seen */
	u32 runs_tid;
	s32 waiters;
	u32 pad[8];
};

__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512); /* possible CPUs, set before loading */
	__type(key, u32);
	__type(value, struct cpu_track);
} sched_cpus SEC(".maps");

/* Tasks that are no targets but were announced; forgetting one only means announcing it again. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} occupants SEC(".maps");

static __always_inline struct cpu_track *cpu_track(u32 cpu)
{
	return bpf_map_lookup_elem(&sched_cpus, &cpu);
}

/* Say who this task is before naming it; tid is what it will be called. False: the ring is full, or
 * it is somebody else by now. Reads only what may be gone. */
__weak __noinline int announce(u64 address, u32 tid, struct cpu_track *track)
{
	struct task_struct *task = (void *)address;
	u64 key, comm[2] = {};
	u8 one = 1;

	if (!tid)
		return 1; /* the idle task needs no introduction */
	if (BPF_CORE_READ(task, pid) != tid)
		return 0;
	/* With the name: it changes at exec, and the new program is not to blame for the shell it
	 * was. */
	bpf_core_read(comm, sizeof(comm), &task->comm);
	key = mix(mix(mix(tid, BPF_CORE_READ(task, start_boottime)), comm[0]), comm[1]);
	if (track && track->announced == key)
		return 1;
	if (!bpf_map_lookup_elem(&occupants, &key)) {
		if (!thread_send(address, WIRE_OCCUPANT))
			return 0;
		bpf_map_update_elem(&occupants, &key, &one, BPF_ANY);
	}
	if (track)
		track->announced = key;
	return 1;
}

/* As the argument of a function, which may not be a pointer to a task. */
static __always_inline u64 address_of(struct task_struct *task)
{
	u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &task);
	return address;
}

/* This task had the CPU up to now, and somebody waited for it. st: its state if it is followed. */
static __always_inline void send_occupied(struct cpu_track *track, u32 cpu,
					  struct task_struct *task, u32 tid, struct task_state *st,
					  u64 now)
{
	struct wire_occupied *w;
	u64 since = track->since_ns;

	if (since >= now)
		return;
	track->since_ns = now;
	if (st ? !task_announce(task, st) : !announce(address_of(task), tid, track))
		goto lost;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_OCCUPIED;
	w->pad = 0;
	w->cpu = cpu;
	w->tid = tid;
	w->end_ns = now;
	w->dur_ns = now - since;
	w->lost = lost_total;
	w->pad2 = 0;
	bpf_ringbuf_submit(w, ring_flags());
	return;
lost:
	count_loss(SOURCE_SCHED, WIRE_LOST_RING);
}

/* Everything but moves between CPUs happens under the run queue's lock. */
static __always_inline void wait_begins(struct sched_state *s, struct cpu_track *track, u32 cpu,
					u64 now)
{
	if (track->waiters <= 0)
		track->since_ns = now;
	__sync_fetch_and_add(&track->waiters, 1);
	s->cpu_wait = cpu;
	s->counted = 1;
}

static __always_inline void wait_ends(struct sched_state *s)
{
	struct cpu_track *track;

	if (!s->counted)
		return;
	s->counted = 0;
	track = cpu_track(s->cpu_wait);
	if (track)
		__sync_fetch_and_add(&track->waiters, -1);
}

#endif
