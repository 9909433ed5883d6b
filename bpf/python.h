// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Python frames of the calling thread, with the instruction each one executes. What crosses the ring is a list of
 * (code number, place); a code object itself crosses once (python_code.h). Every frame's code object is read again
 * on each walk: memory of freed code objects is reused, and neither address nor first line tells that. CPython's
 * structs are found by the layout that the recorder has put in for the process; nothing is guessed here.
 * The steps are functions of their own ("__weak": not static), which the verifier checks once each.
 */
#ifndef INGERO_BPF_PYTHON_H
#define INGERO_BPF_PYTHON_H

#include "bpf/maps.h"

__weak struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct python_process);
} pythons SEC(".maps");

/* How often something was put there, from 1 on: a thread looks again only then. */
__weak __u32 python_changes SEC(".bss");

static __always_inline struct python_process *python_process(struct task_state *st, u32 tgid)
{
	u32 changes = *(volatile u32 *)&python_changes;
	struct python_process *p;

	if (st->python_free == changes)
		return 0;
	p = bpf_map_lookup_elem(&pythons, &tgid);
	st->python_free = p ? 0 : changes;
	return p;
}

/* Areas of python_walk's memory, in words. */
#define PY_WINDOW	0 /* part of a data stack: frames lie there side by side */
#define PY_WINDOW_WORDS 256
#define PY_SIDE		256 /* a frame that lies elsewhere */
#define PY_CODE		288 /* what tells a code object apart */
#define PY_THREAD	320 /* the start of a thread state */
#define PY_THREAD_BYTES 224
#define PY_MORE		352 /* what a code object points to */
#define PY_FILE		368
#define PY_WORDS	512
#define PY_FRAME_BYTES	112 /* enough of a frame of any version */
#define PY_FRAME_LEAST	80  /* of one on a data stack, which may end behind it */

struct python_frame {
	u64 code, print;
	u32 at, entry;
};

struct python_walk {
	u64 thread;	       /* state of this thread when it was last found by the list; 0 none */
	u64 self;	       /* what its identity field holds */
	u64 pointer;	       /* the thread pointer, 0 unknown */
	u64 interpreter, next; /* where the search in the lists stands */
	u64 depth;	       /* of the innermost state so far, when all are to be seen */
	u64 base;	       /* user address of the window */
	u64 frame;	       /* the next one */
	u64 hash;
	u64 seed;
	u64 file, file_print; /* string of the file of the frame before, and what it says */
	u32 n;
	u32 flags;
	u32 idle; /* walks to go before a thread without a state is looked for in the lists again */
	u32 every; /* the search is for all states of this thread that execute something: 1 + how many */
	u32 lost; /* what was sent last did not fit the ring */
	union {
		u64 mem[PY_WORDS];
		struct wire_code code;
		struct wire_lines lines;
	};
	struct python_frame frames[PYTHON_FRAMES_MAX];
	struct wire_python out;
};

__weak struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

/* Of each CPU, for who looks at a thread from an interrupt, which may have come in the middle of the thread's own walk. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct python_walk);
} cpu_python_walks SEC(".maps");

static __always_inline struct python_walk *python_room(struct task_struct *task,
						       enum walk_room room)
{
	u32 zero = 0;

	if (room == ROOM_OF_CPU)
		return bpf_map_lookup_elem(&cpu_python_walks, &zero);
	return bpf_task_storage_get(&python_walks, task, 0,
				    room == ROOM_MAKE ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* Index of a frame. Said in a form that 6.1's verifier keeps, and that the compiler cannot think superfluous. */
static __always_inline u32 py_index(u32 i)
{
	__asm__ volatile("" : "+r"(i));
	return i & (PYTHON_FRAMES_MAX - 1);
}

static __always_inline u64 py_word(struct python_walk *w, u32 area, u32 offset)
{
	return w->mem[(area + (offset >> 3)) & (PY_WORDS - 1)];
}

/* The thread's state at ts into its area, if it is this thread's. */
static __always_inline bool py_thread_is(struct python_process *p, struct python_walk *w, u64 ts)
{
	if (bpf_probe_read_user(&w->mem[PY_THREAD], PY_THREAD_BYTES, (void *)ts))
		return 0;
#if defined(__TARGET_ARCH_x86)
	return py_word(w, PY_THREAD, p->layout.thread_ident) == w->self;
#else
	return py_word(w, PY_THREAD, p->layout.thread_native) == w->self;
#endif
}

/* The frame that the state in its area executes; 0: none. */
static __always_inline u64 py_executes(struct python_process *p, struct python_walk *w)
{
	u64 frame = py_word(w, PY_THREAD, p->layout.thread_frame);

	if (p->layout.thread_inner && frame &&
	    bpf_probe_read_user(&frame, 8, (void *)(frame + p->layout.thread_inner - 1)))
		return 0;
	return frame;
}

/* One state of the lists. 1: found, or there are no more. */
__weak int py_search(struct python_process *p, struct python_walk *w)
{
	struct python_layout *l;
	u64 ts;

	if (!p || !w)
		return 1;
	l = &p->layout;
	ts = w->next;
	if (!ts) {
		if (!w->interpreter)
			return 1;
		if (bpf_probe_read_user(&w->next, 8,
					(void *)(w->interpreter + l->interpreter_threads)))
			return 1;
		if (bpf_probe_read_user(&w->interpreter, 8,
					(void *)(w->interpreter + l->interpreter_next)))
			w->interpreter = 0;
		return 0;
	}
	if (py_thread_is(p, w, ts)) {
		if (!w->every) {
			w->thread = ts;
			return 1;
		}
		if (py_executes(p, w)) {
			u64 depth = py_word(w, PY_THREAD, l->thread_depth);

			if (w->every++ == 1 || depth < w->depth) {
				w->thread = ts;
				w->depth = depth;
			}
		}
	}
	w->next = py_word(w, PY_THREAD, l->thread_next);
	return 0;
}

#define PY_SEARCH_MAX 512
#define PY_IDLE	      64

/* Where C libraries for x86-64 keep the first 32 thread-specific values: glibc in the thread's descriptor, 16 bytes
 * each with a sequence number in front. Another library, or a later glibc, reads something else there, which is then
 * not this thread's state, and the lists are searched. */
#define GLIBC_SPECIFIC 0x310
#define GLIBC_KEYS     32

static __always_inline void py_slot(struct python_process *p)
{
	s32 key[2]; /* is it initialized, which */

	if (bpf_probe_read_user(key, sizeof(key),
				(void *)(p->runtime + p->layout.runtime_key - 4)) == 0 &&
	    key[0] == 1 && key[1] >= 0 && key[1] < GLIBC_KEYS)
		p->slot = GLIBC_SPECIFIC + key[1] * 16 + 8;
}

__weak int py_search_all(struct python_process *p, struct python_walk *w, u64 interpreter)
{
	u32 i;

	if (!p || !w)
		return 0;
	w->thread = 0;
	w->next = 0;
	w->interpreter = interpreter;
	for (i = 0; i < PY_SEARCH_MAX; i++)
		if (py_search(p, w))
			break;
	return 0;
}

/* With more interpreters than the first one, of versions whose slot knows one state of each thread: the innermost of
 * those that execute something. True: it is in its area. */
static __always_inline bool py_innermost(struct python_process *p, struct python_walk *w)
{
	u64 ends[2]; /* the first of the list, the oldest */
	u64 thread;

	if (!p->layout.one_slot ||
	    bpf_probe_read_user(ends, sizeof(ends),
				(void *)(p->runtime + p->layout.runtime_interpreters)) ||
	    ends[0] == ends[1])
		return 0;
	w->every = 1;
	py_search_all(p, w, ends[0]);
	if (w->every > 2 && !p->layout.thread_depth)
		w->flags |= PYTHON_SEVERAL;
	w->every = 0;
	thread = w->thread;
	w->thread = 0; /* nothing to be found by next time */
	return thread && py_thread_is(p, w, thread);
}

/* This thread's state into its area. The slot first: it is right also where a thread works for several interpreters. */
static __always_inline bool py_thread(struct python_process *p, struct python_walk *w)
{
	u64 ts = 0, first;

	if (py_innermost(p, w))
		return 1;
	if (w->pointer && p->layout.runtime_key) {
		if (!p->slot)
			py_slot(p);
		if (p->slot && bpf_probe_read_user(&ts, 8, (void *)(w->pointer + p->slot)) == 0 &&
		    ts && py_thread_is(p, w, ts))
			return 1;
	}
	if (w->thread && py_thread_is(p, w, w->thread))
		return 1;
	w->thread = 0;
	if (w->idle && !ts) {
		w->idle--;
		return 0;
	}
	if (bpf_probe_read_user(&first, 8, (void *)(p->runtime + p->layout.runtime_interpreters)))
		return 0;
	py_search_all(p, w, first);
	if (!w->thread)
		w->idle = PY_IDLE;
	return w->thread != 0;
}

/* The frame at f is in memory at the returned word; PY_WORDS: unreadable. Frames of 3.11 and later lie one behind
 * the other on a data stack, older ones below younger: of a page that much is read at once. */
static __always_inline u32 py_frame_at(struct python_process *p, struct python_walk *w, u64 f)
{
	u64 from, size, off = f - w->base;

	if (w->base && off <= PY_WINDOW_WORDS * 8 - PY_FRAME_BYTES)
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
			return PY_WINDOW + ((f - from) >> 3);
		}
		w->base = 0;
	}
	if (bpf_probe_read_user(&w->mem[PY_SIDE], PY_FRAME_BYTES, (void *)f) &&
	    bpf_probe_read_user(&w->mem[PY_SIDE], PY_FRAME_LEAST, (void *)f))
		return PY_WORDS;
	return PY_SIDE;
}

#define PY_K	      0x9fb21c651e98df25ull
#define PY_LANE(a, i) a = (a ^ w->mem[PY_CODE + (i)]) * PY_K
#define PY_LANES(i)          \
	PY_LANE(a, i);       \
	PY_LANE(b, (i) + 1); \
	PY_LANE(c, (i) + 2); \
	PY_LANE(d, (i) + 3)

static __always_inline u64 py_folded(u64 a, u64 b, u64 c, u64 d, u64 code)
{
	return mix(mix(mix(a ^ a >> 32, b ^ b >> 32), mix(c ^ c >> 32, d ^ d >> 32)), code) | 1;
}

/* The start of an object that may be short, with unmapped memory behind: 64 bytes of it at most, else 16. */
static __always_inline bool py_start(struct python_walk *w, u32 at, u64 from)
{
	u32 i;

	if (bpf_probe_read_user(&w->mem[at], 64, (void *)from) == 0)
		return 1;
#pragma unroll
	for (i = 2; i < 8; i++)
		w->mem[at + i] = 0;
	return bpf_probe_read_user(&w->mem[at], 16, (void *)from) == 0;
}

/* What the code object in its area points to, in 10 words, behind reference counts and types: length, hash and first
 * bytes of the line table; hash of the name, which names always have; length, hash and, of most, first characters of
 * the file, which is mostly that of the frame before. */
static __always_inline bool py_more(struct python_process *p, struct python_walk *w)
{
	u32 from = p->layout.code_print;
	u64 file = py_word(w, PY_CODE, p->layout.code_file - from);
	u64 name = py_word(w, PY_CODE, p->layout.code_name - from);
	u64 lines = py_word(w, PY_CODE, p->layout.code_lines - from);
	u64 a = 5, b = 6, c = 7, d = 8;

	if (!py_start(w, PY_MORE, lines + 16) ||
	    bpf_probe_read_user(&w->mem[PY_MORE + 8], 8, (void *)(name + 24)))
		return 0;
	if (file != w->file) {
		if (!py_start(w, PY_FILE, file + 16))
			return 0;
		PY_LANES(PY_FILE - PY_CODE);
		PY_LANES(PY_FILE - PY_CODE + 4);
		w->file = file;
		w->file_print = py_folded(a, b, c, d, 0);
	}
	w->mem[PY_MORE + 9] = w->file_print;
	return 1;
}

/* A number that two code objects at one address do not share; 0: unreadable. Four lanes that do not wait for
 * each other. */
static __always_inline u64 py_print(struct python_process *p, struct python_walk *w, u64 code)
{
	struct python_layout *l = &p->layout;
	u64 a = 1, b = 2, c = 3, d = 4;

	if (l->entry_kind == PYTHON_ENTRY_SHIM) {
		/* Sizes, first line, the number that each code object gets for itself, names, line table. */
		if (bpf_probe_read_user(&w->mem[PY_CODE], 80, (void *)(code + l->code_print)))
			return 0;
		PY_LANES(0);
		PY_LANES(4);
		PY_LANE(a, 8);
		PY_LANE(b, 9);
		return py_folded(a, b, c, d, code);
	}
	if (bpf_probe_read_user(&w->mem[PY_CODE], 128, (void *)(code + l->code_print)))
		return 0;
	if (l->print_volatile)
		w->mem[PY_CODE + 4] &= 0xffffffff;
	PY_LANES(0);
	PY_LANES(4);
	PY_LANES(8);
	PY_LANE(a, 12);
	PY_LANE(b, 13);
	if (l->code_long) {
		PY_LANE(c, 14);
		PY_LANE(d, 15);
	}
	/* That much may be alike in two of them: what it points to counts too. */
	if (!py_more(p, w))
		return 0;
	PY_LANES(PY_MORE - PY_CODE);
	PY_LANES(PY_MORE - PY_CODE + 4);
	PY_LANE(a, PY_MORE - PY_CODE + 8);
	PY_LANE(b, PY_MORE - PY_CODE + 9);
	return py_folded(a, b, c, d, code);
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
	u64 f, code, back, at, print;
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
	print = py_print(p, w, code);
	at = py_at(p, w, word, code);
	if (!print || at > PY_AT_MAX)
		goto fault;
	w->hash = mix(mix(w->hash, print), at << 1 | (entry != 0));
	frame = &w->frames[py_index(n)];
	frame->code = code;
	frame->print = print;
	frame->at = at;
	frame->entry = entry != 0;
	w->n = n + 1;
	return 0;
fault:
	w->flags |= PYTHON_FAULT;
	return 1;
}

#define PY_SHIMS_MAX 64

/* All frames from w->frame outward. */
__weak int py_frames(struct python_process *p, struct python_walk *w)
{
	u32 i;

	if (!p || !w)
		return 0;
	for (i = 0; i < PYTHON_FRAMES_MAX + PY_SHIMS_MAX; i++)
		if (py_step(p, w))
			return 0;
	w->flags |= PYTHON_CUT;
	return 0;
}

/* Walks the thread's Python stack. NULL: no Python here, or no memory. */
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
		w->idle = 0;
	}
#if defined(__TARGET_ARCH_x86)
	w->pointer = task->thread.fsbase;
	w->self = w->pointer; /* pthread_self() of glibc and musl */
#else
	w->pointer = 0;
	w->self = task_inner_id(BPF_CORE_READ(task, thread_pid));
#endif
	w->n = 0;
	w->file = 0;
	w->base = 0;
	w->hash = seed;
	w->flags = PYTHON_PROCESS;
	if (!py_thread(p, w)) {
		w->flags |= PYTHON_NO_THREAD;
		return w;
	}
	w->frame = py_executes(p, w);
	if (!(w->flags & PYTHON_SEVERAL))
		py_frames(p, w);
	/* Interrupted anywhere, the interpreter may have been putting its frames in order: all of them or none. */
	if (room == ROOM_OF_CPU && (w->flags & PYTHON_FAULT)) {
		w->n = 0;
		w->hash = mix(seed, w->flags);
	}
	return w;
}

#endif
