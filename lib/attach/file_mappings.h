/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mapping is of, as the kernel keys its probes: asked for only where /proc may show
 * something else.
 */
#ifndef INGERO_ATTACH_FILE_MAPPINGS_H
#define INGERO_ATTACH_FILE_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/host/maps.h"
#include "lib/attach/session.h"

/* Of one process, asked once. Zero-initialised: not asked yet. */
struct file_mappings {
	VEC(struct wire_mapped) v; /* ascending */
	bool asked;
};

/* Puts the file's own device and inode into m, a mapping of process tgid, where the kernel tells
 * them and m is of a file system without a device of its own (overlay is one). */
void file_mappings_see(struct file_mappings *p, struct probe_session *s, uint32_t tgid,
		       struct host_mapping *m);
void file_mappings_free(struct file_mappings *p);

#endif
