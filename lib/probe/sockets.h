/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which target has a socket open, found by its inode in the targets' lists of descriptors. All targets are looked
 * through for a socket that is not known, twenty times a second at most: retransmits come in bursts.
 */
#ifndef INGERO_PROBE_SOCKETS_H
#define INGERO_PROBE_SOCKETS_H

#include <stdint.h>

#include "lib/base/map.h"

/* Zero-initialised knows none. */
struct probe_sockets {
	struct map owners; /* inode -> tgid */
	int64_t looked_ns;
};

/* tgid, 0: none of processes, whose keys are tgids. */
uint32_t probe_sockets_owner(struct probe_sockets *s, const struct map *processes, uint64_t inode,
			     int64_t now_ns);
void probe_sockets_free(struct probe_sockets *s);

#endif
