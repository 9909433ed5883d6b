/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest: calls from a known stack. Function nest_D calls nest_(D-1) … nest_1, which launches a
 * kernel: seen from the call the frames are nest_1, nest_2 and so on, nest_D, nest_from, main.
 * Frames have different sizes and keep frame pointers. With --each the call is made at every depth
 * from 1 to D.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/double/work/work.h"

// clang-format off
#define NESTS(X) \
	X(2, 1) X(3, 2) X(4, 3) X(5, 4) X(6, 5) X(7, 6) X(8, 7) X(9, 8) \
	X(10, 9) X(11, 10) X(12, 11) X(13, 12) X(14, 13) X(15, 14) X(16, 15) X(17, 16) \
	X(18, 17) X(19, 18) X(20, 19) X(21, 20) X(22, 21) X(23, 22) X(24, 23) X(25, 24) \
	X(26, 25) X(27, 26) X(28, 27) X(29, 28) X(30, 29) X(31, 30) X(32, 31) X(33, 32) \
	X(34, 33) X(35, 34) X(36, 35) X(37, 36) X(38, 37) X(39, 38) X(40, 39) X(41, 40) \
	X(42, 41) X(43, 42) X(44, 43) X(45, 44) X(46, 45) X(47, 46) X(48, 47)
// clang-format on
#define DEEPEST 48

static struct work_cuda cuda;
static const char *op = "launch";
static void *pointer;

int nest_1(void);
__attribute__((noinline)) int nest_1(void)
{
	struct dim3 one = { 1, 1, 1 };

	switch (*op) {
	case 'm':
		return cuda.cudaMalloc(&pointer, 4096) | cuda.cudaFree(pointer);
	case 's':
		return cuda.cudaStreamSynchronize(NULL);
	default:
		return cuda.cudaLaunchKernel("step", one, one, NULL, 0, NULL);
	}
}

/* The empty statement needs the frame; its size grows and shrinks with the number. */
#define NEST(n, below)                                         \
	int nest_##n(void);                                    \
	__attribute__((noinline)) int nest_##n(void)           \
	{                                                      \
		char room[8 + (n)*37 % 200];                   \
		int rc;                                        \
                                                               \
		__asm__ volatile("" : : "r"(room) : "memory"); \
		rc = nest_##below();                           \
		__asm__ volatile("" : : "r"(room) : "memory"); \
		return rc;                                     \
	}
NESTS(NEST)

static int (*const nests[DEEPEST + 1])(void) = { [1] = nest_1,
#define PLACE(n, below) [n] = nest_##n,
						 NESTS(PLACE) };

__attribute__((noinline)) static int nest_from(uint64_t depth)
{
	int rc = nests[depth]();

	__asm__ volatile("" : : : "memory");
	return rc;
}

int main(int argc, char **argv)
{
	uint64_t depth = 24, count = 1, errors = 0, calls = 0;
	bool each = false;
	const struct work_option options[] = {
		{ "depth", WORK_U64, &depth, "nested functions, up to 48 [24]" },
		{ "count", WORK_U64, &count, "calls at each depth used [1]" },
		{ "each", WORK_FLAG, &each, "call at every depth from 1 on" },
		{ "op", WORK_TEXT, &op, "launch, malloc (and free) or sync [launch]" },
		{ 0 },
	};
	FILE *f;

	work_options(argc, argv, "Calls from a known stack.", options);
	if (!depth || depth > DEEPEST)
		return 2;
	work_cuda_open(&cuda, NULL);
	for (uint64_t d = each ? 1 : depth; d <= depth; d++) {
		for (uint64_t i = 0; i < count; i++, calls++)
			errors += nest_from(d) != 0;
	}
	f = work_truth_open("nest");
	fprintf(f,
		",\"op\":\"%s\",\"depth\":%llu,\"each\":%s,\"calls\":%llu,\"errors\":%llu,"
		"\"frames\":[",
		op, (unsigned long long)depth, each ? "true" : "false", (unsigned long long)calls,
		(unsigned long long)errors);
	for (uint64_t d = 1; d <= depth; d++)
		fprintf(f, "\"nest_%llu\",", (unsigned long long)d);
	fprintf(f, "\"nest_from\",\"main\"]");
	work_truth_close(f);
	return errors != 0;
}
