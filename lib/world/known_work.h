/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code does that its line does not look like: Python and its libraries collect garbage,
 * import, compile, compress, copy, log and save, a native function waits without sleeping, and the
 * kernel gives memory. By the functions and files on the stack; a pure function of these.
 */
#ifndef INGERO_WORLD_KNOWN_WORK_H
#define INGERO_WORLD_KNOWN_WORK_H

#include "lib/world/world.h"

enum known_work {
	KNOWN_WORK_OTHER,
	KNOWN_WORK_COLLECTS, /* garbage: where CPython's functions have names */
	KNOWN_WORK_IMPORTS,
	KNOWN_WORK_COMPILES, /* torch.compile and Triton, before they run what they compiled */
	KNOWN_WORK_LOADS,    /* a batch, in the process of the training loop */
	KNOWN_WORK_SPINS,    /* the innermost function, by its name: SpinLock::lock, pop_wait */
	KNOWN_WORK_FAULTS,   /* page faults: memory that it touches for the first time */
	KNOWN_WORK_PACKS,    /* compresses, decompresses, decodes images and videos */
	KNOWN_WORK_COPIES,   /* copy.deepcopy() */
	KNOWN_WORK_JSON,
	KNOWN_WORK_LOGS,
	KNOWN_WORK_SAVES, /* torch.save() and torch.load() */
	KNOWN_WORK_READS, /* single values of a tensor, by item() or what calls it */
	KNOWN_WORK_TRACES, /* stacks of Python, one for each operator: autograd's anomaly mode */
	KNOWN_WORK_MOVES, /* a tensor to a device or from it, by to(), cuda() or cpu() */
};

/* What a finding calls it; NULL: by its place alone. */
const char *known_work_text(enum known_work work);

enum known_work known_work_of_frame(const struct world *w, uint32_t frame);

/* The outermost frame of a stack that is of such work; 0: none is. */
uint32_t known_work_find(const struct world *w, const uint32_t *frames, unsigned n);

/* That of a stack; only this may be KNOWN_WORK_SPINS. */
enum known_work known_work_of(const struct world *w, uint32_t stack);

#endif
