/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF side as seen by the recorder: programs and maps loaded once, probes put on files, targets
 * named, rings drained. The only room that knows libbpf. Nothing is pinned: when the process ends,
 * however it ends, the kernel takes everything away.
 */
#ifndef INGERO_ATTACH_SESSION_H
#define INGERO_ATTACH_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/spec.h"
#include "lib/base/err.h"
#include "lib/attach/link.h"
#include "lib/attach/ring.h"

struct probe_session;
struct probe_optionals;

struct probe_options {
	enum probe_link link; /* AUTO: the cheapest that this kernel loads */
	int walker; /* enum walker; WALKER_LOOP falls back to WALKER_HELPER by itself unless
		       walker_forced */
	bool walker_forced;
	int scope;	       /* enum scope */
	uint32_t uid;	       /* SCOPE_USER */
	uint64_t unwind_bytes; /* that tables for unwinding may take; 0: stacks by frame pointers */
	uint64_t ring_bytes;   /* power of two, 0 = 16 MB */
	bool sched;	       /* off-CPU intervals and occupancy */
	uint32_t cpu_hz;       /* targets' threads are sampled that often on each CPU; 0: not */
	bool cpu_asked;	       /* somebody asked for that: no session without */
	const char *btf;       /* a file with the kernel's BTF; NULL: the kernel's own */
	const struct op_spec *specs;
	size_t nspecs;
};

/* Loads everything. ERR_CANNOT with what to do when rights or kernel features are missing. */
int probe_session_open(struct probe_session **out, const struct probe_options *opt, struct err *e);

/* Attach what is not a user probe: life and scheduler tracepoints. Targets may be added before and
 * after. Once stopped, it may be started again. */
int probe_session_start(struct probe_session *s, struct err *e);

/* Detaches everything. Life first and calls last, so that nothing is half followed. */
void probe_session_stop(struct probe_session *s);
void probe_session_free(struct probe_session *s);

const struct probe_programs *probe_session_programs(
	const struct probe_session *s); /* for call sites */
const struct probe_programs *probe_session_hook(
	const struct probe_session *s); /* for the loader's hook */
const struct probe_programs *probe_session_freed(
	const struct probe_session *s); /* for where Python frees code objects */
const struct probe_programs *probe_session_nvtx(
	const struct probe_session *s); /* for NVTX; exit: where a function returns an id */
int probe_session_walker(const struct probe_session *s);

/* What became of the programs that not every kernel takes; see session_optional.h. */
const struct probe_optionals *probe_session_optional(const struct probe_session *s);
/* Threads are sampled that often on each CPU, once it has been started; 0: not. */
uint32_t probe_session_cpu_hz(const struct probe_session *s);
/* Block I/O of everybody but the targets since the start: the next device after *device (0: the
 * first). 0: no more. */
int probe_session_others(const struct probe_session *s, uint32_t *device, struct block_others *sum);

/* flags: enum target_flag. Adding twice keeps the exec count. */
int probe_session_target(struct probe_session *s, uint32_t tgid, uint32_t flags, struct err *e);
/* Targets named after probe_session_start: follow the threads and connections they have already.
 * Born later, they are followed from birth. One pass over all tasks and their files, for any number
 * of new targets. */
int probe_session_adopt(struct probe_session *s, struct err *e);
/* CPython runs in that process: where. Replaces what was said before; 1: that was something else,
 * so that threads the process has already are to be adopted; -1: there is no room for one more
 * process. Forgotten at its exec and exit, and inherited by its children. Nothing is kept of one
 * that is no target any more. */
int probe_session_python(struct probe_session *s, uint32_t tgid, const struct python_process *p);
/* What the kernel side knows of it. False: it has no Python that is known. */
bool probe_session_python_of(const struct probe_session *s, uint32_t tgid,
			     struct python_process *out);
/* Who on this machine has the other end of the targets' connections that came since the last look:
 * told by the ring. False: none came, and nothing was done; else it took a pass over the files of
 * all processes. */
bool probe_session_find_peers(struct probe_session *s);
/* Files and sockets get new numbers from here on, and are announced again: the caller may drop what
 * it knows of the old numbers. */
void probe_session_number_anew(struct probe_session *s);
/* That file has been read: a process that loads it is not stopped for it, unless it is probed (or
 * is a Python runtime); starts: nor one that executes it. By the kernel's numbers. */
void probe_session_known(struct probe_session *s, uint32_t device, uint64_t inode, bool probed,
			 bool starts);
bool probe_session_is_target(const struct probe_session *s, uint32_t tgid);

/* Wait until the life ring has something, the event ring is filling up, or timeout. < 0 only for
 * real errors. */
int probe_session_wait(struct probe_session *s, int timeout_ms);

/* Of the calls of op one of so many is recorded from here on (op_spec.every). */
int probe_session_every(struct probe_session *s, uint16_t op, uint16_t every, struct err *e);
/* Calls of op not recorded on that account so far. */
uint64_t probe_session_left_out(const struct probe_session *s, uint16_t op);

/* Launches of the driver that had no event because the runtime's around them has, so far, by op. */
uint64_t probe_session_folded(const struct probe_session *s, uint16_t op);
/* All of them by tier, in one pass: asked at each turn. */
void probe_session_folded_by_tier(const struct probe_session *s, uint64_t folded[SPEC_TIERS]);
/* Entries of the tier are heeded from here on, or not any more: then those open calls of it whose
 * return will not be probed are forgotten. Its links are the caller's to attach before and to
 * detach behind this. Returns since when it holds, CLOCK_MONOTONIC. */
int64_t probe_session_tier(struct probe_session *s, unsigned tier, bool on);

/* No entry is heeded any more, of all tiers at once; open calls stay open. */
void probe_session_mute(struct probe_session *s);

/* For measuring what probes cost: the programs on a function of our own, see selftest_target.h; the
 * descriptor of every program that others run, and whether it runs where calls do; a process that
 * is no target any more. */
int probe_session_trial(struct probe_session *s, struct probe_fds *fds, struct err *e);
void probe_session_each(struct probe_session *s, void (*fn)(void *ctx, int fd, bool calls),
			void *ctx);
void probe_session_forget(struct probe_session *s, uint32_t tgid);

/* Wait for something to read from this descriptor, too. */
int probe_session_watch(struct probe_session *s, int fd, struct err *e);

/* Life records to life, then event records that were there before to event. False when a record was
 * still being written. */
bool probe_session_drain(struct probe_session *s, probe_ring_fn *life, probe_ring_fn *event,
			 void *ctx);

/* Mappings of files of a process in the order of their addresses, each by the inode at the bottom,
 * which /proc need not show. False: this kernel does not tell, or the process is gone; fn may have
 * been called all the same. */
typedef bool file_mappings_fn(void *ctx, const struct wire_mapped *m);
bool probe_session_mapped(struct probe_session *s, uint32_t tgid, file_mappings_fn *fn, void *ctx);

/* Sum over CPUs of everything lost so far. */
void probe_session_losses(const struct probe_session *s, struct loss_slot *sum);
/* Distinct stacks that got a number so far, lost ones among them. */
uint32_t probe_session_stacks(const struct probe_session *s);

/* Every target thread with open calls, or off CPU: head, who it is where no record of the ring has
 * said so (else NULL), then head->ncalls calls. */
typedef void probe_open_fn(void *ctx, const struct wire_open *head, const struct wire_thread *who,
			   const struct wire_open_call *calls);
int probe_session_open_calls(struct probe_session *s, probe_open_fn *fn, void *ctx, struct err *e);

/* Every target thread that sleeps, with its wait so far; nothing without host tracks. The ring has
 * told of stacks, files and sockets, once it is drained. */
typedef void probe_still_fn(void *ctx, const struct wire_still *w);
int probe_session_asleep(struct probe_session *s, probe_still_fn *fn, void *ctx, struct err *e);

#endif
