// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a calling convention puts where, for the architectures we record on: the registers a probe
 * sees, the arguments, caller and result of the function it is on, addresses of code as they are
 * stored. Register frames are fixed by each architecture's ABI, so nothing of this is relocated.
 * Compiles in user space too, where a test makes calls of its own and looks at them through this.
 */
#ifndef INGERO_BPF_REGS_H
#define INGERO_BPF_REGS_H

#include "bpf/kernel.h"
#include "bpf/spec.h"

#if defined(__TARGET_ARCH_x86)

/* Arguments by number; from WORD_STACK on they are on the stack. */
static __always_inline void call_words(struct pt_regs *ctx, u64 *word)
{
	word[0] = ctx->di;
	word[1] = ctx->si;
	word[2] = ctx->dx;
	word[3] = ctx->cx;
	word[4] = ctx->r8;
	word[5] = ctx->r9;
}
/* Whether the caller is worth remembering at entry. Here it lies in user memory, which costs a
 * sixth of a call to read: the kernel remembers it too, see stack.h. */
#define CALLER_AT_ENTRY	    0
#define RETURN_POPS	    8 /* the return instruction took the address off the stack */
#define CODE_ADDRESS(value) (value)

/* At entry: the first arguments on the stack. */
static __always_inline void call_stack_words(struct pt_regs *ctx, u64 *word)
{
	bpf_probe_read_user(word, WORD_STACK_SIZE * sizeof(*word), (void *)(ctx->sp + 8));
}

/* At entry: where the function will return to. */
static __always_inline u64 call_caller(struct pt_regs *ctx)
{
	u64 v = 0;

	bpf_probe_read_user(&v, sizeof(v), (void *)ctx->sp);
	return v;
}

/* The thread is at a breakpoint, such as a probe is. */
static __always_inline bool is_at_breakpoint(struct pt_regs *regs)
{
	u8 code[2] = {};

	/* int3, behind which it goes on until the kernel has set it back. */
	return regs && !bpf_probe_read_user(code, sizeof(code), (void *)(regs->ip - 1)) &&
	       (code[0] == 0xcc || code[1] == 0xcc);
}

/* The thread was interrupted there, or faulted; otherwise it is behind a system call. */
#define REGS_INTERRUPTED(regs) ((s64)(regs)->orig_ax < 0)

#elif defined(__TARGET_ARCH_arm64)

#define REGS_INTERRUPTED(regs) 0 /* not asked: the walk is by frame pointers */
static __always_inline void call_words(struct pt_regs *ctx, u64 *word)
{
	word[0] = ctx->regs[0];
	word[1] = ctx->regs[1];
	word[2] = ctx->regs[2];
	word[3] = ctx->regs[3];
	word[4] = ctx->regs[4];
	word[5] = ctx->regs[5];
	word[6] = ctx->regs[6];
	word[7] = ctx->regs[7];
}
#define CALLER_AT_ENTRY	       1
#define RETURN_POPS	       0
/* Code that signs return addresses keeps the signature above the 48 bits of an address. */
#define CODE_ADDRESS(value)    ((value)&0xffffffffffffull)

static __always_inline void call_stack_words(struct pt_regs *ctx, u64 *word)
{
	bpf_probe_read_user(word, WORD_STACK_SIZE * sizeof(*word), (void *)ctx->sp);
}

static __always_inline u64 call_caller(struct pt_regs *ctx)
{
	return CODE_ADDRESS(ctx->regs[30]);
}

static __always_inline bool is_at_breakpoint(struct pt_regs *regs)
{
	u32 word = 0;

	/* The kernel's own, UPROBES_BRK_IMM of arch/arm64/include/asm/brk-imm.h. */
	return regs && !bpf_probe_read_user(&word, sizeof(word), (void *)regs->pc) &&
	       word == 0xd42000a0;
}

#endif

/* Does a call stand right in front of this address? Then it is a place to return to, and not the
 * kernel's trampoline for return probes, which is the first instruction of its page. */
static __always_inline bool follows_call(u64 address)
{
#if defined(__TARGET_ARCH_arm64)
	u32 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)(address - 4)))
		return 0;
	/* bl; blr, with and without authentication */
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfefff800) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
#else
	return 0; /* not asked: the stack slot tells */
#endif
}

#endif
