/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else reads from disks and writes to them. The kernel counts requests of processes that are
 * not recorded by device, but not whose they are: what is written is given to a device later, by
 * threads of the kernel. What each process had read and has left to be written stands in
 * /proc/PID/io, which is looked at only while devices serve others.
 */
#ifndef INGERO_RECORD_DISK_USERS_H
#define INGERO_RECORD_DISK_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/ige/writer.h"
#include "lib/world/world.h"

#define DISK_USERS_LEAST 4194304 /* B of others since the last look that make one worth while */
#define DISK_USERS_MOST	 8	 /* told of one look: those with most */

struct disk_user {
	uint32_t tgid;
	uint64_t read_bytes, write_bytes; /* since it began */
};

struct disk_users {
	struct world *world;
	bool (*is_known)(void *ctx, uint32_t tgid); /* is sampled by itself */
	uint32_t (*process)(void *ctx, uint32_t tgid);
	void *ctx;
	VEC(struct disk_user) v; /* as of the last look, by tgid */
	int64_t looked_ns, next_ns;
	uint64_t others_bytes; /* then */
	uint64_t samples;      /* written so far */
};

/* The first look, which says nothing. world, ctx stay the caller's. */
void disk_users_init(struct disk_users *u, struct world *w,
		     bool (*is_known)(void *ctx, uint32_t tgid),
		     uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx);
void disk_users_free(struct disk_users *u);

/* SAMPLEs of what processes moved since the last look, if others_bytes of all devices grew enough,
 * and if it is time for a look, or it is the last one. What cannot be read is left out. */
int disk_users_say(struct disk_users *u, struct ige_writer *wr, uint64_t others_bytes,
		   int64_t now_ns, bool last, struct err *e);

#endif
