/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A rule of stack unwinding as one 64-bit number: how the caller's frame is found from instruction pointer, stack pointer
 * and frame pointer. lib/sym/unwind_table.h makes rules of a file's .eh_frame, the walk in BPF goes by them: both ends are
 * always built together.
 *
 *   bits 0-3   enum unwind_kind
 *   bits 4-5   enum unwind_fp
 *   bit  6     arm64: the return address is in the link register
 *   bit  7     arm64: the return address is signed
 *   bits 8-31  offset of the canonical frame address (CFA), signed
 *   bits 32-63 x86-64: offset of the caller's frame pointer, signed; its return address is at CFA - 8
 *              arm64: in units of 8 bytes, 16 bits for the same and 16 bits for the offset of the return address from the CFA
 */
#ifndef INGERO_BPF_UNWIND_RULE_H
#define INGERO_BPF_UNWIND_RULE_H

#include <linux/types.h>

enum unwind_kind {
	UNWIND_NONE, /* .eh_frame says nothing of these addresses */
	UNWIND_SP,   /* CFA = stack pointer + offset */
	UNWIND_BP,   /* CFA = frame pointer + offset */
	UNWIND_DBP,  /* CFA = the word at frame pointer + offset: a realigned stack */
	UNWIND_PLT, /* CFA = stack pointer + 8, + 16 from so many bytes into a 16-byte stub as offset says */
	UNWIND_SIGNAL, /* the interrupted stack pointer is at stack pointer + offset, in a ucontext */
	UNWIND_END,    /* nobody called this: start of a thread or of the program */
	UNWIND_BAD,    /* anything else, which is not followed */
};

enum unwind_fp {
	UNWIND_FP_SAME, /* the caller's frame pointer is in its register still */
	UNWIND_FP_CFA,	/* at CFA + offset */
	UNWIND_FP_BP,	/* at frame pointer + offset */
	UNWIND_FP_LOST,
};

#define UNWIND_IN_LINK 0x40
#define UNWIND_SIGNED  0x80

#define UNWIND_CFA_MAX 0x7fffff /* of 24 bits */

static inline __u64 unwind_rule(enum unwind_kind kind, enum unwind_fp fp, __s32 cfa,
				__s32 fp_offset)
{
	return (__u32)kind | (__u32)fp << 4 | (__u32)cfa << 8 | (__u64)(__u32)fp_offset << 32;
}

static inline __u32 unwind_rule_kind(__u64 rule)
{
	return rule & 15;
}

static inline __u32 unwind_rule_fp(__u64 rule)
{
	return rule >> 4 & 3;
}

static inline __s32 unwind_rule_cfa(__u64 rule)
{
	return (__s32)(__u32)rule >> 8;
}

static inline __s32 unwind_rule_fp_offset(__u64 rule)
{
	return (__s32)(rule >> 32);
}

/* arm64 */
static inline __s32 unwind_rule_fp_offset_arm64(__u64 rule)
{
	return (__s16)(rule >> 32) * 8;
}

static inline __s32 unwind_rule_ra_offset(__u64 rule)
{
	return (__s16)(rule >> 48) * 8;
}

#endif
