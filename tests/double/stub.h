/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points of the CUDA double. Each exported function is a few instructions of assembly in
 * front of a C body called NAME_body, so that a probe meets the same first bytes as in NVIDIA's
 * libraries: the runtime starts with `push %rbp; mov %rsp,%rbp`, the driver with `cmpl
 * $0x321cba00,gate(%rip); je; jmp *`. The je is always taken and leads on with the stack pointer
 * and the argument registers as the caller set them. The stub keeps its own frame and passes a copy
 * of the stack arguments on, so it shows in a backtrace under its name.
 */
#ifndef TESTS_DOUBLE_STUB_H
#define TESTS_DOUBLE_STUB_H

/* A body is only reached from assembly: the compiler must keep it and its calling convention. */
#ifdef __clang__
#define STUB_BODY __attribute__((used, noinline)) static
#else
#define STUB_BODY __attribute__((used, noipa)) static
#endif

#if defined(__x86_64__)

#define STUB_PROLOGUE_RUNTIME ""
#define STUB_PROLOGUE_DRIVER                      \
	"cmpl $0x321cba00, double_gate(%rip)\n\t" \
	"je 1f\n\t"                               \
	"jmp *double_shut(%rip)\n"                \
	"1:\t"

/* Copies of the caller's stack arguments, with padding that keeps the stack aligned to 16 bytes. */
#define STUB_STACK_0 ""
#define STUB_STACK_1 "sub $8,%rsp\n\tpush 16(%rbp)\n\t"
#define STUB_STACK_2 "push 24(%rbp)\n\tpush 16(%rbp)\n\t"
#define STUB_STACK_3 "sub $8,%rsp\n\tpush 32(%rbp)\n\tpush 24(%rbp)\n\tpush 16(%rbp)\n\t"
#define STUB_STACK_4 "push 40(%rbp)\n\tpush 32(%rbp)\n\tpush 24(%rbp)\n\tpush 16(%rbp)\n\t"
#define STUB_STACK_5                                                                               \
	"sub $8,%rsp\n\tpush 48(%rbp)\n\tpush 40(%rbp)\n\tpush 32(%rbp)\n\tpush 24(%rbp)\n\tpush " \
	"16(%rbp)\n\t"
#define STUB_STACK_6                                                                            \
	"push 56(%rbp)\n\tpush 48(%rbp)\n\tpush 40(%rbp)\n\tpush 32(%rbp)\n\tpush 24(%rbp)\n\t" \
	"push 16(%rbp)\n\t"
#define STUB_STACK_7                                                                               \
	"sub $8,%rsp\n\tpush 64(%rbp)\n\tpush 56(%rbp)\n\tpush 48(%rbp)\n\tpush 40(%rbp)\n\tpush " \
	"32(%rbp)\n\tpush 24(%rbp)\n\tpush 16(%rbp)\n\t"

#define STUB(layer, name, stack)                                                                  \
	__asm__(".text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ",@function\n" #name    \
		":\n\t.cfi_startproc\n\t" STUB_PROLOGUE_##layer                                   \
		"push %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp,-16\n\t"                 \
		"mov %rsp,%rbp\n\t.cfi_def_cfa_register %rbp\n\t" STUB_STACK_##stack              \
		"call " #name "_body\n\t"                                                         \
		"leave\n\t.cfi_def_cfa %rsp,8\n\tret\n\t.cfi_endproc\n\t.size " #name ",.-" #name \
		"\n")

/* NVIDIA's __cudaLaunchKernel: a frame that is gone again before the jump. */
#define STUB_JUMP(name, to)                                                                      \
	__asm__(".text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ",@function\n" #name   \
		":\n\t.cfi_startproc\n\tpush %rbp\n\t.cfi_def_cfa_offset 16\n\t"                 \
		".cfi_offset %rbp,-16\n\tmov %rsp,%rbp\n\tpop %rbp\n\t.cfi_def_cfa_offset 8\n\t" \
		"jmp " #to "\n\t.cfi_endproc\n\t.size " #name ",.-" #name "\n")

#elif defined(__aarch64__)

/*
 * The prologues are the compiler's own; a branch keeps every exported name at an address of its
 * own.
 */
#define STUB(layer, name, stack)                                                               \
	__asm__(".text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ",%function\n" #name \
		":\n\t.cfi_startproc\n\t"                                                      \
		"b " #name "_body\n\t.cfi_endproc\n\t.size " #name ",.-" #name "\n")

#define STUB_JUMP(name, to)                                                                    \
	__asm__(".text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ",%function\n" #name \
		":\n\t.cfi_startproc\n\tb " #to "\n\t.cfi_endproc\n\t.size " #name ",.-" #name \
		"\n")

#else
#error "the CUDA double knows x86-64 and arm64"
#endif

/*
 * Variants of one table row: which exported names share the body. `pt` in the row's expression is 1
 * in the twins that use the per-thread default stream. The includer defines ENTRY_BODY(name, pt,
 * stack, params, expr).
 */
#define VARIANTS_ONE(name, ...) ENTRY_BODY(name, 0, __VA_ARGS__)
#define VARIANTS_PTSZ(name, ...) \
	ENTRY_BODY(name, 0, __VA_ARGS__) ENTRY_BODY(name##_ptsz, 1, __VA_ARGS__)
#define VARIANTS_PTDS(name, ...) \
	ENTRY_BODY(name, 0, __VA_ARGS__) ENTRY_BODY(name##_ptds, 1, __VA_ARGS__)
#define VARIANTS_V1_V2(name, ...) \
	ENTRY_BODY(name, 0, __VA_ARGS__) ENTRY_BODY(name##_v2, 0, __VA_ARGS__)
#define VARIANTS_V2_PTDS(name, ...) \
	VARIANTS_V1_V2(name, __VA_ARGS__) ENTRY_BODY(name##_v2_ptds, 1, __VA_ARGS__)
#define VARIANTS_V2_PTSZ(name, ...) \
	VARIANTS_V1_V2(name, __VA_ARGS__) ENTRY_BODY(name##_v2_ptsz, 1, __VA_ARGS__)

#endif
