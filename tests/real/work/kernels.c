/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers ten thousand kernels, as a large program's libraries do before main, and launches each
 * of them once. The names lie in the program's file, and nobody has read them before they are
 * registered.
 */
#include <stdio.h>

#include "tests/real/work/cudart.h"

#define KERNELS	 10000
#define NAME1(n) "_Z9many_" #n "v"
#define NAME10(n)                                                                                  \
	NAME1(n##0), NAME1(n##1), NAME1(n##2), NAME1(n##3), NAME1(n##4), NAME1(n##5), NAME1(n##6), \
		NAME1(n##7), NAME1(n##8), NAME1(n##9)
#define NAME100(n)                                                                          \
	NAME10(n##0), NAME10(n##1), NAME10(n##2), NAME10(n##3), NAME10(n##4), NAME10(n##5), \
		NAME10(n##6), NAME10(n##7), NAME10(n##8), NAME10(n##9)
#define NAME1000(n)                                                                               \
	NAME100(n##0), NAME100(n##1), NAME100(n##2), NAME100(n##3), NAME100(n##4), NAME100(n##5), \
		NAME100(n##6), NAME100(n##7), NAME100(n##8), NAME100(n##9)
#define NAME10000(n)                                                                    \
	NAME1000(n##0), NAME1000(n##1), NAME1000(n##2), NAME1000(n##3), NAME1000(n##4), \
		NAME1000(n##5), NAME1000(n##6), NAME1000(n##7), NAME1000(n##8), NAME1000(n##9)

static const char *const names[] = { NAME10000() };
static const char stubs[KERNELS]; /* their addresses are what kernels are launched by */

__attribute__((constructor)) static void register_kernels(void)
{
	static const unsigned long long code[2];
	static struct fat_binary binary = { FAT_BINARY_MAGIC, 1, code, NULL };
	void **handle = __cudaRegisterFatBinary(&binary);

	for (unsigned i = 0; i < KERNELS; i++)
		__cudaRegisterFunction(handle, &stubs[i], (char *)names[i], names[i], -1, NULL,
				       NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
}

int main(void)
{
	struct dim3 one = { 1, 1, 1 };
	int failed = 0;

	for (unsigned i = 0; i < KERNELS; i++)
		failed += cudaLaunchKernel(&stubs[i], one, one, NULL, 0, NULL) != 0;
	failed += cudaDeviceSynchronize() != 0;
	printf("%d failed\n", failed);
	return failed != 0;
}
