/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What crosses from the kernel to the recorder: records of the two rings, entries of shared maps.
 * Fixed widths, no pointers, no implicit padding. Not the disk format: both ends are always built
 * together. Every ring record starts with its kind; a thread's WIRE_THREAD and a stack's WIRE_STACK
 * come before the first record that names them, on the same ring.
 */
#ifndef INGERO_BPF_WIRE_H
#define INGERO_BPF_WIRE_H

#include <linux/types.h>

#include "bpf/layout.h"

#define SPEC_FIELDS 8 /* columns of a call that cross the ring */

enum wire_kind {
	WIRE_CALL = 1,	    /* struct wire_call with up to 2 columns */
	WIRE_CALL_LONG = 2, /* struct wire_call_long: 3 columns, or longer than 4.29 s */
	WIRE_THREAD = 3,    /* who tid is, from here on */
	WIRE_STACK = 4,	    /* what a stack number means */
	WIRE_PYTHON = 5,    /* Python frames of the WIRE_STACK of this number, which follows */
	WIRE_CODE = 6,	    /* what a code number means */
	WIRE_LINES = 7,	    /* more of a code's line table */
	WIRE_CALL_WIDE = 8, /* struct wire_call_wide */
	WIRE_KERNEL = 9,    /* struct wire_kernel */
	WIRE_NVTX = 10,	    /* struct wire_nvtx */
	WIRE_UNREAD = 11,   /* struct wire_unread */
	WIRE_OFFCPU = 16,   /* owned by sched.bpf.c, here to 31 */
	WIRE_OCCUPIED = 17,
	WIRE_MIGRATE = 18,
	WIRE_OCCUPANT = 19, /* struct wire_thread of a task that is no target: occupies a CPU, or
			       woke a target */
	WIRE_STOLEN = 20,
	WIRE_SAMPLE = 21,
	WIRE_ASLEEP =
		22, /* what the recorder finds a stack from; its WIRE_STACK is the recorder's own */
	WIRE_ALLOWED = 23, /* struct wire_allowed */
	WIRE_FILE = 24,	   /* what a file number means */
	WIRE_SOCKET = 25,
	WIRE_PEER = 26,	 /* who has an end of a socket */
	WIRE_READY = 27, /* struct wire_ready */
	WIRE_FORK = 32,	 /* life ring */
	WIRE_EXEC = 33,
	WIRE_EXIT = 34,
	WIRE_LOADER = 35, /* a loader announced new libraries */
	WIRE_NEW = 36,	  /* a process joined the targets by making a call */
	WIRE_NAME = 37,
	WIRE_OOM = 38,
	WIRE_BLOCK = 64, /* struct wire_host, up to 95 */
	WIRE_RECLAIM = 65,
	WIRE_COMPACT = 66,
	WIRE_FAULT = 67,
	WIRE_RETRANSMIT = 68,
};

/* A finished call. 48 bytes. */
struct wire_call {
	__u8 kind;
	__u8 depth_present; /* low nibble: calls open around it; high nibble: which of x hold a
			       value */
	__u16 op;	    /* enum op_id */
	__u32 tid : 22;	    /* the kernel gives no larger ones */
	__u32 copy : 10; /* the library file it went through, as numbered in the probe's cookie */
	__u64 end_ns;	 /* CLOCK_MONOTONIC */
	__u32 dur_ns;	 /* low 32 bits */
	__s32 ret;
	__u32 stack; /* number of a WIRE_STACK, 0 none */
	__u32 lost;  /* running count of events lost on any CPU: a step locates the gap */
	__u64 x[2];
};

struct wire_call_long {
	struct wire_call call;
	__u64 x2;
	__u32 dur_high;
	__u32 pad;
};

/* More than three columns: the first n records of more that the op has. call.depth_present holds
 * the depth only. */
#define WIRE_WIDE_COLUMNS 3
struct wire_call_wide {
	struct wire_call call;
	__u32 dur_high;
	__u32 present;
	__u64 more[SPEC_FIELDS - 2]; /* 3 of them cross for ops of up to 5 columns */
};

/* What a kernel is called. */
#define WIRE_NAME_SHORT 200
#define WIRE_NAME_LONG	2000
struct wire_kernel {
	__u8 kind;
	__u8 pad[3];
	__u32 tgid;
	__u64 handle; /* CUfunction, CUkernel, or the address the runtime launches it by */
	char name[WIRE_NAME_LONG]; /* zero terminated; the first WIRE_NAME_SHORT cross if they hold
				      it */
};
#define WIRE_KERNEL_HEAD 16

/* The same where the name's page was not mapped, which a probe cannot wait for: the recorder
 * reads the address. */
struct wire_unread {
	__u8 kind;
	__u8 pad[3];
	__u32 tgid;
	__u64 handle;
	__u64 address;
	__u64 time_ns; /* what is mapped there may be another file's a moment later */
};

/* What a program said by NVTX. The text is ASCII or UTF-8, or of 4 bytes a character; the first
 * NVTX_SHORT bytes cross where it is not the latter. */
#define NVTX_SHORT 128
#define NVTX_LONG  512
#define NVTX_HEAD  48
#define NVTX_ATTRIBUTES_MESSAGE \
	32 /* where messageType of nvtxEventAttributes_t stands, 8 bytes before the message */
enum nvtx_what {
	NVTX_PUSH = 1,
	NVTX_POP,
	NVTX_START,
	NVTX_END,
	NVTX_MARK,
	NVTX_REGISTER, /* a text gets a handle; no event */
};
enum nvtx_text { /* as in messageType of nvtxEventAttributes_t */
		 NVTX_NO_TEXT = 0,
		 NVTX_NARROW = 1,
		 NVTX_WIDE = 2,
		 NVTX_HANDLE = 3,
		 NVTX_ATTRIBUTES = 4, /* they say which; crosses only with NVTX_UNREAD */
};
enum nvtx_cut {			 /* bits */
		NVTX_CUT = 1,	 /* the text was longer */
		NVTX_UNREAD = 2, /* as struct wire_unread: handle is the text's address */
};
struct wire_nvtx {
	__u8 kind;
	__u8 what;
	__u8 text;
	__u8 cut; /* enum nvtx_cut */
	__u32 tid : 22;
	__u32 copy : 10;
	__u32 lost;
	__u32 level; /* of a push or pop, in its thread and domain, from 1; 0: nothing was pushed */
	__u64 time_ns; /* of the function's entry */
	__u64 domain;
	__u64 id;     /* START, END: of the range; REGISTER: the handle that the text got */
	__u64 handle; /* of NVTX_HANDLE; an address with NVTX_UNREAD */
	char name[NVTX_LONG];
};
/* Which function a probe is on, in the low half of its cookie; domain: it is the first argument. */
#define NVTX_COOKIE(what, text, domain) ((__u32)((what) | (text) << 8 | (domain) << 16))

struct wire_thread {
	__u8 kind;
	__u8 policy; /* SCHED_OTHER ... */
	__s8 nice;
	__s8 autogroup_nice;
	__u32 tid;
	__u32 tgid;
	__u32 parent;  /* tgid */
	__u32 ns_tgid; /* pid in its own namespace */
	__u32 uid;
	__u32 execs; /* of the process since it is a target */
	__u32 lost;
	__u64 start_ns;	     /* of the thread, CLOCK_BOOTTIME */
	__u64 tgid_start_ns; /* of the process */
	__u64 cgroup;
	__u64 autogroup; /* number of the autogroup that its share of a CPU is part of, or 0 and: */
	__u64 cpu_cgroup; /* id of the cgroup of the CPU controller; both 0: not known */
	char comm[16];
};

#define WIRE_STACK_MAX 256 /* a power of two: the walks mask indexes by it */
struct wire_stack {
	__u8 kind;
	__u8 python; /* enum python_flag */
	__u16 n;
	__u32 id;
	__u32 tgid;
	__u32 ends; /* enum unwind_end */
	__u32 list; /* generation of the list of mappings (unwind_rule.h) that it was walked by; 0:
		       by none */
	__u32 removals;		  /* of struct unwind_process, when it was walked */
	__u64 ip[WIRE_STACK_MAX]; /* innermost first; the first n cross */
};
#define WIRE_STACK_HEAD 24

enum python_flag {
	PYTHON_PROCESS = 1 << 0,   /* CPython runs in this process */
	PYTHON_NO_THREAD = 1 << 1, /* but this thread has no state of it: it runs no Python */
	PYTHON_CUT = 1 << 2,	   /* deeper than PYTHON_FRAMES_MAX: the outer frames are missing */
	PYTHON_FAULT =
		1 << 3, /* something on the way could not be read: the outer frames are missing */
	PYTHON_UNKNOWN = 1 << 4, /* a code object could not be read or sent: no frames */
	PYTHON_SEVERAL = 1 << 5, /* the thread is in several interpreters, the inner one is not
				    known: no frames */
};

#define PYTHON_AGAIN   (PYTHON_FAULT | PYTHON_UNKNOWN) /* may go well next time */
#define PYTHON_MISSING (PYTHON_CUT | PYTHON_FAULT | PYTHON_UNKNOWN | PYTHON_SEVERAL)

#define PYTHON_FRAMES_MAX 128
struct wire_python_frame {
	__u32 code; /* number of a WIRE_CODE */
	__u32 at;   /* byte of the bytecode << 1 | 1 where C code called the interpreter */
};
struct wire_python {
	__u8 kind;
	__u8 pad[3];
	__u32 id; /* of the stack */
	__u32 tgid;
	__u32 n;
	struct wire_python_frame frame[PYTHON_FRAMES_MAX]; /* innermost first; the first n cross */
};
#define WIRE_PYTHON_HEAD 16

/* A code object. Texts are as Python holds them: width 1 (Latin-1), 2 or 4 bytes a character, 0
 * unreadable; of a file the last WIRE_FILE_MAX bytes, of a name the first. */
#define WIRE_TEXT_CUT  0x80 /* in a width: some is missing */
#define WIRE_FILE_MAX  1024
#define WIRE_NAME_MAX  512
#define WIRE_LINES_MAX 2048
struct wire_code {
	__u8 kind;
	__u8 minor; /* CPython 3.minor: says how the line table reads */
	__u8 file_width, name_width;
	__u32 id;
	__u32 tgid;
	__u32 first_line;
	__u32 lines_bytes; /* in all; the first WIRE_LINES_MAX are here, more in WIRE_LINES */
	__u16 file_bytes, name_bytes;
	char file[WIRE_FILE_MAX];
	char name[WIRE_NAME_MAX];
	char lines[WIRE_LINES_MAX];
};
#define WIRE_CODE_HEAD (24 + WIRE_FILE_MAX + WIRE_NAME_MAX)

#define WIRE_CODE_LINES_MAX \
	65536 /* line tables are cut there: a few generated modules have larger ones */
struct wire_lines {
	__u8 kind;
	__u8 pad[3];
	__u32 id;
	__u32 offset;
	__u32 n;
	char data[WIRE_LINES_MAX];
};
#define WIRE_LINES_HEAD 16

/* Value of the pythons map, key tgid. */
struct python_process {
	__u64 runtime;	 /* address of _PyRuntime */
	__s64 slot;	 /* of the thread state, from the thread pointer; 0 not known yet */
	__u64 slot_pair; /* or from what this pair names in thread-local storage (module, place in
			    it); 0: none */
	__u64 freed;	 /* code objects freed, from a number on that is this process's own */
	__u32 counted;	 /* freed is */
	__u32 sound; /* the slot has been seen to hold a state of its thread: an empty one says that
			there is none */
	struct python_layout layout;
};

/* One off-CPU interval, sent when it ends, with the slice of the occupant that made way for it:
 * most waits have only that one. 112 bytes. */
struct wire_offcpu {
	__u8 kind;
	__u8 flags;	  /* enum offcpu_flag */
	__u8 object_kind; /* enum event_object */
	__u8 waker_kind;  /* enum event_waker */
	__u32 tid;
	__u64 end_ns;
	__u64 dur_ns;
	__u64 wait_ns;
	__u64 throttled_ns;
	__u64 stolen_ns; /* part of the wait */
	__u64 object;
	__u64 occupied_ns; /* up to the end of the interval; 0: no slice */
	__u64 own_ns;	/* the end of the slice in which the CPU was given to the thread already */
	__u32 occupant; /* tid, 0: the CPU was idle */
	__u32 waker;	/* tid; of a soft interrupt: who may have sent what it brought, 0 nobody */
	__u32 stack;
	__u32 lost;
	__u32 futex_val;
	__s16 syscall; /* -1: in none */
	__u16 cpu_out;
	__u16 cpu_in;
	__u8 futex_op;
	__u8 depth;
	__u32 number;	 /* of the file or socket slept on, 0 none */
	__u32 waking_ns; /* from the waker's act to the beginning of the wait, with OFFCPU_WAKING */
	__u32 pad;
};
enum offcpu_flag {
	OFFCPU_OBJECT = 1 << 0,	   /* object holds a value */
	OFFCPU_FUTEX = 1 << 1,	   /* futex_op and futex_val hold values */
	OFFCPU_THROTTLED = 1 << 2, /* this kernel says what was throttled */
	OFFCPU_STOLEN = 1 << 3,	   /* and what the hypervisor took */
	OFFCPU_SOCKET = 1 << 4,	   /* number is a socket's */
	OFFCPU_UNENDED = 1 << 5,   /* it sleeps still: cpu_in and lost hold no value */
	OFFCPU_WAKING = 1 << 6,	   /* the waker was seen to act: waking_ns holds a value */
	OFFCPU_OUTSIDE = 1 << 7,   /* of a thread that is no target, announced as an occupant */
};

/* On which CPUs a thread may run, when it is first given one and when that has changed. */
#define WIRE_ALLOWED_WORDS 16 /* 1024 CPUs */
struct wire_allowed {
	__u8 kind;
	__u8 pad;
	__u16 words; /* of cpus that hold a value */
	__u32 tid;
	__u64 time_ns;
	__u32 lost;
	__u32 pad2;
	__u64 cpus[WIRE_ALLOWED_WORDS]; /* CPU 0 is the lowest bit of the first */
};

/* A thread that sleeps when it begins to be followed, as it entered the kernel. Its memory cannot
 * be read from there: the recorder reads it (lib/attach/remote_stack.h), and what it finds is the
 * stack of this number. */
struct wire_asleep {
	__u8 kind;
	__u8 pad[3];
	__u32 tid;
	__u32 tgid;
	__u32 inner; /* its number in its own pid namespace */
	__u32 stack;
	__u32 pad2;
	__u64 ip, sp, fp;
	__u64 pointer; /* the thread pointer, 0 unknown */
	__u64 slices;  /* how often it was given a CPU so far: with that it has not run since */
};

/* Taken by the hypervisor since the thread's last record, while it had the CPU. */
struct wire_stolen {
	__u8 kind;
	__u8 depth; /* calls open then */
	__u16 cpu;
	__u32 tid;
	__u64 end_ns;
	__u64 dur_ns;
	__u32 lost;
	__u32 pad;
};

/* What the kernel did for a thread, or a device for it, from end - dur to end. 72 bytes; x by kind:
 *   BLOCK      device, sector, bytes, ns before the device was given the request
 *   RECLAIM    pages got, order wanted; of this and COMPACT x[3] is the number of a WIRE_STACK (no
 * column), 0 none FAULT      address RETRANSMIT segments, TCP state, tgid (no column); tid is who
 * connected or accepted it, 0 unknown; inode: the socket's */
struct wire_host {
	__u8 kind;
	__u8 depth;
	__u8 write;   /* as the column, HOST_NEITHER */
	__u8 present; /* which of x hold a value */
	__u32 tid;
	__u64 end_ns;
	__u64 dur_ns;
	__u32 lost;
	__u32 number; /* of a WIRE_FILE or WIRE_SOCKET, 0 none */
	__u64 inode;
	__u64 x[4];
};
#define HOST_NEITHER 255

/* Per CPU: requests of everybody else to a device. */
struct block_others {
	__u64 requests;
	__u64 read_bytes;
	__u64 write_bytes;
};

/* A file, by the names of its folders from the file up to the root of its file system, then from
 * that one's mount point on: each as long as fits. */
#define WIRE_FILE_NAMES 20
#define WIRE_FILE_NAME	96
struct wire_file {
	__u8 kind;
	__u8 names;   /* that many follow, innermost first */
	__u8 mounted; /* the first of them that lies above the mount point; names when the path ends
			 there */
	__u8 cut;     /* outer names are missing */
	__u32 number;
	__u32 device; /* of its file system */
	__u32 pad;
	char fstype[24];
	char subtype[24]; /* of a file system in user space */
	char origin[128]; /* what is mounted */
	char name[WIRE_FILE_NAMES][WIRE_FILE_NAME];
};
#define WIRE_FILE_HEAD 192

struct wire_socket {
	__u8 kind;
	__u8 state;
	__u16 family;
	__u16 protocol;
	__u8 type;
	__u8 role; /* enum socket_role */
	__u32 number;
	__u16 local_port; /* host byte order */
	__u16 remote_port;
	__u8 local[16]; /* an IPv4 address in the first 4 */
	__u8 remote[16];
	__u64 inode; /* of a Unix socket; else 0 */
};
enum socket_role {
	SOCKET_ROLE_UNKNOWN,
	SOCKET_LISTENING,
	SOCKET_ACCEPTED,  /* or of a port that is listened on: brings demand */
	SOCKET_CONNECTED, /* brings replies */
	SOCKET_PAIR,	  /* both ends were made at once, by socketpair(2) */
};

/* What a WIRE_SOCKET of the family of Unix sockets is: names as bound, zeroes behind a short one;
 * one that begins with a zero is no path. */
#define WIRE_UNIX_NAME 64 /* a power of two */
#define UNIX_PATH      2  /* where it begins in struct sockaddr_un */
struct wire_unix {
	struct wire_socket socket;
	char local[WIRE_UNIX_NAME];
	char remote[WIRE_UNIX_NAME];
};

/* Descriptors that were ready when a thread's wait for several ended, behind its WIRE_OFFCPU. */
#define WIRE_READY_MAX 4
struct wire_ready_fd {
	__u32 fd;
	__u32 number;  /* of a socket; 0: none, or not known */
	__u16 mode;    /* type of inode, as in stat(2) */
	char name[22]; /* of what is no socket: "[eventfd]"; zero terminated */
};
struct wire_ready {
	__u8 kind;
	__u8 n;	   /* that many follow */
	__u8 more; /* there were more */
	__u8 pad;
	__u32 tid;
	__u64 end_ns; /* of the wait */
	struct wire_ready_fd fd[WIRE_READY_MAX];
};
#define WIRE_READY_HEAD 16

/* A process of this machine, whoever it belongs to, has an end of that socket's connection open. */
struct wire_peer {
	__u8 kind;
	__u8 near; /* the socket itself; else the other end */
	__u8 pad[2];
	__u32 number; /* of a WIRE_SOCKET before it; 0: none is left to be found */
	__u32 tgid;
	__u32 pad2;
	char comm[16];
};

struct wire_occupied {
	__u8 kind;
	__u8 pad;
	__u16 cpu;
	__u32 tid; /* 0: the CPU was idle */
	__u64 end_ns;
	__u64 dur_ns;
	__u32 lost;
	__u32 pad2;
};

/* Where it was, as column in_kernel of files says it. */
enum sample_mode {
	SAMPLE_IN_PROGRAM,
	SAMPLE_IN_KERNEL,
	SAMPLE_IN_FAULT, /* the kernel handles a fault of its */
};
/* A target's thread had the CPU when that CPU was looked at. */
struct wire_sample {
	__u8 kind;
	__u8 depth;	/* calls open then */
	__u8 in_kernel; /* enum sample_mode */
	__u8 pad;
	__u32 tid;
	__u64 time_ns;
	__u32 stack;
	__u32 lost;
	__u16 cpu;
	__u16 pad2[3];
};

struct wire_migrate {
	__u8 kind;
	__u8 pad[3];
	__u32 tid;
	__u64 time_ns;
	__u16 cpu_out;
	__u16 cpu_in;
	__u32 lost;
};

/* Life ring. One shape for all: what does not apply is 0. */
struct wire_life {
	__u8 kind;
	__u8 stopped; /* the process was sent SIGSTOP: attach, then send SIGCONT */
	__u8 process; /* fork: a new process, not a thread; exit: the last thread of the process;
		       * loader: enum loader_change */
	__u8 known; /* exec, loader: what is new is known and holds nothing to probe: not stopped */
	__u32 child; /* fork */
	__u32 child_tgid;
	__s32 status; /* exit code as wait(2) gives it */
	__u64 time_ns;
	__u64 child_start_ns;
	struct wire_thread who; /* fork: the parent; name: as it was called until then */
	char name[16]; /* name: what it calls itself from now on; zeroes behind a short one */
};

enum loader_change {
	LOADER_ADDED,
	LOADER_REMOVING, /* what will be removed is mapped still */
	LOADER_REMOVED,
};

/* Value of the targets map, key tgid. */
enum target_flag {
	TARGET_FOLLOW = 1 << 0, /* children become targets */
	TARGET_STOP = 1 << 1,	/* stop where new code appears, so that the first call is seen */
	TARGET_CALLED = 1 << 2, /* joined by making a call */
};
struct target {
	__u32 flags;
	__u32 execs;
	__u64 library; /* address of the last entry that its loader's list had; 0: not looked at */
	__u32 grown;   /* it was not stopped for what its loader added last */
	__u32 removing;
};

/* Key of the files that the recorder has looked at: as the kernel numbers them. */
struct known_file {
	__u64 inode;
	__u32 device;
	__u32 pad;
};
struct known_state {
	__u32 generation; /* of the inode, as first met again: numbers are reused; 0: not yet */
	__u32 probed;	  /* it has probes, or shows Python: processes that load it are checked */
	__u32 starts; /* it was looked at as an executable or as a loader, for what those hold */
};

/* Losses: one slot per CPU, indexed by event source and enum loss_reason (event/record.h). Source
 * 0: parts of events (stacks, kernels) that were lost while the event was sent; by wire_untold. */
#define LOSS_SOURCES 32
#define LOSS_REASONS 8
enum wire_loss {
	WIRE_LOST_RING = 1,
	WIRE_LOST_STATE = 2,
	WIRE_LOST_RETURN = 3,
	WIRE_LOST_NESTING = 4
};
enum wire_untold { WIRE_UNTOLD_STACK = 1, WIRE_UNTOLD_KERNEL = 2 };
struct loss_slot {
	__u64 n[LOSS_SOURCES][LOSS_REASONS];
};

/* What the open-call iterator prints per thread: head, then ncalls calls. */
struct wire_open {
	__u32 tid;
	__u32 tgid;
	__u32 ncalls;
	__u32 unannounced; /* a struct wire_thread stands before the calls: no record has told of
			      the thread yet */
	__u64 start_ns;	   /* of the thread, CLOCK_BOOTTIME */
	__u64 off_since;   /* off CPU since, CLOCK_MONOTONIC; 0: on CPU or not followed */
};
struct wire_open_call {
	__u64 start_ns;
	__u16 op;
	__u16 depth;
	__u32 stack;
};

/* What the iterator over threads that sleep prints. */
struct wire_still {
	struct wire_thread who;	 /* kind 0: the ring has told */
	struct wire_offcpu wait; /* up to now, OFFCPU_UNENDED */
};

/* What the iterator over mappings prints: one that is of a file. */
struct wire_mapped {
	__u64 start;
	__u64 inode;
	__u32 device; /* major << 20 | minor */
	__u32 tgid;
};

enum scope { SCOPE_LISTED, SCOPE_USER, SCOPE_ALL };
enum walker { WALKER_NONE, WALKER_LOOP, WALKER_HELPER };

#endif
