/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place in a program that a stack is reported by: one rule for findings, tables, timelines and
 * exports.
 *
 * In Python, the innermost line of a person's own code. What -c, standard input and console scripts
 * hold is their own too, except for a module-level line that only enters a package or starts a
 * process: every call of the program would be at that line. Without a line of one's own, the
 * innermost line of the package that runs the loop, which is the outermost one on the stack that
 * neither starts nor runs programs for others (PYTHON_RUNNER) nor computes for them
 * (PYTHON_LIBRARY); then of a library, of a runner, of Python's own. The rule looks at one stack at
 * a time: what it says of a stack does not change with what else the process does, so that a
 * growing recording and a finished one agree. A script in a file of its own that calls a
 * framework's main loop in one line therefore stays the site of all its calls.
 *
 * In native code, the innermost frame with a name outside the C and CUDA libraries, else the
 * innermost of the program's own modules, which were stripped, else the innermost with a name, else
 * the innermost.
 */
#ifndef INGERO_WORLD_CALL_SITE_H
#define INGERO_WORLD_CALL_SITE_H

#include <stdbool.h>

#include "lib/world/world.h"

/* The frame of it; 0 when there is no stack. */
uint32_t call_site_frame(const struct world *w, uint32_t stack);

/* The place of a frame on a stack that belongs to the same chain further out, counted from the
 * innermost: the next line of own code, of the same package, the next native frame with a name.
 * from: a place that belongs to it. n: there is none. */
unsigned call_site_outward(const struct world *w, const uint32_t *frames, unsigned n,
			   unsigned from);

/* Whether the site is a line of Python's own code or of a package that runs other people's: what
 * starts, tracks and waits for processes. */
bool call_site_is_starter(const struct world *w, uint32_t stack);

/* Whether there is any Python on the stack. */
bool call_site_is_python(const struct world *w, uint32_t stack);

/* Whether the frame is of the C or CUDA libraries, which only pass calls on. */
bool call_site_passes_on(const struct world *w, uint32_t frame);

/* The place of the site on a stack; n when there is none. */
unsigned call_site_find(const struct world *w, const uint32_t *frames, unsigned n);

#endif
