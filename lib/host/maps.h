/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mapped where in a process: the lines of /proc/PID/maps that a stack address or a library
 * can lie in. Paths are the process's own words and may hold anything; they are passed on, never
 * trusted. Device numbers are those of the mapping: on btrfs and overlay file systems stat(2) of
 * the same file shows others.
 */
#ifndef INGERO_HOST_MAPS_H
#define INGERO_HOST_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"

struct host_mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file */
	uint32_t major, minor;
	uint64_t inode;
	bool executable;
	bool deleted; /* the file has no name any more; path is without the kernel's " (deleted)" */
	struct bytes path; /* "[vdso]" and the like too, empty for memory without a file; a zero
			      byte stands behind */
};

/* False ends the walk. */
typedef bool host_mapping_fn(void *ctx, const struct host_mapping *m);

/* Every line of text, in order; the text is changed in place (newlines in paths). Returns how many
 * lines made no sense. */
unsigned host_maps_parse(struct buf *text, host_mapping_fn *fn, void *ctx);

/* The maps of process pid to fn. ERR_CANNOT: no such process, or no right to look. A process
 * without memory of its own (kernel thread, zombie) has no lines. */
int host_maps_read(uint32_t pid, host_mapping_fn *fn, void *ctx, struct err *e);

/* A path under which we can open the mapped file itself: what is mapped when we may (root: also
 * when it was deleted or replaced), else the path in the process's own root, unless the file of
 * that name is another one now. */
char *host_maps_path(uint32_t pid, const struct host_mapping *m, char *out, size_t size);

/* Opens the file of a line for reading; only what is a regular file, and without waiting. Another
 * one that was mapped at the same addresses since the line was read is not taken for it. Returns a
 * descriptor, which is the caller's, or -1. */
int host_maps_open(uint32_t pid, const struct host_mapping *m);

#endif
