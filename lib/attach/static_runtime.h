/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA runtimes that are linked into a library or an executable and whose symbols were stripped:
 * nothing of them can be probed, and what they do is seen where they enter the driver.
 */
#ifndef INGERO_ATTACH_STATIC_RUNTIME_H
#define INGERO_ATTACH_STATIC_RUNTIME_H

#include <stdbool.h>

/* Whether a library of that name usually has a runtime inside: libcublas, libcudnn … */
bool static_runtime_usual(const char *path);

/* Whether the file holds code for GPUs and does not load the shared runtime for it. */
bool static_runtime_inside(const char *path);

extern const char static_runtime_reason[];

#endif
