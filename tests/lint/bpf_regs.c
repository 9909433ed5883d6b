/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as an architecture makes them, looked at the way the kernel side does: the first
 * instructions of probed() put the registers into a frame of the kernel's layout, and bpf/regs.h is
 * asked for every argument, the caller and the frame chain. Built by bpf.t for each architecture
 * and run there, or under an emulator. Prints TAP.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/user.h>

#include "bpf/kernel.h"

/* In line: nothing may be called, and so pushed, before what a call left on the stack has been
 * read. */
__attribute__((always_inline)) static inline long read_here(void *to, unsigned n, const void *from)
{
	__builtin_memcpy(to, from, n);
	return 0;
}
#define bpf_probe_read_user read_here

#include "bpf/regs.h"
#include "bpf/syscalls.h"

#define ARGUMENTS 12
#define NTH(i)	  (0x1111111100000001ul * ((i) + 1))

struct pt_regs frame;
unsigned long sp_after;

/* Stores its registers in frame and returns. */
unsigned long probed(unsigned long, unsigned long, unsigned long, unsigned long, unsigned long,
		     unsigned long, unsigned long, unsigned long, unsigned long, unsigned long,
		     unsigned long, unsigned long);
/* Calls probed and leaves the stack pointer behind its return in sp_after. */
void around(void);

/* The places are those of the system's own header of the architecture. */
#define AT(member, offset) \
	_Static_assert(offsetof(struct user_regs_struct, member) == (offset), #member)

#if defined(__TARGET_ARCH_x86)
AT(rbp, 32);
AT(r9, 64);
AT(r8, 72);
AT(rax, 80);
AT(rcx, 88);
AT(rdx, 96);
AT(rsi, 104);
AT(rdi, 112);
AT(orig_rax, 120);
AT(rip, 128);
AT(rsp, 152);
#define RESULT(r) ((r)->rax)
__asm__(".globl probed\n"
	"probed: lea frame(%rip), %rax\n"
	"	mov %rdi, 112(%rax)\n	mov %rsi, 104(%rax)\n	mov %rdx, 96(%rax)\n"
	"	mov %rcx, 88(%rax)\n	mov %r8, 72(%rax)\n	mov %r9, 64(%rax)\n"
	"	mov %rbp, 32(%rax)\n	mov %rsp, 152(%rax)\n	ret\n"
	".globl around\n"
	"around: call probed\n	mov %rsp, sp_after(%rip)\n	ret\n");
#else
AT(regs, 0);
AT(sp, 248);
AT(pc, 256);
AT(pstate, 264);
#define RESULT(r) ((r)->regs[0])
__asm__(".globl probed\n"
	"probed: adrp x9, frame\n	add x9, x9, :lo12:frame\n"
	"	stp x0, x1, [x9]\n	stp x2, x3, [x9, 16]\n	stp x4, x5, [x9, 32]\n"
	"	stp x6, x7, [x9, 48]\n	stp x29, x30, [x9, 232]\n	mov x10, sp\n"
	"	str x10, [x9, 248]\n	ret\n"
	".globl around\n"
	"around: stp x29, x30, [sp, -16]!\n	bl probed\n	mov x10, sp\n"
	"	adrp x9, sp_after\n	str x10, [x9, :lo12:sp_after]\n"
	"	ldp x29, x30, [sp], 16\n	ret\n");
#endif

static int number, failed;

static void ok(int passed, const char *what, unsigned i)
{
	failed |= !passed;
	printf("%sok %d - %s %u\n", passed ? "" : "not ", ++number, what, i);
}

static u64 word[WORDS];
static unsigned long back; /* the caller, as found */
static unsigned long
	chain[2]; /* what the frame pointer leads to: the next one, and a return address */

/* Not a leaf and with a frame pointer: a link of the chain. Its own return address. */
__attribute__((noinline)) static unsigned long caller(void)
{
	probed(NTH(0), NTH(1), NTH(2), NTH(3), NTH(4), NTH(5), NTH(6), NTH(7), NTH(8), NTH(9),
	       NTH(10), NTH(11));
	__asm__ volatile("" ::: "memory");
	call_words(&frame, word);
	call_stack_words(&frame, word + WORD_STACK);
	back = call_caller(&frame);
	read_here(chain, sizeof(chain), (void *)REGS_FP(&frame));
	return (unsigned long)__builtin_return_address(0);
}

int main(void)
{
	unsigned long outer = caller(), from = (unsigned long)caller;
	struct user_regs_struct abi;

	for (unsigned i = 0; i < WORD_STACK + WORD_STACK_SIZE; i++)
		ok(word[i] == NTH(i), "argument", i);
	ok(back > from && back < from + 512, "the caller", 0);
	ok(CODE_ADDRESS(chain[1]) == outer, "the caller's caller, behind the frame pointer", 0);
	ok(chain[0] > REGS_FP(&frame), "the next frame is further out", 0);
#if defined(__TARGET_ARCH_arm64)
	ok(follows_call(back) && follows_call(outer), "a call stands in front of each", 0);
	ok(!follows_call((unsigned long)probed) && !follows_call((unsigned long)probed + 8),
	   "and of nothing else", 0);
	ok(CODE_ADDRESS(outer | 0x2ful << 55) == outer, "signatures are no part of an address", 0);
#endif
	around();
	ok(sp_after - RETURN_POPS == REGS_SP(&frame),
	   "the stack pointer at entry, from that at return", 0);
	memset(&abi, 0, sizeof(abi));
	RESULT(&abi) = 77;
	ok(REGS_RC((struct pt_regs *)&abi) == 77, "the result", 0);
#if defined(__TARGET_ARCH_x86)
	abi.rip = 78;
	abi.orig_rax = 79;
	ok(SYSCALL_NUMBER((struct pt_regs *)&abi) == 79, "the system call", 0);
#else
	abi.pc = 78;
#endif
	ok(REGS_IP((struct pt_regs *)&abi) == 78, "the instruction", 0);
	printf("1..%d\n", number);
	return failed;
}
