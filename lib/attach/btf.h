/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What describes the kernel's structures (BTF): the kernel itself, a file beside its image, or one
 * that a person names.
 */
#ifndef INGERO_ATTACH_BTF_H
#define INGERO_ATTACH_BTF_H

#include <stdbool.h>

#include "lib/base/err.h"

/* The kernel describes itself, in /sys or in /boot. */
bool probe_btf_own(void);
/* ERR_CANNOT with what to do: it does not. */
int probe_btf_find(struct err *e);
/* ERR_CANNOT: the file cannot be read, or is neither BTF nor an ELF file that may hold it. */
int probe_btf_check(const char *path, struct err *e);

/* Of the running kernel; returns out. */
#define PROBE_BTF_RELEASE 65
const char *probe_btf_release(char out[PROBE_BTF_RELEASE]);

#endif
