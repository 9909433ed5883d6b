/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people call a program that an interpreter runs: "python train.py", "node generate.js", where
 * the kernel's name of the process is the interpreter's alone. A name that the program gave itself
 * stays as it is.
 */
#ifndef INGERO_WORLD_PROGRAM_NAME_H
#define INGERO_WORLD_PROGRAM_NAME_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

/* comm: the kernel's name; cmdline: its arguments, separated by blanks, as they were when it began.
 * Appends comm where there is nothing better. */
void program_name(struct buf *out, struct bytes comm, struct bytes cmdline);

/* Whether a process that the kernel calls so may run a program of another name. */
bool program_is_interpreter(struct bytes comm);

#endif
