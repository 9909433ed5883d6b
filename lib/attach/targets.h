/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes are recorded, now and later: named ones and their children, a user's, everyone's,
 * or a launched command's. Named and launched processes are followed in the kernel; the others are
 * also looked for once a second, because a library copy nobody has probed yet announces nobody.
 */
#ifndef INGERO_ATTACH_TARGETS_H
#define INGERO_ATTACH_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/host/pods.h"
#include "lib/attach/library_instances.h"
#include "lib/attach/session.h"

struct probe_targets;

struct probe_targets_options {
	enum scope scope; /* SCOPE_LISTED: only pids and what comes from them */
	uid_t uid;	  /* SCOPE_USER */
	const char
		*pod; /* NAMESPACE/NAME: the processes of that pod, with SCOPE_LISTED; NULL none */
	/* What the kubelet gave GPUs to, borrowed, may change: processes of those containers are
	 * targets as those with CUDA are, and from their start. NULL: not known */
	const struct host_pods *given;
	const uint32_t *pids;
	size_t npids;
	uint32_t launched; /* a command of ours, 0 none: stopped where new code appears */
};

int probe_targets_new(struct probe_targets **out, struct probe_session *session,
		      struct library_instances *copies, struct probe_stacks *stacks,
		      const struct probe_targets_options *opt, struct err *e);
void probe_targets_free(struct probe_targets *t);

/* Take in what exists now; to be called once, after the tracepoints are there. */
int probe_targets_start(struct probe_targets *t, struct err *e);

/* One record of the life ring: scan what is new, let stopped processes go on. */
void probe_targets_life(struct probe_targets *t, const struct wire_life *l);

/* Read the maps of processes that have loaded files which hold nothing to probe, before anything of
 * theirs is looked at. */
void probe_targets_scan_grown(struct probe_targets *t);

/* From here on stopped processes are only let go: nothing new is attached. */
void probe_targets_close(struct probe_targets *t);

/* About once a second: processes nobody announced, libraries that came without a hook. */
void probe_targets_look(struct probe_targets *t);

/* To be called after a drain: threads of processes that just joined are followed from here on. */
void probe_targets_settle(struct probe_targets *t);

/* Is this process one of those asked for by user, pod or everyone? Reads /proc. */
bool probe_targets_fits(const struct probe_targets_options *opt, uint32_t tgid);
/* Is it to be looked at again, after so many looks at which it was not? Young ones each time, old
 * ones now and then. */
bool probe_targets_due(uint32_t tgid, uint64_t looks);
/* How many looks tgid has had so far, before this one of that round; looks: of all processes,
 * zero-initialised before the first. Behind a round those are forgotten that were not there: their
 * numbers are somebody else's some day. */
uint64_t probe_targets_looks(struct map *looks, uint32_t tgid, uint32_t round);
void probe_targets_forget(struct map *looks, uint32_t round);

/* How often processes were stopped, so that no call was missed, and for how long in all. */
struct probe_stops {
	uint64_t n, ns;
};
struct probe_stops probe_targets_stops(const struct probe_targets *t);

size_t probe_targets_alive(const struct probe_targets *t);
/* How many processes with a CUDA library were met. */
size_t probe_targets_with_cuda(const struct probe_targets *t);
/* One of them that has not been asked for yet, as long as there are not too many; 0: none. */
uint32_t probe_targets_new_cuda(struct probe_targets *t);

#endif
