/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a compiled CUDA program calls of the runtime to register its kernels and to launch them; the
 * library is the double's.
 */
#ifndef TESTS_REAL_CUDART_H
#define TESTS_REAL_CUDART_H

#include <stddef.h>

struct dim3 {
	unsigned x, y, z;
};

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device_name, const char *name,
			    int limit, void *tid, void *bid, void *block, void *grid, int *warp);
int cudaLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **args,
		     size_t shared, void *stream);
int cudaDeviceSynchronize(void);

/* As nvcc lays it out: magic, version, the code, nothing. */
struct fat_binary {
	int magic, version;
	const void *code;
	void *unused;
};
#define FAT_BINARY_MAGIC 0x466243b1

#endif
