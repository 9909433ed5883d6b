// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Python frames of the calling thread, with the instruction each one executes. What crosses the
 * ring is a list of (code number, place); a code object itself crosses once (python_code.h).
 * CPython's structs are found by the layout that the recorder has put in for the process; nothing
 * is guessed here.
 *
 * A walk reads the frames only: addresses of code objects and places. Those name the stack as long
 * as no code object was freed in the process, which python.bpf.c counts; the count is part of the
 * name. Under a new name every frame's code object is read again (python_print.h); the name made of
 * its contents is final.
 */
#ifndef INGERO_BPF_PYTHON_H
#define INGERO_BPF_PYTHON_H

#include "bpf/python_print.h"

/* The frame at f is in memory at the returned word; PY_WORDS: unreadable. Frames of 3.11 and later
 * lie one behind the other on a data stack, older ones below younger: of a page that much is read
 * at once. Those of coroutines lie anywhere, also above the one that was read before. */
static __always_inline u32 py_frame_at(struct python_process *p, struct python_walk *w, u64 f)
{
	u64 from, size, off = f - w->base;

	if (w->base && off <= w->last && off <= PY_WINDOW_WORDS * 8 - PY_FRAME_BYTES)
		return PY_WINDOW + (off >> 3);
	if (p->layout.at_kind == PYTHON_AT_POINTER &&
	    (!w->base || (f < w->base && w->base - f < 65536))) {
		from = f + PY_FRAME_BYTES - PY_WINDOW_WORDS * 8;
		if (from < (f & ~4095ull))
			from = f & ~4095ull;
		size = f + PY_FRAME_BYTES - from;
		__asm__ volatile("" : "+r"(size));
		if (size <= PY_WINDOW_WORDS * 8 &&
		    bpf_probe_read_user(&w->mem[PY_WINDOW], size, (void *)from) == 0) {
			w->base = from;
			w->last = f - from;
			return PY_WINDOW + ((f - from) >> 3);
		}
		w->base = 0;
	}
	if (bpf_probe_read_user(&w->mem[PY_SIDE], PY_FRAME_BYTES, (void *)f) &&
	    bpf_probe_read_user(&w->mem[PY_SIDE], PY_FRAME_LEAST, (void *)f))
		return PY_WORDS;
	return PY_SIDE;
}

/* Byte of the bytecode that a frame executes; over PY_AT_MAX: not known. */
#define PY_AT_MAX (1 << 28)
static __always_inline u64 py_at(struct python_process *p, struct python_walk *w, u32 word,
				 u64 code)
{
	struct python_layout *l = &p->layout;
	u64 at = py_word(w, word, l->frame_at), start = code + l->code_bytes;
	u32 copy = 0;

	if (l->at_kind != PYTHON_AT_POINTER) {
		if ((u32)at == 0xffffffff)
			return PY_AT_MAX; /* not begun: on the line of its def */
		return l->at_kind == PYTHON_AT_UNITS ? (u32)at * 2 : (u32)at;
	}
	if (l->frame_copy)
		copy = py_word(w, word, l->frame_copy) >> (l->frame_copy & 7) * 8;
	if (copy) {
		u64 copies = 0;

		/* Free-threaded: each thread may execute a copy of its own. */
		if (bpf_probe_read_user(&copies, 8, (void *)(code + l->code_copies)) ||
		    bpf_probe_read_user(&start, 8, (void *)(copies + 8 + 8 * (u64)copy)))
			return PY_AT_MAX + 1;
	}
	at -= start;
	if (at + 2 < 2)
		return PY_AT_MAX; /* not begun either: stands before its first instruction */
	return at < PY_AT_MAX ? at : PY_AT_MAX + 1;
}

/* One frame. 1: no more. */
__weak int py_step(struct python_process *p, struct python_walk *w)
{
	struct python_frame *frame;
	struct python_layout *l;
	u64 f, code, back, at;
	u32 word, n, entry = 0;

	if (!p || !w)
		return 1;
	l = &p->layout;
	f = w->frame;
	n = w->n;
	if (!f)
		return 1;
	word = f & 7 ? PY_WORDS : py_frame_at(p, w, f);
	if (word == PY_WORDS)
		goto fault;
	code = py_word(w, word, l->frame_code) & ~7ull;
	back = py_word(w, word, l->frame_back);
	if (l->entry_kind == PYTHON_ENTRY_EACH)
		entry = 1;
	else
		entry = (py_word(w, word, l->frame_entry) >> (l->frame_entry & 7) * 8) & 0xff;
	w->frame = back;
	if (l->entry_kind == PYTHON_ENTRY_SHIM) {
		if (entry >= 3) {
			/* Not a frame of a program: stands where C code called the interpreter. */
			if (n > 0 && n <= PYTHON_FRAMES_MAX)
				w->frames[py_index(n - 1)].entry = 1;
			w->hash = mix(w->hash, 1);
			return 0;
		}
		entry = 0;
	}
	if (n >= PYTHON_FRAMES_MAX) {
		w->flags |= PYTHON_CUT;
		return 1;
	}
	at = py_at(p, w, word, code);
	if (at > PY_AT_MAX)
		goto fault;
	w->hash = mix(mix(w->hash, code), at << 1 | (entry != 0));
	frame = &w->frames[py_index(n)];
	frame->code = code;
	frame->at = at;
	frame->entry = entry != 0;
	w->n = n + 1;
	return 0;
fault:
	w->flags |= PYTHON_FAULT;
	return 1;
}

/* 1: as py_step. */
__weak int py_step_stretch(struct python_process *p, struct python_walk *w)
{
	u32 i;

	for (i = 0; i < PY_STRETCH; i++)
		if (py_step(p, w))
			return 1;
	return 0;
}

#define PY_SHIMS_MAX 64

/* All frames from w->frame outward. */
__weak int py_frames(struct python_process *p, struct python_walk *w)
{
	u32 i;

	if (!p || !w)
		return 0;
	for (i = 0; i < (PYTHON_FRAMES_MAX + PY_SHIMS_MAX) / PY_STRETCH; i++)
		if (py_step_stretch(p, w))
			return 0;
	w->flags |= PYTHON_CUT;
	return 0;
}

/* Frame i's code object, as it is now. 1: no more. */
__weak int py_frame_print(struct python_process *p, struct python_walk *w, u32 i)
{
	struct python_frame *frame;
	u64 print;

	if (!p || !w || i >= w->n || i >= PYTHON_FRAMES_MAX)
		return 1;
	frame = &w->frames[py_index(i)];
	print = py_print(p, w, frame->code);
	if (!print) {
		w->n = i;
		w->flags |= PYTHON_FAULT;
		return 1;
	}
	frame->print = print;
	w->hash = mix(mix(w->hash, print), (u64)frame->at << 1 | (frame->entry & 1));
	return 0;
}

/* Of the frames from this one on. 1: as py_frame_print. */
__weak int py_print_stretch(struct python_process *p, struct python_walk *w, u32 from)
{
	u32 i;

	for (i = 0; i < PY_STRETCH; i++)
		if (py_frame_print(p, w, from + i))
			return 1;
	return 0;
}

/* Reads the code objects of all frames: the walk's hash is then by what they are and not by where
 * they stand. */
__weak int python_prints(struct python_process *p, struct python_walk *w)
{
	u32 i;

	if (!p || !w)
		return 0;
	w->file = 0;
	w->hash = w->seed;
	for (i = 0; i < PYTHON_FRAMES_MAX; i += PY_STRETCH)
		if (py_print_stretch(p, w, i))
			break;
	w->hash = mix(w->hash, w->flags);
	return 0;
}

#define PY_AGE_SHIFT 8 /* names made of addresses are valid for 256 ticks at most: 0.3 to 2.6 s */

/* The same, for who asked for the walk. Interrupted anywhere, the interpreter may have been putting
 * its frames in order: all of them or none. */
static __always_inline void python_read(struct python_process *p, struct python_walk *w,
					enum walk_room room)
{
	python_prints(p, w);
	if (room == ROOM_OF_CPU && (w->flags & PYTHON_FAULT)) {
		w->n = 0;
		w->hash = mix(w->seed, w->flags);
	}
}

/* As python_walk, for the thread that w describes. A function of its own, whose room on the stack
 * is free again when what was found is sent. */
__weak int py_walk(struct python_process *p, struct python_walk *w)
{
	if (!p || !w)
		return 0;
	w->n = 0;
	w->base = 0;
	/* Before anything is read: what is freed from now on is not on this stack. */
	w->hash = mix(mix(w->seed, *(volatile u64 *)&p->freed), bpf_jiffies64() >> PY_AGE_SHIFT);
	w->flags = PYTHON_PROCESS;
	if (!py_thread(p, w)) {
		w->flags |= PYTHON_NO_THREAD;
	} else {
		/* Memory of an interpreter that is gone is given back without a word about what is
		 * in it. */
		w->hash = mix(mix(w->hash, w->interpreters[0]), w->interpreters[2]);
		w->frame = py_executes(p, w);
		if (!(w->flags & PYTHON_SEVERAL))
			py_frames(p, w);
	}
	w->hash = mix(w->hash, w->flags);
	return 0;
}

/* Walks the thread's Python stack; its hash is by addresses. NULL: no Python here, or no memory. */
static __always_inline struct python_walk *python_walk(struct task_struct *task,
						       struct python_process *p, u64 seed,
						       enum walk_room room)
{
	struct python_walk *w = python_room(task, room);

	if (!w)
		return 0;
	if (w->seed != seed || room == ROOM_OF_CPU) {
		w->seed = seed; /* another program since */
		w->thread = 0;
		w->none = 0;
	}
#if defined(__TARGET_ARCH_x86)
	w->pointer = task->thread.fsbase;
	w->self = w->pointer; /* pthread_self() of glibc and musl */
#else
	w->pointer = 0;
	w->self = task_inner_id(BPF_CORE_READ(task, thread_pid));
#endif
	py_walk(p, w);
	return w;
}

#endif
