// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What tells Python's code objects apart. Memory of freed ones is reused, and neither address nor
 * first line tells that: read is what an object says of itself and, before 3.12, the start of what
 * it points to.
 */
#ifndef INGERO_BPF_PYTHON_PRINT_H
#define INGERO_BPF_PYTHON_PRINT_H

#include "bpf/python_state.h"

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

/* The start of an object that may be short, with unmapped memory behind: 64 bytes of it at most,
 * else 16. */
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

/* What the code object in its area points to, in 10 words, behind reference counts and types:
 * length, hash and first bytes of the line table; hash of the name, which names always have;
 * length, hash and, of most, first characters of the file, which is mostly that of the frame
 * before. */
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

/* A number that two code objects at one address do not share; 0: unreadable. Four lanes that do not
 * wait for each other. */
static __always_inline u64 py_print(struct python_process *p, struct python_walk *w, u64 code)
{
	struct python_layout *l = &p->layout;
	u64 a = 1, b = 2, c = 3, d = 4;

	if (l->entry_kind == PYTHON_ENTRY_SHIM) {
		/* Sizes, first line, the number that each code object gets for itself, names, line
		 * table. */
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

#endif
