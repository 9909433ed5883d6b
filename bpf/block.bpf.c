// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests to block devices: one event for each that a followed thread made, when the device is
 * done with it; sums by device of all the others. Who made a request is known where it begins, in
 * the thread's own context; where the kernel does not say when that is (before 6.5), where it
 * enters a queue or goes to the device.
 */
#include "bpf/host.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct gendisk {
	int major;
	int first_minor;
};
struct block_device {
	u32 bd_dev;
};
struct request_queue {
	struct gendisk *disk;
};
struct request {
	struct request_queue *q;
	u32 cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct block_device *part;
};
struct request___old { /* before 5.17 */
	struct gendisk *rq_disk;
};
#pragma clang attribute pop

#define REQUEST_OP_MASK 0xff
#define REQUEST_FLUSH	2
#define REQUEST_DISCARD 3
#define REQUEST_ERASE	5

struct block_request {
	u64 start_ns;
	u64 issue_ns; /* 0: not given to the device yet */
	u64 sector;
	u32 bytes;
	u32 tid;
};

/* Requests of followed threads between their beginning and their end, by address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct block_request);
} block_requests SEC(".maps");

/* Of everybody else, by device; a device more than fit is not counted. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, struct block_others);
} block_others SEC(".maps");

static __always_inline u32 device_of(struct request *rq)
{
	struct gendisk *disk;

	/* The partition, which is also the file system's device; else the disk. */
	if (rq->part)
		return rq->part->bd_dev;
	if (bpf_core_field_exists(struct request_queue, disk))
		disk = rq->q->disk;
	else
		disk = BPF_CORE_READ((struct request___old *)rq, rq_disk);
	return disk ? (u32)BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor) : 0;
}

static __always_inline u8 direction_of(struct request *rq, u32 bytes)
{
	u32 op = rq->cmd_flags & REQUEST_OP_MASK;

	if (op == REQUEST_FLUSH || (op == 1 && !bytes))
		return 2;
	if (op == REQUEST_DISCARD || op == REQUEST_ERASE)
		return 3;
	return op & 1;
}

/* False: the request is not a followed thread's. */
static __always_inline bool begin_request(u64 key, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = task_state_of(task);
	struct block_request r = { .start_ns = now };

	if (!st)
		return 0;
	r.tid = task->pid;
	if (!task_announce(task, st))
		count_loss(SOURCE_IO, WIRE_LOST_RING);
	else if (bpf_map_update_elem(&block_requests, &key, &r, BPF_ANY))
		count_loss(SOURCE_IO, WIRE_LOST_STATE);
	return 1;
}

SEC("tp_btf/block_io_start")
int host_block_start(u64 *ctx)
{
	u64 key = ctx[0];

	/* Requests are used again: what is still known under this address never ended. */
	if (!begin_request(key, bpf_ktime_get_ns()) && bpf_map_lookup_elem(&block_requests, &key))
		bpf_map_delete_elem(&block_requests, &key);
	return 0;
}

SEC("tp_btf/block_rq_insert")
int host_block_insert(u64 *ctx)
{
	u64 key = ctx[0];

	if (!bpf_map_lookup_elem(&block_requests, &key))
		begin_request(key, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/block_rq_issue")
int host_block_issue(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	u64 key = ctx[0], now = bpf_ktime_get_ns();
	struct block_request *r = bpf_map_lookup_elem(&block_requests, &key);

	if (!r) {
		if (!begin_request(key, now))
			return 0;
		r = bpf_map_lookup_elem(&block_requests, &key);
		if (!r)
			return 0;
	}
	r->issue_ns = now;
	r->sector = rq->__sector;
	r->bytes = rq->__data_len;
	return 0;
}

/* Became a part of another one. */
SEC("tp_btf/block_rq_merge")
int host_block_merge(u64 *ctx)
{
	u64 key = ctx[0];

	bpf_map_delete_elem(&block_requests, &key);
	return 0;
}

static __always_inline void count_others(u32 device, u8 direction, u64 bytes)
{
	struct block_others none = {}, *o = bpf_map_lookup_elem(&block_others, &device);

	if (!o) {
		bpf_map_update_elem(&block_others, &device, &none, BPF_NOEXIST);
		o = bpf_map_lookup_elem(&block_others, &device);
		if (!o)
			return;
	}
	o->requests++;
	if (direction == 0)
		o->read_bytes += bytes;
	else if (direction == 1)
		o->write_bytes += bytes;
}

SEC("tp_btf/block_rq_complete")
int host_block_complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	u64 key = ctx[0], now = bpf_ktime_get_ns();
	u32 left = rq->__data_len, bytes = (u32)ctx[2];
	u64 sector = rq->__sector, queue = 0;
	struct block_request *r = bpf_map_lookup_elem(&block_requests, &key);
	struct wire_host *w;

	if (bytes < left)
		return 0; /* a part of it; the rest is to come */
	if (!r) {
		count_others(device_of(rq), direction_of(rq, left), left);
		return 0;
	}
	if (r->issue_ns) {
		sector = r->sector;
		left = r->bytes;
		queue = r->issue_ns - r->start_ns;
	}
	w = host_record(WIRE_BLOCK, SOURCE_IO, r->tid, r->start_ns, now);
	if (w) {
		w->x[0] = device_of(rq);
		w->x[1] = sector;
		w->x[2] = left;
		w->x[3] = queue;
		w->write = direction_of(rq, left);
		w->present =
			r->issue_ns ? 15 : 7; /* not seen to be issued: by a way around the queue */
		bpf_ringbuf_submit(w, ring_flags());
	}
	bpf_map_delete_elem(&block_requests, &key);
	return 0;
}
