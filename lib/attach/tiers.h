/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links on library functions, by library file and tier (event/tier.h), so that the probes of
 * one tier can be detached while the recording goes on, and put back. Files are held open: one that
 * has been unlinked meanwhile is probed again.
 */
#ifndef INGERO_ATTACH_TIERS_H
#define INGERO_ATTACH_TIERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"
#include "lib/event/tier.h"
#include "lib/attach/link.h"
#include "lib/attach/session.h"

struct tier_file {
	int fd;
	char *name;		  /* as a person knows it */
	struct probe_site *sites; /* by tier: those of tier t begin at first[t] */
	size_t first[TIERS + 1];
	struct probe_fds fds[TIERS];
};

/* Zero-initialised is empty, but for session. */
struct probe_tiers {
	struct probe_session *session;
	VEC(struct tier_file) files;
	bool paused[TIERS];
};

/* Puts probes on the sites of a file, whose low half of the cookie is the index of a spec. fd is
 * taken over, name copied. failed and first as of probe_link_attach; sites of a paused tier count
 * as attached, and are when it is resumed. Returns the number of attached. */
size_t probe_tiers_add(struct probe_tiers *t, int fd, const char *name,
		       const struct probe_site *sites, size_t n, bool *failed, struct err *first);

/* No call of the tier is recorded from here on; its traps are gone within some hundredths of a
 * second (perf links: seconds). */
/* Returns since when, CLOCK_MONOTONIC; 0: it was paused already. */
int64_t probe_tiers_pause(struct probe_tiers *t, enum op_tier tier);
/* Its calls are recorded again. False: nothing of it could be attached, and it stays paused; why
 * says so. */
bool probe_tiers_resume(struct probe_tiers *t, enum op_tier tier, struct err *why);

/* Everything, as probe_link_detach; perf links are only silenced, and go when this is freed. */
bool probe_tiers_detach(struct probe_tiers *t);
void probe_tiers_free(struct probe_tiers *t);

#endif
