/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a thread is as a culprit: an identity, not a name. Processes that one parent started under
 * one command are one culprit, and so are threads of such processes whose names differ in a
 * trailing number alone; a thread without a name of its own is one by itself. Ids are dense, in
 * order of first use.
 */
#ifndef INGERO_PATH_PATH_CULPRITS_H
#define INGERO_PATH_PATH_CULPRITS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/world/world.h"

#define PATH_CULPRIT_MEMBERS 4

struct path_culprit {
	uint32_t nmembers;			/* threads */
	uint32_t members[PATH_CULPRIT_MEMBERS]; /* the first of them: world ids */
};

/* Zero-initialised but for w is empty. */
struct path_culprits {
	const struct world *w;
	VEC(struct path_culprit) v; /* id 1 is v[0] */
	struct map by_thread;	    /* world thread id -> id; shifted by 32 of its process */
	struct map by_process;	    /* world process id -> the thread that stands for it */
	struct map by_key;	    /* hash of the identity -> id */
};

void path_culprits_free(struct path_culprits *c);

/* 0: out of memory. */
uint32_t path_culprit_of(struct path_culprits *c, uint32_t thread);

/* Of the process and those like it: who takes a CPU is not one of its threads. *thread becomes the
 * one that stands for the process. */
uint32_t path_culprit_of_process(struct path_culprits *c, uint32_t *thread);

/* Whether it is one of a process's threads besides the main one that gave itself no name. */
bool path_culprit_is_nameless(const struct path_culprits *c, uint32_t thread);

/* Whether the culprit is this thread, or a pool that it is of, and not its process. */
bool path_culprit_is_thread(const struct path_culprits *c, uint32_t id, uint32_t thread);

/* NULL for 0. */
const struct path_culprit *path_culprit_get(const struct path_culprits *c, uint32_t id);

#endif
