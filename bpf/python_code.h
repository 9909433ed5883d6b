// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Code objects and Python stacks across the ring. Done only for stacks not seen before, so it may
 * take its time. A code object counts as known once all of it was sent: what did not fit the ring
 * is sent again next time.
 */
#ifndef INGERO_BPF_PYTHON_CODE_H
#define INGERO_BPF_PYTHON_CODE_H

#include "bpf/python.h"

/* Fingerprint to number. Evicting an old one only means that it is sent again. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, u32);
} codes SEC(".maps");

__weak __u32 code_number SEC(".bss"); /* last one given */

/* Up to room bytes of the string at str. How many; *width 0: not readable. */
static __always_inline u32 py_text(struct python_layout *l, u64 str, char *out, u64 room, bool tail,
				   u8 *width)
{
	u64 length = 0, bytes;
	u32 state = 0, shift = 2 + l->string_shift, kind;

	*width = 0;
	if (bpf_probe_read_user(&length, 8, (void *)(str + l->string_length)) ||
	    bpf_probe_read_user(&state, 4, (void *)(str + l->string_state)))
		return 0;
	state >>= shift;
	kind = state & 7;
	if (!(state & 8) || kind == 0 || kind > 4 || length > 1 << 20)
		return 0;
	str += state & 16 ? l->string_ascii : l->string_wide;
	bytes = length * kind;
	if (bytes > room) {
		if (tail)
			str += bytes - room;
		bytes = room;
		kind |= WIRE_TEXT_CUT;
	}
	__asm__ volatile("" : "+r"(bytes));
	if (bytes > room || bpf_probe_read_user(out, bytes, (void *)str))
		return 0;
	*width = kind;
	return bytes;
}

/* One more piece of the line table. 0: sent. */
__weak int py_lines(struct python_walk *w, u32 id, u32 offset)
{
	u64 n;

	if (!w || offset >= w->lines_length)
		return 1;
	n = w->lines_length - offset;
	if (n > WIRE_LINES_MAX)
		n = WIRE_LINES_MAX;
	__asm__ volatile("" : "+r"(n));
	if (n > WIRE_LINES_MAX ||
	    bpf_probe_read_user(w->lines.data, n, (void *)(w->code_lines + offset)))
		return 1;
	w->lines.kind = WIRE_LINES;
	w->lines.pad[0] = w->lines.pad[1] = w->lines.pad[2] = 0;
	w->lines.id = id;
	w->lines.offset = offset;
	w->lines.n = n;
	n += WIRE_LINES_HEAD;
	w->lost = bpf_ringbuf_output(&ring, &w->lines, n, ring_flags()) != 0;
	return w->lost;
}

/* Number of frame i's code; 0: it could not be read or sent. */
static __always_inline u32 py_code(struct python_process *p, struct python_walk *w, u32 i, u32 tgid)
{
	u64 code, print, n;
	struct python_layout *l;
	u32 *known, id, k;
	u8 width;

	if (!p || !w || i >= PYTHON_FRAMES_MAX)
		return 0;
	l = &p->layout;
	code = w->frames[py_index(i)].code;
	print = mix(w->frames[py_index(i)].print, w->seed);
	known = bpf_map_lookup_elem(&codes, &print);
	if (known)
		return *known;
	if (bpf_probe_read_user(&w->code_file, 8, (void *)(code + l->code_file)) ||
	    bpf_probe_read_user(&w->code_name, 8, (void *)(code + l->code_name)) ||
	    bpf_probe_read_user(&w->code_lines, 8, (void *)(code + l->code_lines)) ||
	    bpf_probe_read_user(&w->code.first_line, 4, (void *)(code + l->code_line)) ||
	    bpf_probe_read_user(&w->lines_length, 8, (void *)(w->code_lines + l->bytes_length)))
		return 0;
	if (w->lines_length > WIRE_CODE_LINES_MAX)
		w->lines_length = WIRE_CODE_LINES_MAX;
	w->code_lines += l->bytes_data;
	id = __sync_fetch_and_add(&code_number, 1) + 1;
	w->code.kind = WIRE_CODE;
	w->code.minor = l->minor;
	w->code.id = id;
	w->code.tgid = tgid;
	w->code.lines_bytes = w->lines_length;
	w->code.file_bytes = py_text(l, w->code_file, w->code.file, WIRE_FILE_MAX, 1, &width);
	w->code.file_width = width;
	w->code.name_bytes = py_text(l, w->code_name, w->code.name, WIRE_NAME_MAX, 0, &width);
	w->code.name_width = width;
	n = w->lines_length < WIRE_LINES_MAX ? w->lines_length : WIRE_LINES_MAX;
	__asm__ volatile("" : "+r"(n));
	if (n > WIRE_LINES_MAX || bpf_probe_read_user(w->code.lines, n, (void *)w->code_lines))
		return 0;
	n += WIRE_CODE_HEAD;
	if (n > sizeof(w->code))
		return 0;
	w->lost = bpf_ringbuf_output(&ring, &w->code, n, ring_flags()) != 0;
	if (w->lost)
		return 0;
	for (k = 1; k < WIRE_CODE_LINES_MAX / WIRE_LINES_MAX; k++) {
		if (k * WIRE_LINES_MAX >= w->lines_length)
			break;
		if (py_lines(w, id, k * WIRE_LINES_MAX))
			return 0;
	}
	bpf_map_update_elem(&codes, &print, &id, BPF_ANY);
	return id;
}

/* Puts frame i into the record. 1: no more, or its code could not be read or sent. */
__weak int py_tell(struct python_process *p, struct python_walk *w, u32 i, u32 tgid)
{
	u32 id;

	if (!p || !w || i >= w->n || i >= PYTHON_FRAMES_MAX)
		return 1;
	id = py_code(p, w, i, tgid);
	if (!id) {
		w->flags |= PYTHON_UNKNOWN;
		return 1;
	}
	i = py_index(i);
	w->out.frame[i].code = id;
	w->out.frame[i].at = w->frames[i].at << 1 | (w->frames[i].entry & 1);
	return 0;
}

__weak int py_tell_all(struct python_process *p, struct python_walk *w, u32 tgid)
{
	u32 i;

	if (!p || !w)
		return 0;
	/* Not in stretches: one function more would need more stack than there is. */
	for (i = 0; i < PYTHON_FRAMES_MAX; i++)
		if (py_tell(p, w, i, tgid))
			break;
	return 0;
}

/* The frames of the stack that gets this number. False: the ring is full. */
static __always_inline bool python_send(struct python_process *p, struct python_walk *w, u32 id,
					u32 tgid)
{
	u64 n = w->n;

	w->lost = 0;
	if (n == 0)
		return 1;
	py_tell_all(p, w, tgid);
	if (w->flags & PYTHON_UNKNOWN)
		return !w->lost;
	w->out.kind = WIRE_PYTHON;
	w->out.pad[0] = w->out.pad[1] = w->out.pad[2] = 0;
	w->out.id = id;
	w->out.tgid = tgid;
	w->out.n = n;
	n = WIRE_PYTHON_HEAD + n * sizeof(struct wire_python_frame);
	__asm__ volatile("" : "+r"(n));
	if (n > sizeof(w->out))
		return 0;
	return bpf_ringbuf_output(&ring, &w->out, n, ring_flags()) == 0;
}

#endif
