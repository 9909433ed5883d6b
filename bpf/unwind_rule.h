/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A rule of stack unwinding as one 64-bit number: how the caller's frame is found from instruction
 * pointer, stack pointer and frame pointer. lib/symbols/unwind_table.h makes rules of a file's
 * .eh_frame, the walk in BPF goes by them: both ends are always built together.
 *
 *   bits 0-3   enum unwind_kind
 *   bits 4-5   enum unwind_fp
 *   bit  6     arm64: the return address is in the link register
 *   bit  7     arm64: the return address is signed
 *   bits 8-31  offset of the canonical frame address (CFA), signed
 *   bits 32-63 x86-64: offset of the caller's frame pointer, signed; its return address is at CFA -
 * 8 arm64: in units of 8 bytes, 16 bits for the same and 16 bits for the offset of the return
 * address from the CFA
 */
#ifndef INGERO_BPF_UNWIND_RULE_H
#define INGERO_BPF_UNWIND_RULE_H

#include <linux/types.h>

enum unwind_kind {
	UNWIND_NONE,   /* .eh_frame says nothing of these addresses */
	UNWIND_SP,     /* CFA = stack pointer + offset */
	UNWIND_BP,     /* CFA = frame pointer + offset */
	UNWIND_DBP,    /* CFA = the word at frame pointer + offset: a realigned stack */
	UNWIND_PLT,    /* CFA = stack pointer + 8, + 16 from so many bytes into a 16-byte stub as
			  offset says */
	UNWIND_SIGNAL, /* the interrupted SP is at stack pointer + offset, in a ucontext */
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

/* What is shared with the walk (bpf/unwind.h), besides rules. Of each process that has tables, by
 * slot: */
#define UNWIND_PROCESSES 4096
#define UNWIND_MODULES	 8192
struct unwind_process {
	__u32 tgid;	/* 0: the slot is free, or is being taken */
	__u32 changes;	/* of what is mapped, as far as the loader tells; counted by BPF */
	__u32 removals; /* the same, of those that may take away what the list has */
	__u32 looked;	/* changes when the list was made: as long as it is another number there is
			   more than the list has */
	__u32 kept; /* removals when the list was made: as long as it is another number the list may
		       be wrong */
	__u32 ended; /* told by BPF: the recorder gives the slot back */
	__u32 pad;
	__u64 list; /* UNWIND_LIST; 0: none yet */
};

/* Counts of stacks that were walked by tables, and of rules of their frames that no cache had. */
struct unwind_counts {
	__u64 walks, searched;
};

/* A list of mappings, of one process or of several that map the same: the first entry has the
 * number of those behind it in start and the list's generation in end; they are sorted by address.
 * Lists and tables lie in chunks, which are maps within maps. */
struct unwind_mapping {
	__u64 start, end;
	__u64 bias;	 /* added to an address as linked */
	__u32 module;	 /* 0: in no file */
	__u32 serial;	 /* of the module: where its table is another's may be later */
	__u32 chunk, at; /* where its table begins */
};
#define UNWIND_GENERATION_BITS 30 /* of 1 on: no two lists have the same */
/* Where a list is, and its generation. */
#define UNWIND_LIST(chunk, at, generation) ((at) | (__u64)(chunk) << 16 | (__u64)(generation) << 32)
#define UNWIND_LIST_CHUNK(list)		   ((__u32)(list) >> 16)
#define UNWIND_LIST_AT(list)		   ((__u32)(list)&0xffff)
#define UNWIND_LIST_GENERATION(list)	   ((__u32)((list) >> 32))
#define UNWIND_LIST_CHUNKS		   64
#define UNWIND_TABLE_CHUNKS		   4096
#define UNWIND_MAPPINGS_MAX		   4096
#define UNWIND_NO_TABLE			   0xffffffff /* as a module: a file that has none (yet) */

/* A module's table, as u64: its base, its number of pages and above that its serial, then two to
 * each the u32 of pages and rows of struct unwind_table. */
#define UNWIND_HEAD 2

/* Why a stack ends where it does: a mask. */
enum unwind_end {
	UNWIND_ENDS = 1 << 0,	     /* at the start of a thread or of the program */
	UNWIND_CUT = 1 << 1,	     /* it is deeper than what was recorded */
	UNWIND_GUESSED = 1 << 2,     /* a frame of it was found by the frame pointer alone */
	UNWIND_TABLELESS = 1 << 3,   /* in a file that has no table */
	UNWIND_UNKNOWN = 1 << 4,     /* at an instruction whose rule is not followed, or no code */
	UNWIND_FAULT = 1 << 5,	     /* its memory could not be read */
	UNWIND_STUCK = 1 << 6,	     /* the next frame would not be further out */
	UNWIND_CHANGING = 1 << 7,    /* what is mapped was changing: any frame may be wrong */
	UNWIND_BY_POINTERS = 1 << 8, /* found by frame pointers alone: frames may be left out */
	/* Something was removed, or the list replaced, since the list was made: the recorder finds
	   out whether a frame was in that. */
	UNWIND_UNSURE = 1 << 9,
};

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
