/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ids of files and sockets stand for, and which file system is on a block device: from FILE, SOCKET and PEER records. What
 * is said first of an id holds. Memory is bounded by THINGS_MAX of each; the names of more are not known.
 */
#ifndef INGERO_ASK_THINGS_H
#define INGERO_ASK_THINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

/* Strings of the world; 0: not said. */
struct thing_file {
	uint32_t path, fstype, mount, origin;
	bool has_device;
	uint64_t device;
};
struct thing_socket {
	uint32_t protocol, local, remote;
};
struct thing_peer {
	uint32_t pid, comm;
};

/* Zero-initialised is empty. */
struct ask_things {
	VEC(struct thing_file) files;
	VEC(struct thing_socket) sockets;
	VEC(struct thing_peer) peers;
	struct map file_by, socket_by, peer_by; /* id, of peers that of the socket -> index */
};

/* False: out of memory. */
bool ask_things_record(struct ask_things *t, struct world *w, const struct record *rec);

/* NULL: nothing was said of it. */
const struct thing_file *ask_things_file(const struct ask_things *t, uint64_t id);
const struct thing_socket *ask_things_socket(const struct ask_things *t, uint64_t id);
/* Who has the socket's other end. */
const struct thing_peer *ask_things_peer(const struct ask_things *t, uint64_t socket);
/* A file that lies on this block device, for what is mounted from it; NULL: none was met. */
const struct thing_file *ask_things_on(const struct ask_things *t, uint64_t device);

/* "/mnt/x (nfs4, server:/export)", "tcp 192.0.2.1:80", "tcp 127.0.0.1:6379 (redis-server, pid 812)"; "?" when nothing was said. */
void ask_things_file_text(const struct ask_things *t, const struct world *w, uint64_t id,
			  struct buf *out);
void ask_things_socket_text(const struct ask_things *t, const struct world *w, uint64_t id,
			    struct buf *out);

void ask_things_free(struct ask_things *t);

#endif
