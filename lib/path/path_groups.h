/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of paths as groups: how much of an anchor's life each (class, culprit, line) was. Sums of
 * an anchor's groups are its life, to the nanosecond. Whether the path needs a thread that had the
 * CPU is known in the end alone, so that pieces are kept apart by such a thread until the groups
 * are asked for.
 */
#ifndef INGERO_PATH_PATH_GROUPS_H
#define INGERO_PATH_PATH_GROUPS_H

#include "lib/base/vec.h"
#include "lib/path/path.h"
#include "lib/path/path_class.h"
#include "lib/path/path_culprits.h"
#include "lib/world/site_frames.h"

/* Whether a thread is the recorder's, which is not recorded. */
bool path_is_recorder(const struct world *w, const struct path *p, uint32_t thread);

struct path_group {
	uint32_t anchor; /* world thread id */
	enum path_class class;
	uint32_t culprit; /* path_culprits.h; 0: the anchor itself, or none */
	uint32_t device;  /* PATH_DISK: device number */
	uint32_t line;	  /* where the culprit, else the anchor was: world frame id, 0 not known */
	uint32_t victim;  /* where the anchor was: its own wait that led there, else as line */
	uint32_t via;	  /* path_via: of the longest time that is in it; 0: the anchor itself */
	uint16_t op;	  /* of the call; 0 none */
	bool sampled;	  /* OWN: line is where CPU samples found it, else of the call before */
	uint64_t ns, pieces; /* pieces: how often, where a wait through others is one for each */
	uint64_t longest_ns; /* of one piece, the first of such a length */
	int64_t longest_from_ns; /* when it began */
	uint64_t serialised_ns;	 /* of ns: the path stood behind this use of a CPU */
	uint64_t rough_ns;	 /* of ns: cut out of checkpoints in proportion */
};

/* More different sums than this are kept without their lines. */
#define PATH_SUMS_MAX 262144

struct path_total {
	uint64_t ns, pieces, longest_ns;
	int64_t longest_from_ns;
};

/* A cache line each. */
struct path_sum {
	uint64_t key[4];
	struct path_total total;
};

/* Where a sum stands in the table. */
struct path_slot {
	uint32_t hash;
	uint32_t number; /* of the sum, 0: the slot is free */
};

/* Pieces wait for so many others, while what they are added to is fetched into the cache. */
#define PATH_AHEAD 16

struct path_ahead {
	uint64_t key[4], ns, hash;
	int64_t from_ns;
};

/* Zero-initialised but for w and path is empty. */
struct path_groups {
	struct path_listener listener; /* for path_new */
	const struct world *w;
	/* An anchor's own segments, by their numbers, which are no other thread's. */
	VEC(struct path_total) own;
	VEC(uint32_t) keys; /* those of them that are not zero */
	/* All others. */
	VEC(struct path_sum) sums;
	struct path_slot *slots;
	size_t nslots;
	struct path_ahead ahead[PATH_AHEAD]; /* a ring */
	size_t added, done;		     /* pieces that came into it, and left it */
	struct path_culprits culprits;
	struct site_frames frames;
	bool nomem;
};

/* w stays the caller's. */
void path_groups_init(struct path_groups *g, const struct world *w);
void path_groups_free(struct path_groups *g);

/* As before the first piece; who is which culprit is kept. */
void path_groups_reset(struct path_groups *g);

/* All pieces in all. */
uint64_t path_groups_ns(struct path_groups *g);

/* Adds a piece. On memory exhaustion nomem is set, and sums are no more what they should be. */
void path_groups_add(struct path_groups *g, const struct path_piece *p);

struct path_group_list {
	VEC(struct path_group) v;
};

/* The groups of one anchor of p, most time first; out is emptied. False: out of memory. */
bool path_groups_of(struct path_groups *g, struct path *p, uint32_t anchor,
		    struct path_group_list *out);

#endif
