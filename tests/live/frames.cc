// SPDX-License-Identifier: Apache-2.0
//
// A program built without frame pointers, with frames of every kind: of many sizes, with alloca, aligned to 64 bytes, both at
// once, std::function, a callback of qsort, virtual functions that catch, a function that keeps the frame pointer, a signal
// handler, threads, 110 deep. At the bottom one call instruction calls in turn collect(), which asks libgcc's unwinder for
// the stack, and the probed function: both have the same callers. Writes the stacks and how often each was met.
//
//   frames FILE [LIBRARY FUNCTION]   waits for a line on standard input, writes "done" when it is through, waits for another

#include <algorithm>
#include <alloca.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <unwind.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

typedef long (*leaf_fn)(long);

static std::map<std::vector<uintptr_t>, long> stacks;
static std::mutex lock;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *out)
{
	auto *stack = static_cast<std::vector<uintptr_t> *>(out);

	if (_Unwind_GetIP(context))
		stack->push_back(_Unwind_GetIP(context));
	return _URC_NO_REASON;
}

NOINLINE static long collect(long x)
{
	std::vector<uintptr_t> stack;

	_Unwind_Backtrace(add_frame, &stack);
	stack.erase(stack.begin()); // our own frame
	std::lock_guard<std::mutex> hold(lock);
	stacks[stack]++;
	return x;
}

static leaf_fn leaves[2] = { collect, collect };
static volatile int nleaves = 1;
static volatile long sink;

NOINLINE static void bottom(long x)
{
	volatile int i = 0;

	do {
		sink += leaves[i](x);
		i = i + 1;
	} while (i < nleaves);
	sink++;
}

#define KINDS 24
typedef void (*kind_fn)(int, long);
extern kind_fn kinds[KINDS];

static inline void go_on(int depth, long x, int step)
{
	if (depth <= 0)
		bottom(x);
	else
		kinds[(unsigned long)(step * depth + x) % KINDS](depth - 1, x + 1);
	sink++; // no tail call
}

template <int N> NOINLINE static void sized(int depth, long x)
{
	volatile char room[N * 16 + 8];
	long a = sink, b = x * N;

	room[0] = (char)depth;
	room[N * 16 + 7] = (char)x;
	go_on(depth, x, 5);
	sink += a + b + room[0];
}

NOINLINE static void with_alloca(int depth, long x)
{
	char *p = (char *)alloca(16 + (x & 63));

	memset(p, depth, 8);
	go_on(depth, x, 3);
	sink += p[1];
}

NOINLINE static void aligned(int depth, long x)
{
	alignas(64) volatile char room[128];

	room[0] = (char)depth;
	go_on(depth, x, 11);
	sink += room[0];
}

NOINLINE static void aligned_with_alloca(int depth, long x)
{
	alignas(64) char room[128];
	char *p = (char *)alloca(16 + (x & 31));

	memset(room, depth, sizeof(room));
	memset(p, 1, 8);
	__asm__ volatile("" : : "r"(room), "r"(p) : "memory");
	go_on(depth, x, 13);
	sink += room[0];
}

NOINLINE static void by_function(int depth, long x)
{
	std::function<void(int)> f = [x](int d) { go_on(d, x, 17); };

	f(depth);
	sink++;
}

static thread_local int sort_depth;
static thread_local long sort_x;

static int compare(const void *a, const void *b)
{
	int depth = sort_depth;

	if (depth >= 0) {
		sort_depth = -1;
		go_on(depth, sort_x, 19);
	}
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void by_qsort(int depth, long x)
{
	int v[2] = { 2, 1 };

	sort_depth = depth;
	sort_x = x;
	qsort(v, 2, sizeof(v[0]), compare);
	sink += v[0];
}

struct base {
	virtual void go(int depth, long x) = 0;
	virtual ~base() {}
};

struct derived : base {
	std::string text;
	void go(int depth, long x) override
	{
		std::string longer = "longer than fifteen bytes " + std::to_string(depth);

		try {
			go_on(depth, x, 23);
		} catch (...) {
			sink++;
		}
		text = longer;
	}
};

NOINLINE static void by_virtual(int depth, long x)
{
	derived d;
	base *b = &d;

	__asm__ volatile("" : "+r"(b));
	b->go(depth, x);
	sink += (long)d.text.size();
}

#if defined(__clang__)
NOINLINE static void with_frame_pointer(int depth, long x)
#else
NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) static void
with_frame_pointer(int depth, long x)
#endif
{
	go_on(depth, x, 29);
	sink++;
}

static int signal_depth;

static void on_signal(int)
{
	go_on(signal_depth, signal_depth, 1);
}

NOINLINE static void by_signal(int depth)
{
	signal_depth = depth;
	raise(SIGUSR1);
	sink++;
}

kind_fn kinds[KINDS] = { sized<0>,    sized<1>,	     sized<2>,	  sized<3>,   with_alloca, sized<5>,
			 sized<7>,    aligned,	     sized<9>,	  sized<12>,  by_function, sized<1>,
			 sized<2>,    by_qsort,	     sized<4>,	  by_virtual, sized<6>, with_frame_pointer,
			 sized<8>,    aligned_with_alloca, sized<3>, sized<20>, sized<2>, sized<5> };

static void all_kinds(bool signals)
{
	for (int depth = 0; depth < 110; depth++)
		for (int x = 0; x < KINDS; x++)
			kinds[x](depth, x * 1000);
	if (!signals)
		return;
	signal(SIGUSR1, on_signal);
	for (int depth = 0; depth < 40; depth++)
		by_signal(depth);
}

static void wait_for_line()
{
	char line[80];

	if (!fgets(line, sizeof(line), stdin))
		exit(0);
}

int main(int argc, char **argv)
{
	FILE *out = argc > 1 ? fopen(argv[1], "w") : nullptr;

	if (argc > 3) {
		void *library = dlopen(argv[2], RTLD_NOW);
		void *function = library ? dlsym(library, argv[3]) : nullptr;

		if (!function)
			return 1;
		leaves[1] = (leaf_fn)function;
		nleaves = 2;
	}
	if (!out)
		return 1;
	printf("%d\n", getpid());
	fflush(stdout);
	wait_for_line();
	all_kinds(true);
	std::thread one([] { all_kinds(false); }), other([] { all_kinds(false); });
	one.join();
	other.join();
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, " r-xp "))
			fprintf(out, "maps %s", line);
	for (auto &stack : stacks) {
		fprintf(out, "%ld", stack.second);
		for (uintptr_t address : stack.first)
			fprintf(out, " %lx", (unsigned long)address);
		fprintf(out, "\n");
	}
	fclose(out);
	printf("done\n");
	fflush(stdout);
	wait_for_line();
	return 0;
}
