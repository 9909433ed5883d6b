// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the programs around block I/O, memory and connections share: whether the current thread is
 * followed, and the one shape of their records. Like the scheduler's, they ask for no memory: a
 * thread's state was made before. Programs are named host_SOURCE_WHAT: a kernel that lacks or
 * refuses one costs what that one sees, and the recording says so. With _kprobe behind its name a
 * program is another way to the same place, for kernels that cannot put the first one there (arm64
 * before 6.4): a trap instead of a call. With _traced it is a tracepoint that sees nearly the same,
 * for kernels that take neither.
 */
#ifndef INGERO_BPF_HOST_H
#define INGERO_BPF_HOST_H

#include "bpf/maps.h"

#define SOURCE_HOST 3
#define SOURCE_IO   5
#define SOURCE_NET  7

/* What a program on a perf event is given; the registers are laid out as everywhere. */
struct bpf_perf_event_data {
	struct pt_regs regs;
	u64 sample_period;
	u64 addr;
};

/* A record with everything but what its kind adds. NULL: no room, and counted. */
static __always_inline struct wire_host *host_record(u8 kind, u32 source, u32 tid, u64 start,
						     u64 end)
{
	struct wire_host *w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);

	if (!w) {
		count_loss(source, WIRE_LOST_RING);
		return 0;
	}
	w->kind = kind;
	w->depth = 0;
	w->write = HOST_NEITHER;
	w->present = 0;
	w->tid = tid;
	w->end_ns = end;
	w->dur_ns = end - start;
	w->lost = lost_total;
	w->number = 0;
	w->inode = 0;
	w->x[0] = w->x[1] = w->x[2] = w->x[3] = 0;
	return w;
}

#endif
