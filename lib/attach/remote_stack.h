/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of a thread that sleeps, read from outside: native by frame pointers, and Python's by
 * the same walker that the kernel side has for threads that run (bpf/python.h). The thread is not
 * stopped and does not notice; one that has run in between has no stack.
 */
#ifndef INGERO_ATTACH_REMOTE_STACK_H
#define INGERO_ATTACH_REMOTE_STACK_H

#include <stdbool.h>

#include "bpf/wire.h"
#include "lib/attach/ring.h"

/* Hands records to out as they would come through the ring (WIRE_CODE, WIRE_LINES, WIRE_PYTHON),
 * last the WIRE_STACK of the number in a. python: NULL when the process has none that is known; may
 * be changed. False: there is no telling, and nothing was handed on that names the number. Needs
 * the right to read the process's memory. */
bool remote_stack_read(const struct wire_asleep *a, struct python_process *python,
		       probe_ring_fn *out, void *ctx);

#endif
