// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stack of a call that just returned, native by frame pointers and Python's (python.h), as a
 * number: what stands in it crosses the ring once per distinct stack. Own walk: the user stack is
 * copied in windows of 4 KB and followed inside the copy (about 4 ns a frame, against 35 ns for a
 * guarded read each). Where the kernel has no bpf_loop, its own bpf_get_task_stack does it. Either
 * way the trampoline addresses that return probes leave in the frames of outer probed calls are
 * replaced by the callers remembered at their entry.
 */
#ifndef INGERO_BPF_STACK_H
#define INGERO_BPF_STACK_H

#include "bpf/python_code.h"
#include "bpf/regs.h"
#include "bpf/unwind.h"

/* Of each CPU, see cpu_python_walks. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct walk);
} cpu_walks SEC(".maps");

/* Hash of a stack to its number; of a stack with Python frames, also the hash by addresses
 * (python.h). Evicting an old one only means that it is sent again. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, u32);
} seen SEC(".maps");

struct walk_at {
	struct walk *w;
	struct task_state *st;
};

#define FRAME_STEP_MAX (1 << 20) /* no frame is larger: a wilder frame pointer is not one */

/* The stack from bp on, as far as one copy reaches; two words at least. */
static __always_inline bool walk_copy(struct walk *w, u64 bp)
{
	u64 base = bp, end = bp + WALK_WINDOW;

	w->most = WALK_WINDOW - 16;
	if (w->limit && end > w->limit)
		base = (bp | 4095) + 1 - WALK_WINDOW;
	if (bpf_probe_read_user(w->window, WALK_WINDOW, (void *)base)) {
		/* The end of the stack's mapping lies in between: from now on stay below that page.
		 */
		w->limit = (end - 1) & ~4095ull;
		base = (bp | 4095) + 1 - WALK_WINDOW;
		if (bpf_probe_read_user(w->window, WALK_WINDOW, (void *)base))
			return 0;
	}
	if (bp - base > w->most) {
		/* The pair straddles two pages. */
		w->most = 0;
		base = bp;
		if (bpf_probe_read_user(w->window, 16, (void *)base))
			return 0;
	}
	w->base = base;
	return 1;
}

/* A few frames a call: on kernels that hide from speculation, returning from a function costs more
 * than a frame. */
#define WALK_STEPS 8
static long walk_steps(u32 i, struct walk_at *at)
{
	struct walk *w = at->w;
	u64 bp = w->bp, hash = w->hash, next, address, off;
	u32 n = w->n, k;
	long done = 1;

	if (bp - w->base > w->most && !walk_copy(w, bp)) {
		w->ends = UNWIND_BY_POINTERS | UNWIND_FAULT;
		return 1;
	}
#pragma unroll
	for (k = 0; k < WALK_STEPS; k++) {
		off = bp - w->base;
		if (off > w->most)
			break;
		off >>= 3;
		next = w->window[off & (WALK_WINDOW / 8 - 1)];
		address = w->window[(off & (WALK_WINDOW / 8 - 1)) + 1];
		address = return_address(w, at->st, bp + 8, CODE_ADDRESS(address));
		if (address < 4096)
			goto out;
		if (n >= WIRE_STACK_MAX) {
			w->ends = UNWIND_BY_POINTERS | UNWIND_CUT;
			goto out;
		}
		/* Said again in a form that 6.1's verifier keeps: it forgets bounds known of a copy
		 * of n. */
		__asm__ volatile("" : "+r"(n));
		w->record.ip[n & (WIRE_STACK_MAX - 1)] = address;
		hash = mix(hash, address);
		n++;
		if (next <= bp || (next & 7) || next - bp > FRAME_STEP_MAX)
			goto out;
		bp = next;
	}
	done = 0;
out:
	w->bp = bp;
	w->hash = hash;
	w->n = n;
	return done;
}

/* As sysctl kernel.perf_event_max_stack has it. */
#define HELPER_MOST 127

/* Kernels without bpf_loop. */
static __always_inline void walk_helper(struct task_struct *task, struct walk *w,
					struct task_state *st)
{
	long bytes = bpf_get_task_stack(task, w->record.ip, HELPER_MOST * 8, BPF_F_USER_STACK);
	u32 i;

	w->n = bytes > 0 ? (u64)bytes >> 3 : 0;
	w->ends = UNWIND_BY_POINTERS | (w->n >= HELPER_MOST ? UNWIND_CUT : 0);
	for (i = 0; i < HELPER_MOST; i++) {
		u64 address;

		if (i >= w->n)
			break;
		address = w->record.ip[i];
		/* Newer kernels have put the true caller back already; then nothing stands at a
		 * page start. */
		if (!(address & 0xfff)) {
			u32 outer = w->outer - 1;

			if (outer < CALLS_OPEN_MAX) {
				w->outer = outer;
				address = st->open[outer].ret;
				w->record.ip[i] = address;
			}
		}
		w->hash = mix(w->hash, address);
	}
}

/* Where the innermost open call returns to, of which the kernel keeps account: newest first, before
 * it only calls that were left by a jump. Asked for when something inside it is about to need that,
 * not at its entry. */
#define RETURNS_LOOK 6
static __always_inline void caller_learn(struct uprobe_task *utask, struct task_state *st)
{
	struct call_open *call = &st->open[(st->ncalls - 1) & (CALLS_OPEN_MAX - 1)];
	struct return_instance *r;
	u64 sp = call->sp;
	u32 k;

	if (CALLER_AT_ENTRY || call->ret)
		return;
	r = utask->return_instances;
#pragma unroll
	for (k = 0; k < RETURNS_LOOK; k++)
		if (r->stack != sp)
			r = r->next;
	if (r->stack == sp)
		call->ret = r->orig_ret_vaddr;
}

/* Number of the stack of this hash; 0: not met yet, or forgotten. */
static __always_inline u32 stack_known(struct walk *w, u64 hash)
{
	u32 at = hash & (WALK_KNOWN - 1), *known;

	if (w->known[at] && w->known_hash[at] == hash)
		return w->known[at];
	known = bpf_map_lookup_elem(&seen, &hash);
	if (!known)
		return 0;
	w->known_hash[at] = hash;
	w->known[at] = *known;
	return *known;
}

/* Sends the stack under a number of its own; 0: the ring is full. */
static __always_inline u32 stack_tell(struct walk *w, struct python_process *process,
				      struct python_walk *python, u32 tgid)
{
	u32 n = w->n, id = __sync_fetch_and_add(&stack_number, 1) + 1;
	u64 hash = w->hash, size;

	/* Asked of the pointer itself: 5.15's verifier forgets an answer that the compiler keeps in
	 * half a word. */
	__asm__ volatile("" : "+r"(python));
	if (python && !python_send(process, python, id, tgid))
		goto lost;
	w->record.kind = WIRE_STACK;
	w->record.python = python ? python->flags : 0;
	w->record.ends = w->ends;
	w->record.list = w->list >> 32;
	w->record.removals = w->removals;
	w->record.n = n;
	w->record.id = id;
	w->record.tgid = tgid;
	size = WIRE_STACK_HEAD + n * 8;
	if (size > sizeof(w->record))
		return 0;
	if (bpf_ringbuf_output(&ring, &w->record, size, ring_flags()))
		goto lost;
	bpf_map_update_elem(&seen, &hash, &id, BPF_ANY);
	return id;
lost:
	/* The call goes without; not remembered, so the next one tries again. */
	count_untold(WIRE_UNTOLD_STACK);
	return 0;
}

/* Number of the current thread's stack from the registers in w, see stack_number_of. A function of
 * its own that the verifier checks once: it takes the greater part of checking a program. */
__weak __noinline u32 stack_walk(struct walk *w, struct task_state *st, u32 room, u32 exact)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct python_walk *python;
	struct python_process *process;
	u32 id, tgid = task->tgid;
	u64 quick = 0;

	if (!w || !st)
		return 0;
	w->outer = st->ncalls;
	w->hash = st->seed;
	w->ends = 0;
	w->list = 0;
	if (config_unwind && unwind_walk(w, st, tgid, exact)) {
		/* done */
	} else if (config_walker == WALKER_LOOP) {
		struct walk_at at = { .w = w, .st = st };
		u64 bp = w->bp, sp = w->sp;

		w->record.ip[0] = w->ip;
		w->hash = mix(w->hash, w->ip);
		w->n = 1;
		if (config_unwind && w->link)
			bp = unwind_first(w, st, tgid, w->ip, sp, bp, w->link);
		w->bp = bp;
		w->base = bp + 8; /* nothing copied yet */
		w->most = 0;
		/* Where a frame pointer leads nowhere, unless the walk says otherwise. */
		w->ends = UNWIND_BY_POINTERS | UNWIND_STUCK;
		if (!(bp & 7) && bp >= sp && bp - sp <= FRAME_STEP_MAX)
			bpf_loop(WIRE_STACK_MAX, walk_steps, &at, 0);
	} else {
		walk_helper(task, w, st);
	}
	if (w->n == 0 || w->n > WIRE_STACK_MAX)
		return 0;
	process = python_process(st, tgid);
	python = process ? python_walk(task, process, st->seed, room) : 0;
	if (python) {
		if (process->counted) {
			quick = mix(w->hash, python->hash);
			id = stack_known(w, quick);
			if (id)
				return id;
		}
		python_read(process, python, room);
		w->hash = mix(w->hash, python->hash);
	}
	id = stack_known(w, w->hash);
	if (!id)
		id = stack_tell(w, process, python, tgid);
	if (id && quick && !(python->flags & PYTHON_AGAIN))
		bpf_map_update_elem(&seen, &quick, &id, BPF_ANY);
	return id;
}

/* Number of the current thread's stack with these registers; 0: none. All st->ncalls open calls are
 * somewhere on it. link: 0 where the innermost function has called another, and so has a frame. */
static __always_inline u32 stack_number_of(struct walk *w, u64 ip, u64 sp, u64 bp, u64 link,
					   struct task_state *st, enum walk_room room, bool exact)
{
	w->ip = ip;
	w->sp = sp;
	w->bp = bp;
	w->link = link;
	return stack_walk(w, st, room, exact);
}

/* Where the thread was in its own code, as a return address: behind the current instruction. It may
 * be in the middle of anything, of our own programs too, so the walk's buffer is the CPU's. */
static __always_inline u32 stack_of_interrupted(struct task_struct *task, struct task_state *st)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct walk *w;
	u32 zero = 0;

	w = bpf_map_lookup_elem(&cpu_walks, &zero);
	if (!w || !regs || config_walker == WALKER_NONE)
		return 0;
	w->limit = 0; /* another thread's */
	w->slot_epoch = unwind_epoch - 1;
	if (st->ncalls)
		caller_learn(task->utask, st);
	return stack_number_of(w, REGS_IP(regs) + 1, REGS_SP(regs), REGS_FP(regs), REGS_LINK(regs),
			       st, ROOM_OF_CPU, 0);
}

/* At a return; the call itself is no longer among the open ones. */
static __always_inline u32 stack_at_return(struct pt_regs *ctx, struct task_state *st)
{
	return stack_number_of(&st->walk, REGS_IP(ctx), REGS_SP(ctx), REGS_FP(ctx), 0, st,
			       ROOM_MAKE, 0);
}

#endif
