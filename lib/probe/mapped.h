/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mapping is of, as the kernel keys its probes: asked for only where /proc may show something else.
 */
#ifndef INGERO_PROBE_MAPPED_H
#define INGERO_PROBE_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/host/maps.h"
#include "lib/probe/session.h"

/* Of one process, asked once. Zero-initialised: not asked yet. */
struct probe_mapped {
	VEC(struct wire_mapped) v; /* ascending */
	bool asked;
};

/* Puts the file's own device and inode into m, a mapping of process tgid, where the kernel tells them and m is of a file
 * system without a device of its own (overlay is one). */
void probe_mapped_see(struct probe_mapped *p, struct probe_session *s, uint32_t tgid,
		      struct host_mapping *m);
void probe_mapped_free(struct probe_mapped *p);

#endif
