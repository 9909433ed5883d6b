/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the decoders of ring records know: who each announced thread is, what each stack number means, how much
 * was delivered and lost. The owner is asked only once per distinct process or stack.
 */
#ifndef INGERO_PROBE_WIRE_KNOWN_H
#define INGERO_PROBE_WIRE_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/wire.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/probe/ended.h"
#include "lib/probe/numbers.h"
#include "lib/world/world.h"

/* /proc shows start times in clock ticks; so that a process seen there and one announced by the kernel are the
 * same one, all start times are cut to them. */
#define PROBE_TICK_NS 10000000ull
static inline uint64_t probe_start(uint64_t boot_ns)
{
	return boot_ns - boot_ns % PROBE_TICK_NS;
}

struct probe_thread {
	uint32_t tid, tgid;
	uint32_t process, thread, ctx, cgroup; /* world ids */
};

/* What a process executes: strings of the world, 0 unknown. */
struct probe_exe {
	uint32_t exe, cmdline, comm, cgroup_path;
};

/* The Python side of a stack. */
struct probe_python_frames {
	unsigned flags; /* enum python_flag, 0: no Python process */
	const struct wire_python_frame *frame;
	unsigned n;
};

/* Of the calls handed on: how many have a stack; how many ran in Python code, and of these with all of it. */
struct probe_shares {
	uint64_t calls, stacks, python, python_whole;
};

/* Retransmits of sockets that no process of the targets is known to have. */
struct probe_unowned {
	uint64_t retransmits, segments;
};

struct probe_wire;
struct probe_handles;

/* What the decoder asks of its owner. All but event may be NULL. */
struct probe_wire_owner {
	void *ctx;
	void (*event)(void *ctx, const struct event *ev);
	void (*lost)(void *ctx,
		     uint64_t n); /* that many were lost between the last event and the next */
	/* What tgid executes after that many execs; called once for each. out->comm: its name then, 0 not known. */
	void (*exe)(void *ctx, uint32_t tgid, uint32_t execs, struct probe_exe *out);
	/* The path of the cgroup that tgid is in, a string of the world, 0 unknown; called once per cgroup of those that
	 * are no targets. */
	uint32_t (*cgroup)(void *ctx, uint32_t tgid);
	/* The world stack of its addresses, 0 for none; called once per distinct stack. */
	uint32_t (*stack)(void *ctx, const struct wire_stack *s,
			  const struct probe_python_frames *python);
	/* A Python code object, or more of one. False: not understood. */
	bool (*code)(void *ctx, const struct wire_code *r, size_t n);
	bool (*lines)(void *ctx, const struct wire_lines *r, size_t n);
	/* A thread slept when it began to be followed: its stack may be told now, as records of the ring. */
	void (*asleep)(void *ctx, const struct wire_asleep *a);
	/* A FILE or SOCKET record, borrowed; before the first event of each file that names it. Or a
	 * PEER record; or an ALLOWED record, which alone has its time. */
	void (*record)(void *ctx, struct record *r);
	/* What a thread said by NVTX; n bytes. False: not understood. */
	bool (*nvtx)(void *ctx, const struct probe_thread *t, const struct wire_nvtx *w, size_t n);
	/* Up to n bytes of what lay at an address of a process at that time, which a probe could not
	 * read; how many there were. */
	size_t (*bytes)(void *ctx, uint32_t tgid, uint64_t address, int64_t time_ns, void *out,
			size_t n);
	/* The process that has a socket open, by its inode: tgid, 0 none of the targets. */
	uint32_t (*socket)(void *ctx, uint64_t inode);
	/* Whether a futex is part of the lock of the process's Python interpreter. */
	bool (*gil)(void *ctx, uint32_t tgid, uint64_t address);
	/* A process of the targets was heard of for the first time (or after an exec). */
	void (*process)(void *ctx, const struct wire_thread *w, uint32_t process);
	/* What a process (world id) launches for the first time, then, and its name; empty: it has another one since, and
	 * that is not known. */
	void (*kernel)(void *ctx, uint32_t process, uint64_t handle, struct bytes name,
		       int64_t since_ns);
	/* A handle is launched for the first time, then, and has no name: one may be found later. */
	void (*nameless)(void *ctx, const struct probe_thread *t, uint64_t handle,
			 int64_t since_ns);
	/* As in struct probe_devices_owner. gpu NULL: no device is followed. */
	bool (*whole)(void *ctx, uint32_t tgid);
	uint32_t (*gpu)(void *ctx, uint32_t tgid, uint32_t ordinal, const uint8_t *uuid,
			bool *later);
};

int probe_wire_new(struct probe_wire **out, struct world *w, uint32_t node,
		   const struct probe_wire_owner *owner, struct err *e);
void probe_wire_free(struct probe_wire *wire);

/* Another file of the recording begins, with the events that ended at since_ns or later: what files, sockets and kernels
 * are called is to be said again, of those of these events at once. */
void probe_wire_again(struct probe_wire *wire, int64_t since_ns);

uint64_t probe_wire_refused(const struct probe_wire *wire);
/* Names that programs gave, and what became of them. */
struct probe_name_counts {
	uint64_t read; /* late ones among them */
	uint64_t late; /* not by the probe, whose memory was not there, but by us */
	uint64_t lost; /* nor by us */
};
/* Of kernels; of ranges and marks of NVTX. */
const struct probe_name_counts *probe_wire_names(const struct probe_wire *wire);
const struct probe_name_counts *probe_wire_texts(const struct probe_wire *wire);
const struct probe_shares *probe_wire_shares(const struct probe_wire *wire);
const struct probe_unowned *probe_wire_others(const struct probe_wire *wire);

/* Calls that say which device is current are not all recorded: no event says it from here on. */
void probe_wire_no_devices(struct probe_wire *wire);

/* NULL: never announced, or ended long ago. Valid until the next record. */
const struct probe_thread *probe_wire_thread(const struct probe_wire *wire, uint32_t tid);
/* The same for what does not come by the ring that announces: numbers are used again, so by birth (CLOCK_BOOTTIME) too. */
const struct probe_thread *probe_wire_born(const struct probe_wire *wire, uint32_t tid,
					   uint64_t start_ns);
uint32_t probe_wire_stack(const struct probe_wire *wire, uint32_t number); /* world id, 0 unknown */
/* The same for a call, which is counted in the shares. */
uint32_t probe_wire_call_stack(struct probe_wire *wire, uint32_t number, uint32_t tgid);
/* Calls of a process (of the world) through one library file, by its number in the cookies of its probes. */
/* Whether that is so of any process that has made a call. */
bool probe_wire_caller(const struct probe_wire *wire, bool (*is)(void *ctx, uint32_t process),
		       void *ctx);
uint64_t probe_wire_delivered(const struct probe_wire *wire, uint32_t process, uint32_t copy);

/* For the decoders of records. */
struct world *probe_wire_world(const struct probe_wire *wire);
uint32_t probe_wire_node(const struct probe_wire *wire);
void probe_wire_emit(struct probe_wire *wire, const struct event *ev); /* hand it on */
void probe_wire_count(struct probe_wire *wire, uint32_t process,
		      uint32_t copy); /* delivered, one more */
void probe_wire_named(struct probe_wire *wire, uint32_t tgid, uint64_t handle, struct bytes name);
void probe_wire_unread(struct probe_wire *wire, const struct wire_unread *u);
void probe_wire_launched(struct probe_wire *wire, const struct probe_thread *t,
			 const struct event *ev); /* a call, before it is handed on */
uint32_t probe_wire_current(
	struct probe_wire *wire, const struct probe_thread *t,
	const struct event *ev); /* world ctx of a call, with the GPU current behind it */
void probe_wire_lost(struct probe_wire *wire,
		     uint32_t lost); /* a record's running count of losses, before its event */
/* What numbers of files and sockets stand for. */
/* On which CPUs a thread may run; it may be known already. */
void probe_wire_allowed(struct probe_wire *wire, const struct wire_allowed *a,
			const struct probe_thread *t);
struct probe_numbers *probe_wire_numbers(struct probe_wire *wire);
/* The name of a nameless handle was found. */
void probe_wire_found(struct probe_wire *wire, uint32_t tgid, uint32_t process, uint64_t handle,
		      struct bytes name, int64_t since_ns);
/* What kernels are called. */
struct probe_handles *probe_wire_handles(struct probe_wire *wire);
/* The id, which an event is about to name: the record is handed on before it where this file of the recording does not
 * have it. False: never told, or long ago. */
bool probe_wire_numbered(struct probe_wire *wire, uint32_t number, int64_t end_ns, uint64_t *id);
/* A process of this machine has the other end of a socket: said, and again where the socket is. False as above. */
bool probe_wire_peer(struct probe_wire *wire, uint32_t number, uint32_t tgid, const char comm[16]);
void probe_wire_say(struct probe_wire *wire, struct record *r);		   /* hand it on */
uint32_t probe_wire_socket_owner(struct probe_wire *wire, uint64_t inode); /* ctx, 0 nobody */
uint32_t probe_wire_process(const struct probe_wire *wire,
			    uint32_t tgid); /* ctx of a thread of it, 0 */
void probe_wire_asleep(struct probe_wire *wire, const struct wire_asleep *a);
bool probe_wire_gil(const struct probe_wire *wire, uint32_t tgid, uint64_t address);
bool probe_wire_nvtx(struct probe_wire *wire, const struct wire_nvtx *w, size_t n);
void probe_wire_unowned(struct probe_wire *wire, uint64_t segments); /* one more */
void probe_wire_refuse(struct probe_wire *wire); /* one more that was not understood */

/* The thread an announcement is about, without keeping it. */
struct probe_thread probe_wire_make(struct probe_wire *wire, const struct wire_thread *w);

/* Which of the programs that its process has executed. */
uint32_t probe_wire_exec(const struct probe_wire *wire, const struct probe_thread *t);
/* A thread has ended. Who it was and what it did may be told after that, and what was done for it goes on: blocks are written,
 * segments sent again. So many of them are known still; those before them are let go of by the second call of the other from
 * then on, to be made about once a second. */
#define PROBE_WIRE_TAIL 65536
void probe_wire_over(struct probe_wire *wire, const struct wire_thread *who);
void probe_wire_forget(struct probe_wire *wire);
/* Lets go of programs, stacks and counts of these processes. */
void probe_wire_gone(struct probe_wire *wire, const struct probe_gone *gone);

/* Announcements: kept until the next one about the same tid or number. */
void probe_wire_announce(struct probe_wire *wire, const struct wire_thread *w);
void probe_wire_announce_occupant(struct probe_wire *wire, const struct wire_thread *w);
bool probe_wire_announce_stack(struct probe_wire *wire, const struct wire_stack *s,
			       size_t n); /* n bytes; false: not understood */
/* Python frames of a stack that is yet to come, and the code they name. */
bool probe_wire_announce_python(struct probe_wire *wire, const struct wire_python *p, size_t n);
bool probe_wire_announce_code(struct probe_wire *wire, const void *r, size_t n);

/* The kernel's name of a task, which is not zero-terminated when it is full. */
static inline struct bytes probe_comm(const char comm[16])
{
	return (struct bytes){ comm, strnlen(comm, 16) };
}

#endif
