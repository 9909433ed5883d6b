/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peers that threads waited for on their sockets, by the place in the program that waited:
 * which of them answers slowly. The first CAUSE_PEERS addresses, and as many places with one of
 * them, are kept apart; further waits count as waits for an unknown peer, as do those on sockets
 * without an address.
 */
#ifndef INGERO_ATTRIB_PEERS_H
#define INGERO_ATTRIB_PEERS_H

#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/world/site_frames.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

#define CAUSE_PEERS	   16384
#define CAUSE_PEER_SOCKETS 4

struct cause_peer_wait {
	uint32_t process, frame; /* lib/world/site_frames.h */
	uint32_t peer;		 /* position in name; UINT32_MAX: not known */
	uint32_t pid;		 /* of the process */
	uint64_t ns;
	/* Its connections, the first that were met: one address is not one process, on other nodes
	 * and in other network namespaces. */
	uint64_t socket[CAUSE_PEER_SOCKETS];
	unsigned nsockets;
};

/* Who has a socket's other end. */
struct cause_peer {
	uint32_t pid;
	char comm[60]; /* with the name of what an interpreter runs; a longer one is cut */
};

/* Zero-initialised is empty. */
struct cause_peers {
	struct site_frames frames;
	struct map by, sockets,
		names; /* place and peer -> v; id of a socket, hash of an address -> name */
	VEC(struct cause_peer_wait) v;
	VEC(char *) name;   /* "192.0.2.1:8080" */
	struct map peer_by; /* id of a socket -> peer */
	VEC(struct cause_peer) peer;
};

/* A NET_SOCKET event; a SOCKET or PEER record. Both false: out of memory. */
bool cause_peers_event(struct cause_peers *p, const struct world *w, const struct event *ev);
bool cause_peers_record(struct cause_peers *p, const struct record *r);

/* Where that socket leads; NULL: not known. */
const char *cause_peers_name(const struct cause_peers *p, uint64_t socket);

/* For whom the process waited longest at that place, and the process there (0: not known, or
 * several); NULL: not known. */
const char *cause_peers_top(const struct cause_peers *p, uint32_t process, uint32_t frame,
			    uint32_t *pid);

/* Whether it answers with addresses of names: DNS, RFC 1035. */
bool cause_peers_is_name_server(const char *peer);

/* " to 192.0.2.1:8080", where (nearly) all of it is for that one, ", longest to 192.0.2.1:8080,",
 * or nothing; and who that is: " to 127.0.0.1:6379 (redis-server, pid 812)". */
void cause_peers_text(const struct cause_peers *p, uint32_t process, uint32_t frame,
		      struct buf *out);

void cause_peers_free(struct cause_peers *p);

#endif
