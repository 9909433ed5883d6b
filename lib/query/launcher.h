/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel without a name is called by: the library call that launched it (cublasSgemm_v2 <
 * addmm_out_cuda_impl), or the function that did (launched by gpu_kernel_impl). Made from the stack
 * of a launch.
 */
#ifndef INGERO_QUERY_LAUNCHER_H
#define INGERO_QUERY_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/world/world.h"

/* The outermost frame inside the library that launched it: one handle may stand for many kernels of
 * such a library. 0: it was no library of kernels. known: zero-initialised at first; a stack is
 * looked at once. */
uint32_t launcher_find_library(struct map *known, const struct world *w, uint32_t stack);

/* Appends the name. False: no function there has a name; then it is "kernel unknown" with the
 * handle of the function and what is known of the place. */
bool launcher_append_name(struct buf *out, const struct world *w, uint32_t stack, uint64_t func);

#endif
