/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of kernel functions that may be absent stand behind a test of whether they are there.
 * Linux 5.15 refuses a program with such a call even where it is never reached; later ones do not
 * look. Part of the room that knows libbpf.
 */
#ifndef INGERO_ATTACH_SESSION_KFUNC_H
#define INGERO_ATTACH_SESSION_KFUNC_H

#include <stdbool.h>
#include <stddef.h>

/* libbpf's words while loading are of such a refusal. */
bool probe_kfunc_heard(const char *words);

/* A copy of the object file, trusted, in which the calls of `function` are moves, which are never
 * reached; the caller's to free. NULL: this kernel has it, or no memory. */
void *probe_kfunc_drop(const void *elf, size_t size, const char *function);

#endif
