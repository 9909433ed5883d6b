/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that programs register with the runtime when they are loaded: the address of a host
 * stub stands for a name in a fat binary, which becomes a kernel at its first launch, as with
 * CUDA_MODULE_LOADING=LAZY.
 */
#ifndef TESTS_DOUBLE_REGISTRY_H
#define TESTS_DOUBLE_REGISTRY_H

#include <stdint.h>

/* The handle that the program passes with each function of that fat binary. NULL: out of memory. */
void **registry_add(void *image);
void registry_remove(void **binary);
/* The name stays the caller's, in the program's own memory. A NULL binary is one without an image. */
void registry_add_function(void **binary, const void *stub, const char *name);

/* How the driver loads an image and finds a kernel in it; CU_* codes. */
struct registry_loader {
	int (*load)(void **library, void *image);
	int (*find)(void **kernel, void *library, const char *name);
};

/* The kernel of a stub; any other address is its own kernel. NULL: the driver refuses to load it,
 * *rc says why. */
void *registry_kernel(const void *stub, const struct registry_loader *loader, int *rc);

#endif
