/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bpf/python_code.h uses of the kernel, for another thread's memory: included in front of it
 * by remote_stack.c alone, in place of bpf/maps.h. A task is one that sleeps and what is known of
 * it; the ring is whoever wants the records.
 */
#ifndef INGERO_ATTACH_REMOTE_STACK_BPF_H
#define INGERO_ATTACH_REMOTE_STACK_BPF_H

#include <linux/bpf.h>
#include <string.h>
#include <sys/uio.h>

#include "bpf/mix.h"
#include "bpf/wire.h"
#include "lib/base/map.h"
#include "lib/attach/ring.h"

#define INGERO_BPF_MAPS_H

#if defined(__x86_64__) && !defined(__TARGET_ARCH_x86)
#define __TARGET_ARCH_x86
#elif defined(__aarch64__) && !defined(__TARGET_ARCH_arm64)
#define __TARGET_ARCH_arm64
#endif

typedef __u8 u8;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;

#undef __always_inline
#undef __weak
#define __always_inline inline __attribute__((always_inline))
/* Loops are separate functions in BPF code. */
#define __weak static __attribute__((unused))
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, what)  what *name

enum walk_room { ROOM_MAKE, ROOM_HAVE, ROOM_OF_CPU };

struct pid {
	u32 inner;
};
struct task_struct {
	struct {
		u64 fsbase;
	} thread;
	struct pid *thread_pid;
};
struct task_state {
	u32 python_free;
};

/* The one being read. */
struct peek {
	u32 tgid;
	struct map *codes; /* fingerprint -> number */
	void *room;	   /* struct python_walk */
	probe_ring_fn *out;
	void *ctx;
	u32 known; /* what was found last in codes */
};
static _Thread_local struct peek *peek;

static inline long peek_read(void *to, u64 n, const void *from)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)from, n };

	return process_vm_readv((pid_t)peek->tgid, &here, 1, &there, 1, 0) == (ssize_t)n ? 0 : -1;
}

static inline void *peek_find(const void *key, size_t n)
{
	uint64_t value;
	u64 word = 0;

	if (n != sizeof(word))
		return peek->room; /* of a CPU */
	memcpy(&word, key, n);
	if (!map_get(peek->codes, word, &value))
		return NULL;
	peek->known = (u32)value;
	return &peek->known;
}

#define task_inner_id(pid)			  ((pid)->inner)
#define BPF_CORE_READ(task, member)		  ((task)->member)
#define bpf_jiffies64()				  0ull
#define bpf_task_storage_get(map, task, v, flags) peek->room
#define bpf_probe_read_user(to, n, from)	  peek_read(to, n, from)
#define bpf_map_lookup_elem(map, key)		  peek_find(key, sizeof(*(key)))
#define bpf_map_update_elem(map, key, value, how) (void)map_put(peek->codes, *(key), *(value))
#define ring_flags()				  0
#define bpf_ringbuf_output(ring, p, n, flags)	  (peek->out(peek->ctx, p, n), 0)

#endif
