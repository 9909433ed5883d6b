/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The table that programs on functions work by: where the columns of each op come from, among a
 * call's arguments and what they point to. lib/attach/spec.h makes it from formats/ops.def,
 * fields.h reads it: both ends are always built together.
 */
#ifndef INGERO_BPF_SPEC_H
#define INGERO_BPF_SPEC_H

#include "bpf/wire.h"

/* Where the columns of an op come from: index into the table is the low half of the probe's cookie.
 * Above it is the number of the probe's library file; those that do not fit share the last one. */
#define COOKIE_COPY_MAX	  1023
#define COOKIE_COPY(i)	  ((__u64)((i) < COOKIE_COPY_MAX ? (i) : COOKIE_COPY_MAX) << 32)
#define COOKIE_TO_COPY(c) ((__u32)((c) >> 32))
#define COOKIE_TO_SPEC(c) ((__u32)(c))
enum field_kind {
	FIELD_NONE,
	FIELD_WORD, /* word a */
	FIELD_LOW,  /* its low half */
	FIELD_HIGH,
	FIELD_OUT, /* b bytes behind where word a points to, at return */
	FIELD_OUT_LOW,
	FIELD_CONST,	  /* a */
	FIELD_SHAPE,	  /* x and y in word a, z in the low half of the next */
	FIELD_SHAPE_HIGH, /* x in the high half of word a, y and z in the next */
	FIELD_SHAPE_ARGS, /* x, y, z in the low halves of three words */
	FIELD_PRODUCT2,	  /* words a, b and the number c */
	FIELD_PRODUCT3,	  /* three words from a on */
	FIELD_TIMES,	  /* word a and the number c */
	FIELD_COPY_KIND,  /* from CUmemorytype in the low halves of words a and b */
	FIELD_SUM,	  /* of the word b numbers that word a points to */
	FIELD_NCCL_BYTES, /* word a elements of type word b */
	FIELD_SEQUENCE,	  /* of communicator word a */
	FIELD_RANK,
};
struct field_spec {
	__u8 kind;
	__u8 a, b, c;
};

/* Words a field can name: arguments, then the window of what one of them points to. */
#define WORD_WINDOW	 16
#define WORD_WINDOW_SIZE 24
#define WORDS		 64 /* a power of two, so that an index is in bounds by a mask */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define WORD_STACK 8 /* first argument on the stack */
#else
#define WORD_STACK 6
#endif
#define WORD_STACK_SIZE 3

enum spec_flag {
	SPEC_STACK = 1 << 0,  /* some column comes from the stack */
	SPEC_NAMES = 1 << 1,  /* word text points to the name of handle, see below */
	SPEC_SILENT = 1 << 2, /* no event: handle is a word at entry, else a column at return */
	SPEC_COMM_BEGINS = 1 << 3, /* columns 0, 1 and 2 are communicator, rank and ranks */
	SPEC_COMM_ENDS = 1 << 4,   /* column 0 is the communicator */
	SPEC_PLAIN =
		1 << 5, /* at most PLAIN_FIELDS columns, each a register argument or its low half */
	SPEC_AT_ENTRY = 1 << 6, /* its return tells nothing more than its result */
	SPEC_FOLDS =
		1 << 7, /* the driver's inside the runtime's of its tier has no event of its own */
};
#define PLAIN_FIELDS 3
#define SPEC_NONE    65535
#define SPECS_MAX    512
struct op_spec {
	__u16 op;
	__u8 nfields;
	__u8 flags;
	__u8 window_arg;
	__u8 window_at;
	__u8 window_bytes;
	__u8 handle;
	__u8 text;
	__u8 tier;   /* enum op_tier of event/tier.h */
	__u16 every; /* 0, 1: each call is recorded; n: one of n; SPEC_NONE: none */
	struct field_spec field[SPEC_FIELDS];
};

/* Of a spec: calls made, and calls not recorded on purpose since that began; calls folded into the
 * enclosing call's event. */
struct spec_passed {
	__u64 seen, left_out;
	__u64 folded;
};

/* Tiers whose probes come and go while the recording goes on. */
#define SPEC_TIERS 8

#endif
