// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Python thread state of the calling thread: what a walk of its frames begins at. Found by the
 * slot in which CPython keeps it for the thread, else by the lists of all states; one that does not
 * say that it is this thread's is never used. Steps of loops are functions of their own ("__weak":
 * not static), which the verifier checks once each.
 */
#ifndef INGERO_BPF_PYTHON_STATE_H
#define INGERO_BPF_PYTHON_STATE_H

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
	u64 interpreters[3];   /* the first of the list, the oldest, what the next will be called */
	u64 depth;	       /* of the innermost state so far, when all are to be seen */
	u64 base;	       /* user address of the window; 0: there is none */
	u64 last;	       /* from there, how far behind it the last whole frame may begin */
	u64 frame;	       /* the next one */
	u64 hash;
	u64 seed;
	u64 file, file_print; /* string of the file of the frame before, and what it says */
	u32 n;
	u32 flags;
	u64 none;    /* what the list began with when this thread was not in it */
	u32 idle;    /* walks to go before it is looked for in the same list again */
	u32 unbound; /* a state in the lists was nobody's yet */
	u32 every;   /* the search is for all states of this thread that execute something: 1 + how
			many */
	u32 lost;    /* what was sent last did not fit the ring */
	/* Of the code object being sent, where the string of its file, of its name and its line
	 * table stand, and how long that is. */
	u64 code_file, code_name, code_lines, lines_length;
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

/* Of each CPU, for who looks at a thread from an interrupt, which may have come in the middle of
 * the thread's own walk. */
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

/* Index of a frame. Said in a form that 6.1's verifier keeps, and that the compiler cannot think
 * superfluous. */
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
	} else if (!py_word(w, PY_THREAD, l->thread_ident)) {
		w->unbound = 1;
	}
	w->next = py_word(w, PY_THREAD, l->thread_next);
	return 0;
}

/* Loops are of stretches of this many steps each, a function of its own: the verifier follows every
 * step of a loop. */
#define PY_STRETCH 16

/* 1: as py_search. */
__weak int py_search_stretch(struct python_process *p, struct python_walk *w)
{
	u32 i;

	for (i = 0; i < PY_STRETCH; i++)
		if (py_search(p, w))
			return 1;
	return 0;
}

#define PY_SEARCH_MAX 512
#define PY_IDLE	      16

/* Where C libraries for x86-64 keep the first 32 thread-specific values: glibc in the thread's
 * descriptor, 16 bytes each with a sequence number in front. Another library, or a later glibc,
 * reads something else there, which is then not this thread's state, and the lists are searched. */
#define GLIBC_SPECIFIC 0x310
#define GLIBC_KEYS     32

#define GLIBC_DTV 8 /* of the table of a thread's modules' storage, 16 bytes each */

/* What the slot of this thread holds, 0: nothing. False: there is no telling. */
static __always_inline bool py_slot(struct python_process *p, struct python_walk *w, u64 *state)
{
	s32 key[2]; /* is it initialized, which */
	u64 at = w->pointer, pair[2], table;

	if (!w->pointer)
		return 0;
	if (p->slot_pair) {
		if (bpf_probe_read_user(pair, sizeof(pair), (void *)p->slot_pair) ||
		    bpf_probe_read_user(&table, 8, (void *)(w->pointer + GLIBC_DTV)) ||
		    bpf_probe_read_user(&at, 8, (void *)(table + pair[0] * 16)))
			return 0;
		if (at == ~0ull) {
			*state = 0; /* this thread has not had any of the module's storage yet */
			return 1;
		}
		at += pair[1];
	} else if (!p->slot && p->layout.runtime_key &&
		   bpf_probe_read_user(key, sizeof(key),
				       (void *)(p->runtime + p->layout.runtime_key - 4)) == 0 &&
		   key[0] == 1 && key[1] >= 0 && key[1] < GLIBC_KEYS) {
		p->slot = GLIBC_SPECIFIC + key[1] * 16 + 8;
	}
	if (!p->slot && !p->slot_pair)
		return 0;
	return bpf_probe_read_user(state, 8, (void *)(at + p->slot)) == 0;
}

__weak int py_search_all(struct python_process *p, struct python_walk *w, u64 interpreter)
{
	u32 i;

	if (!p || !w)
		return 0;
	w->thread = 0;
	w->next = 0;
	w->interpreter = interpreter;
	for (i = 0; i < PY_SEARCH_MAX / PY_STRETCH; i++)
		if (py_search_stretch(p, w))
			break;
	return 0;
}

/* Of several states that are this thread's, the innermost of those that execute something. True: it
 * is in its area. Where nothing says which is inside which, that is noted. */
static __always_inline bool py_innermost(struct python_process *p, struct python_walk *w)
{
	u64 thread;

	w->every = 1;
	py_search_all(p, w, w->interpreters[0]);
	if (w->every > 2 && !p->layout.thread_depth)
		w->flags |= PYTHON_SEVERAL;
	w->every = 0;
	thread = w->thread;
	w->thread = 0; /* nothing to be found by next time */
	return thread && py_thread_is(p, w, thread);
}

/* Finds this thread's state in the lists. New ones are put at the front and numbered: as long as
 * that is as it was, a thread that had none still has none. A state that is not bound to its thread
 * yet could be this one's. */
static __always_inline bool py_listed(struct python_process *p, struct python_walk *w, bool several)
{
	u64 front[2]; /* the next one's number, the first of the list */

	if (w->thread && py_thread_is(p, w, w->thread))
		return 1;
	w->thread = 0;
	if (bpf_probe_read_user(front, sizeof(front),
				(void *)(w->interpreters[0] + p->layout.interpreter_threads - 8)))
		return 0;
	front[0] = mix(mix(w->interpreters[0], front[0]), front[1]);
	if (w->none == front[0] && w->idle) {
		w->idle--;
		return 0;
	}
	w->unbound = 0;
	py_search_all(p, w, w->interpreters[0]);
	w->none = w->thread || w->unbound || several ? 0 : front[0];
	w->idle = PY_IDLE;
	return w->thread != 0;
}

/* This thread's state into its area. The slot first: it is right also where a thread works for
 * several interpreters, but for versions whose slot knows one of them only. */
static __always_inline bool py_thread(struct python_process *p, struct python_walk *w)
{
	bool several;
	u64 state;

	if (bpf_probe_read_user(w->interpreters, sizeof(w->interpreters),
				(void *)(p->runtime + p->layout.runtime_interpreters)))
		return 0;
	several = w->interpreters[0] != w->interpreters[1];
	if (several && p->layout.one_slot && py_innermost(p, w))
		return 1;
	if (py_slot(p, w, &state)) {
		if (state && py_thread_is(p, w, state)) {
			p->sound = 1;
			return 1;
		}
		if (!state && p->sound)
			return 0;
	}
	if (several && !p->layout.one_slot && py_innermost(p, w))
		return 1;
	return py_listed(p, w, several);
}

#endif
