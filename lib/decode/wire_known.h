/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the decoders of ring records know: who each announced thread is, what each stack number
 * means, how much was delivered and lost. The owner is asked only once per distinct process or
 * stack.
 */
#ifndef INGERO_DECODE_WIRE_KNOWN_H
#define INGERO_DECODE_WIRE_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpf/wire.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/decode/ended_processes.h"
#include "lib/decode/kernel_id_names.h"
#include "lib/world/world.h"

/* /proc shows start times in clock ticks; so that a process seen there and one announced by the
 * kernel are the same one, all start times are cut to them. */
#define DECODE_TICK_NS 10000000ull
static inline uint64_t decode_start(uint64_t boot_ns)
{
	return boot_ns - boot_ns % DECODE_TICK_NS;
}

struct decode_thread {
	uint32_t tid, tgid;
	uint32_t process, thread, ctx, cgroup; /* world ids */
	/* As in struct wire_thread. */
	int8_t nice, autogroup_nice;
	uint8_t policy;
	uint64_t autogroup, cpu_cgroup;
	uint32_t file; /* that said so last, counted from 1 */
};

/* What a process executes: strings of the world, 0 unknown. */
struct decode_exe {
	uint32_t exe, cmdline, comm, cgroup_path;
};

/* The Python side of a stack. */
struct decode_python_frames {
	unsigned flags; /* enum python_flag, 0: no Python process */
	const struct wire_python_frame *frame;
	unsigned n;
};

/* Of the calls handed on: how many have a stack; how many ran in Python code, and of these with all
 * of it. */
struct decode_shares {
	uint64_t calls, stacks, python, python_whole;
};

/* Retransmits of sockets that no process of the targets is known to have. */
struct decode_unowned {
	uint64_t retransmits, segments;
};

struct wire_decoder;
struct kernel_handles;

/* What the decoder asks of its owner. All but event may be NULL. */
struct wire_decoder_owner {
	void *ctx;
	void (*event)(void *ctx, const struct event *ev);
	void (*lost)(void *ctx,
		     uint64_t n); /* that many were lost between the last event and the next */
	/* What tgid executes after that many execs; called once for each. out->comm: its name then,
	 * 0 not known. */
	void (*exe)(void *ctx, uint32_t tgid, uint32_t execs, struct decode_exe *out);
	/* The path of the cgroup that tgid is in, a string of the world, 0 unknown; called once per
	 * cgroup of those that are no targets. */
	uint32_t (*cgroup)(void *ctx, uint32_t tgid);
	/* What tgid, which is no target and which the kernel calls comm, is called (both strings of
	 * the world): "python backup.py". Called when it is announced. */
	uint32_t (*program)(void *ctx, uint32_t tgid, uint32_t comm);
	/* The world stack of its addresses, 0 for none; called once per distinct stack. */
	uint32_t (*stack)(void *ctx, const struct wire_stack *s,
			  const struct decode_python_frames *python);
	/* A Python code object, or more of one. False: not understood. */
	bool (*code)(void *ctx, const struct wire_code *r, size_t n);
	bool (*lines)(void *ctx, const struct wire_lines *r, size_t n);
	/* A thread was asleep when tracing of it began: its stack may be decoded now, from records
	 * of the ring. */
	void (*asleep)(void *ctx, const struct wire_asleep *a);
	/* A FILE or SOCKET record, borrowed; before the first event of each file that names it. Or
	 * a PEER or PRIORITY record; or an ALLOWED record, which alone has its time. */
	void (*record)(void *ctx, struct record *r);
	/* An NVTX call of a thread; n bytes. False: not understood. */
	bool (*nvtx)(void *ctx, const struct decode_thread *t, const struct wire_nvtx *w, size_t n);
	/* Up to n bytes of what lay at an address of a process at that time, which a probe could
	 * not read; how many there were. */
	size_t (*bytes)(void *ctx, uint32_t tgid, uint64_t address, int64_t time_ns, void *out,
			size_t n);
	/* The process that has a socket open, by its inode: tgid, 0 none of the targets. */
	uint32_t (*socket)(void *ctx, uint64_t inode);
	/* Whether a futex is part of the lock of the process's Python interpreter. */
	bool (*gil)(void *ctx, uint32_t tgid, uint64_t address);
	/* The first record of a target process (or the first after an exec). */
	void (*process)(void *ctx, const struct wire_thread *w, uint32_t process);
	/* A process (world id) launches a kernel for the first time, at since_ns; its name, empty:
	 * it has been renamed, and the new name is unknown. */
	void (*kernel)(void *ctx, uint32_t process, uint64_t handle, struct bytes name,
		       int64_t since_ns);
	/* A handle without a name is launched for the first time: a name may be found later. */
	void (*nameless)(void *ctx, const struct decode_thread *t, uint64_t handle,
			 int64_t since_ns);
	/* As in struct cuda_devices_owner. gpu NULL: no device is followed. */
	bool (*whole)(void *ctx, uint32_t tgid);
	uint32_t (*gpu)(void *ctx, uint32_t tgid, uint32_t ordinal, const uint8_t *uuid,
			bool *later);
};

int wire_decoder_new(struct wire_decoder **out, struct world *w, uint32_t node,
		     const struct wire_decoder_owner *owner, struct err *e);
void wire_decoder_free(struct wire_decoder *wire);

/* Another file of the recording begins, with the events that ended at since_ns or later: what
 * files, sockets and kernels are called is to be said again, of those of these events at once. */
void wire_decoder_again(struct wire_decoder *wire, int64_t since_ns);

uint64_t wire_decoder_refused(const struct wire_decoder *wire);
/* Names that programs gave, and what became of them. */
struct decode_name_counts {
	uint64_t read; /* late ones among them */
	uint64_t late; /* not by the probe, whose memory was not there, but by us */
	uint64_t lost; /* nor by us */
};
/* Of kernels; of ranges and marks of NVTX. */
const struct decode_name_counts *wire_decoder_names(const struct wire_decoder *wire);
const struct decode_name_counts *wire_decoder_texts(const struct wire_decoder *wire);
const struct decode_shares *wire_decoder_shares(const struct wire_decoder *wire);
const struct decode_unowned *wire_decoder_others(const struct wire_decoder *wire);

/* Calls that say which device is current are not all recorded: no event says it from here on. */
void wire_decoder_no_devices(struct wire_decoder *wire);

/* NULL: never announced, or ended long ago. Valid until the next record. */
const struct decode_thread *wire_decoder_thread(const struct wire_decoder *wire, uint32_t tid);
/* The same for what does not come by the ring that announces: numbers are used again, so by birth
 * (CLOCK_BOOTTIME) too. */
const struct decode_thread *wire_decoder_born(const struct wire_decoder *wire, uint32_t tid,
					      uint64_t start_ns);
uint32_t wire_decoder_stack(const struct wire_decoder *wire,
			    uint32_t number); /* world id, 0 unknown */
/* The same for a call, which is counted in the shares. */
uint32_t wire_decoder_call_stack(struct wire_decoder *wire, uint32_t number, uint32_t tgid);
/* Calls of a process (of the world) through one library file, by its number in the cookies of its
 * probes. */
/* Whether that is so of any process that has made a call. */
bool wire_decoder_caller(const struct wire_decoder *wire, bool (*is)(void *ctx, uint32_t process),
			 void *ctx);
uint64_t wire_decoder_delivered(const struct wire_decoder *wire, uint32_t process, uint32_t copy);

/* For the decoders of records. */
struct world *wire_decoder_world(const struct wire_decoder *wire);
uint32_t wire_decoder_node(const struct wire_decoder *wire);
void wire_decoder_emit(struct wire_decoder *wire, const struct event *ev); /* hand it on */
void wire_decoder_count(struct wire_decoder *wire, uint32_t process,
			uint32_t copy); /* delivered, one more */
void wire_decoder_named(struct wire_decoder *wire, uint32_t tgid, uint64_t handle,
			struct bytes name);
void wire_decoder_unread(struct wire_decoder *wire, const struct wire_unread *u);
void wire_decoder_launched(struct wire_decoder *wire, const struct decode_thread *t,
			   const struct event *ev); /* a call, before it is handed on */
uint32_t wire_decoder_current(
	struct wire_decoder *wire, const struct decode_thread *t,
	const struct event *ev); /* world ctx of a call, with the GPU current behind it */
void wire_decoder_lost(struct wire_decoder *wire,
		       uint32_t lost); /* a record's running count of losses, before its event */
/* What numbers of files and sockets stand for. */
/* On which CPUs a thread may run; it may be known already. */
void wire_decoder_allowed(struct wire_decoder *wire, const struct wire_allowed *a,
			  const struct decode_thread *t);
struct kernel_id_names *wire_decoder_numbers(struct wire_decoder *wire);
/* The name of a nameless handle was found. */
void wire_decoder_found(struct wire_decoder *wire, uint32_t tgid, uint32_t process, uint64_t handle,
			struct bytes name, int64_t since_ns);
/* What kernels are called. */
struct kernel_handles *wire_decoder_handles(struct wire_decoder *wire);
/* The id, which an event is about to name: the record is handed on before it where this file of the
 * recording does not have it. False: never told, or long ago. */
bool wire_decoder_numbered(struct wire_decoder *wire, uint32_t number, int64_t end_ns,
			   uint64_t *id);
/* Who has the other ends of the sockets whose holders are known (kernel_id_names_holder) is said,
 * and again where the socket is. */
void wire_decoder_peers(struct wire_decoder *wire);
void wire_decoder_say(struct wire_decoder *wire, struct record *r);	       /* hand it on */
uint32_t wire_decoder_socket_owner(struct wire_decoder *wire, uint64_t inode); /* ctx, 0 nobody */
uint32_t wire_decoder_process(const struct wire_decoder *wire,
			      uint32_t tgid); /* ctx of a thread of it, 0 */
void wire_decoder_asleep(struct wire_decoder *wire, const struct wire_asleep *a);
bool wire_decoder_gil(const struct wire_decoder *wire, uint32_t tgid, uint64_t address);
bool wire_decoder_nvtx(struct wire_decoder *wire, const struct wire_nvtx *w, size_t n);
void wire_decoder_unowned(struct wire_decoder *wire, uint64_t segments); /* one more */
void wire_decoder_refuse(struct wire_decoder *wire); /* one more that was not understood */

/* The thread an announcement is about, without keeping it. */
struct decode_thread wire_decoder_make(struct wire_decoder *wire, const struct wire_thread *w);

/* Which of the programs that its process has executed. */
uint32_t wire_decoder_exec(const struct wire_decoder *wire, const struct decode_thread *t);
/* A thread has ended. Its announcement and events may come after that, and work for it goes on:
 * blocks are written, segments sent again. The last WIRE_DECODER_TAIL ended threads stay known;
 * older ones are dropped by the second call of wire_decoder_forget after their end. Call that about
 * once a second. */
#define WIRE_DECODER_TAIL 65536
void wire_decoder_over(struct wire_decoder *wire, const struct wire_thread *who);
void wire_decoder_forget(struct wire_decoder *wire);
/* Drops the programs, stacks and counts of these processes. */
void wire_decoder_gone(struct wire_decoder *wire, const struct gone_processes *gone);

/* Announcements: kept until the next one about the same tid or number. */
void wire_decoder_announce(struct wire_decoder *wire, const struct wire_thread *w);
void wire_decoder_announce_occupant(struct wire_decoder *wire, const struct wire_thread *w);
bool wire_decoder_announce_stack(struct wire_decoder *wire, const struct wire_stack *s,
				 size_t n); /* n bytes; false: not understood */
/* Python frames of a stack that is yet to come, and the code they name. */
bool wire_decoder_announce_python(struct wire_decoder *wire, const struct wire_python *p, size_t n);
bool wire_decoder_announce_code(struct wire_decoder *wire, const void *r, size_t n);

/* The kernel's name of a task, which is not zero-terminated when it is full. */
static inline struct bytes decode_comm(const char comm[16])
{
	return (struct bytes){ comm, strnlen(comm, 16) };
}

#endif
