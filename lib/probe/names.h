/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function names of one ELF file by file offset: .symtab where there is one, else .dynsym. Read once, then
 * searched.
 */
#ifndef INGERO_PROBE_NAMES_H
#define INGERO_PROBE_NAMES_H

#include <stdint.h>

struct probe_names;

/* Never NULL but without memory; a file without symbols finds nothing. fd stays the caller's. */
struct probe_names *probe_names_read(int fd);
void probe_names_free(struct probe_names *names);

/* The function that holds this file offset, yours to free; NULL: unknown. delta: bytes from its start. */
char *probe_names_find(const struct probe_names *names, uint64_t offset, uint64_t *delta);

#endif
