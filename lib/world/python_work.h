/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code does that its line does not look like: Python and its libraries collect garbage,
 * import, compile, a native function waits without sleeping, and the kernel gives memory. By the
 * functions and files on the stack; a pure function of these.
 */
#ifndef INGERO_WORLD_PYTHON_WORK_H
#define INGERO_WORLD_PYTHON_WORK_H

#include "lib/world/world.h"

enum python_work {
	PYTHON_WORK_OTHER,
	PYTHON_WORK_COLLECTS, /* garbage: where CPython's functions have names */
	PYTHON_WORK_IMPORTS,
	PYTHON_WORK_COMPILES, /* torch.compile and Triton, before they run what they compiled */
	PYTHON_WORK_LOADS,    /* a batch, in the process of the training loop */
	PYTHON_WORK_SPINS,    /* the innermost function, by its name: SpinLock::lock, pop_wait */
	PYTHON_WORK_FAULTS,   /* page faults: memory that it touches for the first time */
};

enum python_work python_work_of_frame(const struct world *w, uint32_t frame);

/* The outermost frame of a stack that is of such work; 0: none is. */
uint32_t python_work_find(const struct world *w, const uint32_t *frames, unsigned n);

/* That of a stack; only this may be PYTHON_WORK_SPINS. */
enum python_work python_work_of(const struct world *w, uint32_t stack);

#endif
