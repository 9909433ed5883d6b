/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ names as people write them. The demangler is the C++ library's own, found at run time: it is
 * not among the libraries ingero is built with, and where it is missing names stay as the linker
 * has them. Safe from any thread.
 */
#ifndef INGERO_BASE_DEMANGLE_H
#define INGERO_BASE_DEMANGLE_H

#include "lib/base/buf.h"

/* Appends the name to out: demangled when it is a C++ name and can be, otherwise as it is. Of the
 * host function that nvcc makes for a kernel (__device_stub_, __nv_static_): the kernel's name. */
void demangle_name(struct buf *out, const char *name);

#endif
