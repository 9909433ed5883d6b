// SPDX-License-Identifier: Apache-2.0
//
// Stacks of unusual make, of a program without frame pointers: on an alternate signal stack, in a signal handler that interrupted
// another, in coroutines, in a child of vfork, below hand-written assembly with and without .cfi, below code that the program
// wrote itself. One call instruction calls in turn collect(), which asks libgcc's unwinder, and the probed function. Writes
// kind and stack of libgcc's.
//
//   odd_frames FILE LIBRARY FUNCTION

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline))

typedef long (*leaf_fn)(long);

static leaf_fn leaves[2];
static volatile long sink;
static FILE *out;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *n)
{
	if (_Unwind_GetIP(context) && (*(int *)n)++)
		fprintf(out, " %lx", (unsigned long)_Unwind_GetIP(context));
	return _URC_NO_REASON;
}

NOINLINE static long collect(long kind)
{
	int n = 0;

	fprintf(out, "%ld", kind);
	_Unwind_Backtrace(add_frame, &n);
	fprintf(out, "\n");
	fflush(out);
	return kind;
}

extern "C" NOINLINE void bottom(long kind)
{
	volatile int i = 0;

	do {
		sink = sink + leaves[i](kind);
		i = i + 1;
	} while (i < 2);
	sink = sink + 1;
}

static volatile long signal_kind;

static void on_signal(int number)
{
	volatile char room[200] = { (char)number };

	if (number == SIGUSR1 && signal_kind >= 3)
		raise(SIGUSR2);
	else
		bottom(signal_kind);
	sink = sink + room[0];
}

NOINLINE static void by_signal(long kind, int flags)
{
	struct sigaction how = {};

	how.sa_handler = on_signal;
	how.sa_flags = flags;
	sigaction(SIGUSR1, &how, nullptr);
	how.sa_flags = 0;
	sigaction(SIGUSR2, &how, nullptr);
	signal_kind = kind;
	raise(SIGUSR1);
	sink = sink + 1;
}

/* At an instruction that faults: the frame below is at no call. */
static void on_fault(int, siginfo_t *, void *context)
{
	bottom(5);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
}

NOINLINE static void by_fault()
{
	struct sigaction how = {};

	how.sa_sigaction = on_fault;
	how.sa_flags = SA_SIGINFO;
	sigaction(SIGILL, &how, nullptr);
	__asm__ volatile("ud2" ::: "memory");
	sink = sink + 1;
}

static ucontext_t outside, inside[2];
static char coroutine_stacks[2][64 << 10] __attribute__((aligned(4096)));

NOINLINE static void coroutine(int which)
{
	bottom(6 + which);
	swapcontext(&inside[which], which ? &outside : &inside[1]);
	sink = sink + 1;
}

NOINLINE static void by_coroutine()
{
	for (int i = 0; i < 2; i++) {
		getcontext(&inside[i]);
		inside[i].uc_stack.ss_sp = coroutine_stacks[i];
		inside[i].uc_stack.ss_size = sizeof(coroutine_stacks[i]);
		makecontext(&inside[i], (void (*)())coroutine, 1, i);
	}
	swapcontext(&outside, &inside[0]);
	sink = sink + 1;
}

NOINLINE static void by_vfork()
{
	pid_t child = vfork();

	if (child == 0) {
		bottom(8);
		_exit(0);
	}
	waitpid(child, nullptr, 0);
	sink = sink + 1;
}

/* through_NAME(function, kind) calls function(kind) with a frame of its own. */
__asm__(R"(
	.text
	.type through_cfi, @function
through_cfi:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	sub $0x130, %rsp
	.cfi_adjust_cfa_offset 0x130
	mov %rdi, %rax
	mov %rsi, %rdi
	call *%rax
	add $0x130, %rsp
	.cfi_adjust_cfa_offset -0x130
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size through_cfi, .-through_cfi
	.type through_pointer, @function
through_pointer:
	push %rbp
	mov %rsp, %rbp
	sub $0x40, %rsp
	mov %rdi, %rax
	mov %rsi, %rdi
	call *%rax
	leave
	ret
	.size through_pointer, .-through_pointer
	.type through_nothing, @function
through_nothing:
	sub $0x48, %rsp
	mov %rdi, %rax
	mov %rsi, %rdi
	call *%rax
	add $0x48, %rsp
	ret
	.size through_nothing, .-through_nothing
	.space 64
	.type with_base, @function
with_base:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	mov %rsp, %rbx
	.cfi_def_cfa_register %rbx
	sub $0x58, %rsp
	and $-64, %rsp
	mov %rdi, %rax
	mov %rsi, %rdi
	call *%rax
	mov %rbx, %rsp
	.cfi_def_cfa_register %rsp
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size with_base, .-with_base
)");
typedef void (*through_fn)(void (*)(long), long);
extern "C" void through_cfi(void (*)(long), long);
extern "C" void through_pointer(void (*)(long), long);
extern "C" void through_nothing(void (*)(long), long);
extern "C" void with_base(void (*)(long), long);

NOINLINE static void by_assembly(through_fn through, long kind)
{
	volatile char room[64] = { (char)kind };

	through(bottom, kind);
	sink = sink + room[0];
}

/* What a compiler at run time writes: the same bytes where no file is. */
static through_fn write_code(const void *from)
{
	void *code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(code, from, 64);
	return (through_fn)code;
}

int main(int argc, char **argv)
{
	static char alternate[64 << 10];
	stack_t stack = {};
	void *library = argc > 3 ? dlopen(argv[2], RTLD_NOW) : nullptr;

	leaves[0] = collect;
	leaves[1] = library ? (leaf_fn)dlsym(library, argv[3]) : nullptr;
	out = argc > 3 ? fopen(argv[1], "w") : nullptr;
	if (!out || !leaves[1])
		return 1;
	stack.ss_sp = alternate;
	stack.ss_size = sizeof(alternate);
	sigaltstack(&stack, nullptr);
	by_signal(1, 0);
	by_signal(2, SA_ONSTACK);
	by_signal(3, 0);
	by_signal(4, SA_ONSTACK);
	by_fault();
	by_coroutine();
	by_vfork();
	by_assembly(through_cfi, 9);
	by_assembly(through_pointer, 10);
	by_assembly(through_nothing, 11);
	by_assembly(with_base, 12);
	through_fn pointer = write_code((const void *)through_pointer), nothing = write_code((const void *)through_nothing);
	by_assembly(pointer, 13);
	usleep(2500000);
	by_assembly(nothing, 14);
	by_assembly(pointer, 15);
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	while (maps && fgets(line, sizeof(line), maps))
		if (strchr(line, 'x'))
			fprintf(out, "maps %s", line);
	fclose(out);
	return 0;
}
