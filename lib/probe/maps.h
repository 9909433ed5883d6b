/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mapped where in a process, taken while it lives: stacks are resolved against it later, when the
 * process may be gone. Files are modules, one per device and inode, kept open so that their symbols can be read
 * whatever happens to the path.
 */
#ifndef INGERO_PROBE_MAPS_H
#define INGERO_PROBE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* One executable or first mapping of a file. */
struct probe_mapping {
	uint64_t start, end, offset;
	uint32_t major, minor;
	uint64_t inode;
	bool executable;
	const char *path; /* as the process sees it, borrowed during the call */
};

typedef void probe_mapping_fn(void *ctx, const struct probe_mapping *m);

/* Every mapping of a file in the process, in address order. */
int probe_maps_read(uint32_t tgid, probe_mapping_fn *fn, void *ctx, struct err *e);

/* A path under which we can open the mapped file itself, also when it was replaced or lies in another mount
 * namespace. Returns out. */
char *probe_maps_path(uint32_t tgid, const struct probe_mapping *m, char *out, size_t size);

#endif
