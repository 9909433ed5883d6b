/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Where things lie in one CPython, in bytes from the start of their struct. lib/symbols/python.h
 * fills it for a file, the walker in python.h goes by it: both ends are always built together.
 */
#ifndef INGERO_BPF_LAYOUT_H
#define INGERO_BPF_LAYOUT_H

#include <linux/types.h>

enum python_at { PYTHON_AT_BYTES, PYTHON_AT_UNITS, PYTHON_AT_POINTER };
enum python_entry { PYTHON_ENTRY_EACH, PYTHON_ENTRY_FLAG, PYTHON_ENTRY_SHIM };
struct python_layout {
	__u8 minor;
	__u8 at_kind;	   /* enum python_at: what frame_at holds */
	__u8 entry_kind;   /* enum python_entry: how a frame shows that C code called it */
	__u8 string_shift; /* of kind, compact and ascii in a string's state */
	__u16 runtime_interpreters, runtime_key; /* key: of the thread-specific slot; 0 none */
	__u16 interpreter_next, interpreter_threads;
	__u16 thread_next, thread_ident, thread_native, thread_frame; /* native: 0 none */
	__u16 thread_inner; /* of the frame in *thread_frame, + 1; 0: thread_frame is the frame */
	__u16 thread_depth; /* a pointer into the C stack, lower for what runs inside; 0 none */
	__u16 frame_code, frame_back, frame_at, frame_entry;
	__u16 frame_copy; /* number of the thread's own copy of the code; 0: there is one copy */
	/* What tells code objects apart: from there 80 bytes, before 3.12 112, or 128 if long. */
	__u16 code_print, code_long;
	__u16 code_line, code_file, code_name, code_lines, code_bytes;
	__u16 code_copies; /* array of the copies of the code, 0 none */
	__u16 string_length, string_state, string_ascii, string_wide;
	__u16 bytes_length, bytes_data;
	__u16 one_slot; /* 1: the slot knows one interpreter of a thread that works for several */
	__u16 print_volatile; /* 1: the upper half of word 4 of what tells code apart changes */
};

#endif
