// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What is remembered per target thread between two probes (maps.h: where). It goes when the thread
 * goes. Having this state means being a target. calls.bpf.c owns the table of open calls,
 * sched.bpf.c its own part.
 */
#ifndef INGERO_BPF_TASK_H
#define INGERO_BPF_TASK_H

#include "bpf/kernel.h"
#include "bpf/spec.h"

#define CALLS_OPEN_MAX 16

/* A call that was entered and has not returned. */
struct call_open {
	u64 start_ns;
	u64 sp;	 /* at entry; on x86 this is also where the return address lies */
	u64 ret; /* the caller, before the kernel put its trampoline there; 0: not asked for yet */
	u64 ip;	 /* of the probe */
	u64 x[SPEC_FIELDS];
	u16 op;
	u16 spec;
	u32 stack;
	u32 copy;    /* the file it went through */
	u32 present; /* which of x hold a value, see fields.h */
	u64 name;    /* where the text is that names the handle it makes */
	u32 tier;
	u32 epoch; /* of its tier: while its probes are attached for so many-th time */
};

/* How a wait for descriptors is described when it ends. */
enum polled {
	POLLED_NOT,
	POLLED_ONE,   /* by poll, that one alone */
	POLLED_EPOLL, /* whatever that epoll has ready */
};

/* Owned by sched.bpf.c; out_ns is read by the open-call iterator. */
struct sched_state {
	u64 out_ns;	  /* off CPU since; 0 while on CPU */
	u64 ready_ns;	  /* runnable since; 0 while blocked */
	u64 run_delay;	  /* the kernel's own sum of waits when it left the CPU */
	u64 throttle_ns;  /* throttle clock of the run queue when the wait began there */
	u64 throttled_ns; /* on run queues left behind during this wait */
	u64 steal_seen;	  /* the hypervisor's counter of its CPU when looked at last, valid with
			     steal_known */
	u64 steal_at;	  /* and when that was */
	u64 stolen_ns;	  /* on run queues left behind during this wait */
	u64 object;
	u64 placed_ns; /* its CPU time when its stack was read last where it was preempted */
	u64 allowed;   /* hash of the CPUs that it may run on, as sent last; 0: never sent */
	/* Of the newest wake-up: written by the waker, read at switch-in. */
	u64 waking_ns;
	u32 waker;
	u32 waker_kind;
	u32 futex_val;
	u32 stack;
	u32 number; /* of the file or socket it sleeps on */
	u16 cpu_out;
	u16 cpu_at;   /* whose run queue it is on, as far as was seen */
	u16 cpu_wait; /* where it is counted as waiting */
	s16 syscall;
	u8 depth;     /* calls open when it left the CPU */
	u8 counted;   /* in the waiters of cpu_wait */
	u8 preempted; /* switched out runnable */
	u8 throttled; /* its waits are compared with the throttle clock */
	u8 flags;     /* enum offcpu_flag */
	u8 object_kind;
	u8 futex_op;
	u8 steal_known;
	u8 polled;   /* enum polled: object is a descriptor whose readiness ends the wait */
	u16 cpu_run; /* where steal_seen was read while it ran */
};

/* Owned by memory.bpf.c: since when the thread is in there; 0: it is not. */
struct host_state {
	u64 reclaim_ns;
	u64 compact_ns;
	u64 fault_ns;	 /* first sleep outside system calls, see fault.h; sched.bpf.c sets it */
	u64 fault_ip;	 /* of its instruction */
	u64 fault_minor; /* minor faults that the kernel had counted */
	u64 stat_dentry; /* of the file that was asked for its state last, file.bpf.c sets it; 0
			    none since */
	u64 stat_mnt;
	s32 order; /* wanted by the reclaim; -1: the cgroup's, where it says nothing */
	u32 pad;
};

enum task_flag {
	TASK_ANNOUNCED = 1 << 0,
	TASK_RETURNED = 1 << 1, /* both checks agreed on a return, see calls.bpf.c */
};

/* Room of one stack walk: too large for the BPF stack, and a per-CPU buffer could be overwritten
 * when the thread is preempted inside a probe. */
enum walk_room {
	ROOM_MAKE, /* the thread's, made if need be */
	ROOM_HAVE, /* the thread's, if it has one */
	ROOM_OF_CPU,
};
#define WALK_WINDOW 4096 /* one copy holds 40 frames of 100 bytes; its size matters little */
#define WALK_KNOWN  256	 /* a training step launches from 100 to 500 places */
struct walk {
	u64 limit; /* copies that reach over this address faulted before; 0 none did */
	/* The state of the walk. Here and not on the BPF stack, so that the verifier does not
	 * distinguish the iterations. */
	u64 base; /* user address of window[0] */
	u64 most; /* pairs of words begin there at most, in bytes from base */
	u64 ip, sp, bp, link;
	u64 hash;
	u32 n;
	u32 ends;	/* enum unwind_end */
	u32 exact;	/* ip is where the thread was, not where it will return to */
	u32 slot;	/* of its process in unwind_processes, + 1; 0: not known */
	u32 slot_epoch; /* unwind_epoch when it was asked for */
	u32 changes;	/* of the process's mappings, when this walk began */
	u32 removals;	/* of those, what may have taken away something */
	u32 searched;	/* rules that no cache had, of this walk */
	u32 outer;	/* open calls whose return address has not been passed yet */
	u64 list;	/* of the process's mappings, for this walk: as in struct unwind_process */
	/* Stacks met last, by some bits of their hash: most calls come from where another has come
	 * from. */
	u64 known_hash[WALK_KNOWN];
	u32 known[WALK_KNOWN];
	u64 window[WALK_WINDOW / 8 + 1];
	struct wire_stack record;
};

/* A probe that the thread has met: its cookie, which the kernel would have to be asked for. Told by
 * where it is in the kernel and in the process; the one address is not another probe's as long as
 * we hold the link, which is to the end. */
#define SITES 8
struct call_site {
	u64 probe;
	u64 ip;
	u64 cookie;
	u64 epoch; /* tiers_epoch when it was asked for: a link that has gone leaves its address to
		      others */
};

struct task_state {
	u32 flags;
	u32 ncalls;
	u32 sent;	  /* calls and intervals, wraps */
	u32 python_free;  /* python_changes when its process was found to run no Python */
	u64 words[WORDS]; /* of the call being entered, see struct field_spec */
	u64 seed;	  /* of stack hashes: tells processes and their execs apart */
	u64 born_ns;	  /* of a state in a slot: the thread's start_boottime */
	u64 address;	  /* of the task, while it is announced */
	struct call_open open[CALLS_OPEN_MAX];
	struct sched_state sched;
	struct host_state host;
	struct call_site site[SITES];
	struct walk walk;
};

#endif
