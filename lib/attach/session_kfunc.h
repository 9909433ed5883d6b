/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of kernel functions that may be absent stand behind a test of whether they are there.
 * Linux 5.15 refuses a program with such a call even where it is never reached; later ones do not
 * look. Part of the room that knows libbpf.
 */
#ifndef INGERO_ATTACH_SESSION_KFUNC_H
#define INGERO_ATTACH_SESSION_KFUNC_H

#include <stdbool.h>

struct bpf_object;

/* libbpf's words while loading are of such a refusal. */
bool probe_kfunc_heard(const char *words);

/* Where this kernel has no `function`, its calls in the programs of obj, opened and not loaded,
 * become moves, which are never reached. elf: the object file that obj was opened from, trusted.
 * < 0: -errno. */
int probe_kfunc_drop(struct bpf_object *obj, const void *elf, const char *function);

#endif
