/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which target has a socket open, found by its inode in the targets' lists of descriptors, for
 * sockets whose owner the kernel side did not meet. All targets are looked through for a socket
 * that is not known, at most a fiftieth of the time: retransmits come in bursts, and most of those
 * that are not known are not the targets'.
 */
#ifndef INGERO_RECORD_SOCKET_OWNERS_H
#define INGERO_RECORD_SOCKET_OWNERS_H

#include <stdint.h>

#include "lib/base/map.h"

/* A bit of a value of such a map: the process has ended, and its number may be another's. */
#define PROCESS_ENDED (1ull << 32)

/* Zero-initialised knows none. */
struct socket_owners {
	struct map owners;  /* inode -> tgid */
	struct map nobodys; /* inode -> when it was looked for last */
	int64_t next_ns;    /* not before */
};

/* tgid, 0: none of processes, whose keys are tgids (PROCESS_ENDED: not any more), or not looked
 * for. now_ns: CLOCK_MONOTONIC. */
uint32_t socket_owners_owner(struct socket_owners *s, const struct map *processes, uint64_t inode,
			     int64_t now_ns);
void socket_owners_free(struct socket_owners *s);

#endif
