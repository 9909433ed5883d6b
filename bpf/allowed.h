// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * On which CPUs a followed thread may run: checked at each switch-in, sent when it differs from
 * what was sent last. No tracepoint says when that changes, and not every kernel lets a program
 * into the function that changes it.
 */
#ifndef INGERO_BPF_ALLOWED_H
#define INGERO_BPF_ALLOWED_H

#include "bpf/occupancy.h"

/* A hash of the CPUs that a thread may run on: of the mask that was set for it, not of the one in
 * use, which is of one CPU while the kernel keeps it there. */
static __always_inline u64 allowed_hash(struct task_struct *task)
{
	void *mask = (void *)untrusted(task) + bpf_core_field_offset(task->cpus_mask);
	u64 hash = 1;
	u32 i;

	for (i = 0; i < WIRE_ALLOWED_WORDS; i++) {
		if (i >= config_cpu_words)
			break;
		hash = mix(hash, kernel_word(mask + 8 * i));
	}
	return hash | 1;
}

/* Sends a thread's CPU mask: it differs from the one sent last, or none was sent. */
static __noinline void allowed_send(struct task_struct *task, struct task_state *st, u64 now)
{
	u32 offset = bpf_core_field_offset(task->cpus_mask);
	struct wire_allowed *w;

	if (!task_announce(task, st))
		goto lost;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_ALLOWED;
	w->pad = 0;
	w->words = config_cpu_words;
	w->tid = task->pid;
	w->time_ns = now;
	w->lost = lost_total;
	w->pad2 = 0;
	__builtin_memset(w->cpus, 0, sizeof(w->cpus));
	bpf_probe_read_kernel(w->cpus, 8 * config_cpu_words, (void *)address_of(task) + offset);
	bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
	return;
lost:
	st->sched.allowed = 0; /* sent at the next switch-in */
}

static __always_inline void allowed_look(struct task_struct *task, struct task_state *st, u64 now)
{
	u64 hash;

	if (!config_cpu_words || !bpf_core_field_exists(task->cpus_mask))
		return;
	hash = allowed_hash(task);
	if (st->sched.allowed == hash)
		return;
	st->sched.allowed = hash;
	allowed_send(task, st, now);
}

#endif
