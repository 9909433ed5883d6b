/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of a program that has one kernel, as nvcc makes it: registers the kernel when it is
 * loaded and takes it back when it is closed. Compiled with PLUGIN_KERNEL, the kernel's mangled
 * name, so that two of them differ in nothing else: loaded one after the other they come to the
 * same address, and the same host stub is another kernel.
 */
#include "tests/real/work/cudart.h"

static void **handle;

static void host_stub(void)
{
}

__attribute__((constructor)) static void register_kernel(void)
{
	static const unsigned long long code[2];
	static struct fat_binary binary = { FAT_BINARY_MAGIC, 1, code, NULL };
	static char name[] = PLUGIN_KERNEL;

	handle = __cudaRegisterFatBinary(&binary);
	__cudaRegisterFunction(handle, (const char *)host_stub, name, name, -1, NULL, NULL, NULL,
			       NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor)) static void unregister_kernel(void)
{
	__cudaUnregisterFatBinary(handle);
}

int plugin_run(unsigned launches);
int plugin_run(unsigned launches)
{
	struct dim3 one = { 1, 1, 1 };
	int failed = 0;

	for (unsigned i = 0; i < launches; i++)
		failed += cudaLaunchKernel((const void *)host_stub, one, one, NULL, 0, NULL) != 0;
	return failed + (cudaDeviceSynchronize() != 0);
}
