/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from the records of a stream for what its events only number: files, sockets and their
 * peers, words of marks, kernels, names of threads, and the offset of the recording's clock to UTC.
 * Gets every record before the events behind it; memory is bounded by LATE_NAMES_MAX names, the
 * first ones.
 */
#ifndef INGERO_WORLD_LATE_NAMES_H
#define INGERO_WORLD_LATE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/world/kernel_names.h"
#include "lib/world/world.h"

/* Names of files, sockets, peers, words and kernels together: as many as a hostile recording may
 * make us keep. */
#define LATE_NAMES_MAX (1u << 20)

struct late_names_file {
	uint32_t path, fstype, mount, origin; /* world strings */
	bool has_device;
	uint64_t device;
};
struct late_names_socket {
	uint32_t protocol, local, remote; /* world strings */
};
struct late_names_peer {
	uint32_t pid, comm; /* comm: world string; pid 0, and comm: several */
};

/* Zero-initialised knows nothing. */
struct late_names {
	struct map file_ids, socket_ids,
		peer_ids; /* id, of peers that of the socket -> index + 1 */
	VEC(struct late_names_file) files;
	VEC(struct late_names_socket) sockets;
	VEC(struct late_names_peer) peers;
	struct map words; /* id -> world string */
	struct kernel_names kernels;
	bool has_start, has_real;
	int64_t start_ns;	    /* of the first session, on the recording's clock */
	int64_t real_minus_mono_ns; /* by the newest clock record */
};

/* Takes what it knows, passes over the rest. False: out of memory. */
bool late_names_record(struct late_names *t, struct world *w, const struct record *r);

/* NULL and 0: unknown. */
const struct late_names_file *late_names_file(const struct late_names *t, uint64_t id);
/* A file that lies on this block device, for what is mounted from it: of several machines, as far
 * as their files agree. Without has_device: none was met. */
struct late_names_file late_names_on(const struct late_names *t, const struct world *w,
				     uint64_t device);
const struct late_names_socket *late_names_socket(const struct late_names *t, uint64_t id);
/* Who has that socket's other end: it is found out a moment after the socket is met. */
const struct late_names_peer *late_names_peer(const struct late_names *t, uint64_t socket);
uint32_t late_names_word(const struct late_names *t, uint64_t id);
/* What the kernel was called then (INT64_MAX: last), demangled. */
uint32_t late_names_kernel(const struct late_names *t, uint32_t process, uint64_t func,
			   int64_t at_ns);

void late_names_free(struct late_names *t);

#endif
