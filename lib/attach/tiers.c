/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of library functions, grouped by tier. Invariant: the kernel side has a tier enabled only
 * while its links are attached: it is enabled after they are attached, and disabled before they are
 * detached.
 */
#include "lib/attach/tiers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/spec.h"
#include "lib/attach/spec.h"

_Static_assert(TIERS <= SPEC_TIERS, "the kernel side has room for each");

static unsigned tier_of(const struct probe_site *site)
{
	size_t n;
	const struct probe_spec *specs = probe_specs(&n);
	uint32_t at = COOKIE_TO_SPEC(site->cookie);

	return at < n ? specs[at].op.tier : (unsigned)TIER_KEPT;
}

static size_t attach_tier(struct probe_tiers *t, struct tier_file *f, unsigned tier, bool *failed,
			  struct err *first)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	return probe_link_attach(probe_session_programs(t->session), path, f->name,
				 f->sites + f->first[tier], f->first[tier + 1] - f->first[tier],
				 failed + f->first[tier], &f->fds[tier], first);
}

/* place[i]: where the site i stands among the sorted. */
static void sort_by_tier(struct tier_file *f, const struct probe_site *sites, size_t n,
			 size_t *place)
{
	size_t k = 0;

	for (unsigned tier = 0; tier < TIERS; tier++) {
		f->first[tier] = k;
		for (size_t i = 0; i < n; i++)
			if (tier_of(&sites[i]) == tier) {
				place[i] = k;
				f->sites[k++] = sites[i];
			}
	}
	f->first[TIERS] = k;
}

size_t probe_tiers_add(struct probe_tiers *t, int fd, const char *name,
		       const struct probe_site *sites, size_t n, bool *failed, struct err *first)
{
	struct tier_file f = { .fd = fd, .name = strdup(name) };
	size_t *place = calloc(n + 1, sizeof(*place)), attached = 0;
	bool *sorted = calloc(n + 1, sizeof(*sorted));

	f.sites = calloc(n + 1, sizeof(*f.sites));
	if (!f.name || !place || !sorted || !f.sites || !vec_push(&t->files, f)) {
		close(fd);
		free(f.name);
		free(f.sites);
		err_nomem(first);
	} else {
		struct tier_file *kept = &t->files.v[t->files.n - 1];

		sort_by_tier(kept, sites, n, place);
		for (unsigned tier = 0; tier < TIERS; tier++)
			attached += t->paused[tier] ? kept->first[tier + 1] - kept->first[tier]
						    : attach_tier(t, kept, tier, sorted, first);
		for (size_t i = 0; i < n; i++)
			failed[i] = sorted[place[i]];
	}
	free(place);
	free(sorted);
	return attached;
}

int64_t probe_tiers_pause(struct probe_tiers *t, enum op_tier tier)
{
	int64_t since;

	if (t->paused[tier])
		return 0;
	t->paused[tier] = true;
	since = probe_session_tier(t->session, tier, false);
	for (size_t i = 0; i < t->files.n; i++) {
		struct probe_fds *fds = &t->files.v[i].fds[tier];

		if (probe_session_programs(t->session)->link == PROBE_LINK_PERF) {
			probe_link_silence(fds);
			probe_link_abandon(fds);
		} else {
			probe_link_close_later(fds);
		}
	}
	return since;
}

bool probe_tiers_resume(struct probe_tiers *t, enum op_tier tier, struct err *why)
{
	size_t attached = 0, wanted = 0;

	if (!t->paused[tier])
		return true;
	/* The runtime's library is met before the driver's: a launch of which one half is seen is a
	 * runtime's. */
	for (size_t i = 0; i < t->files.n; i++) {
		struct tier_file *f = &t->files.v[i];
		size_t n = f->first[tier + 1] - f->first[tier];
		bool *failed = n ? calloc(f->first[TIERS], sizeof(*failed)) : NULL;

		wanted += n;
		if (failed)
			attached += attach_tier(t, f, tier, failed, why);
		free(failed);
	}
	if (wanted && !attached)
		return false;
	t->paused[tier] = false;
	probe_session_tier(t->session, tier, true);
	return true;
}

bool probe_tiers_detach(struct probe_tiers *t)
{
	bool perf = probe_session_programs(t->session)->link == PROBE_LINK_PERF, all = true;
	struct probe_fds every = { 0 };

	/* Links go one after the other: all end at the same time all the same. */
	probe_session_mute(t->session);
	for (size_t i = 0; i < t->files.n; i++)
		for (unsigned tier = 0; tier < TIERS; tier++) {
			struct probe_fds *fds = &t->files.v[i].fds[tier];

			if (perf)
				probe_link_silence(fds);
			else if (!probe_link_move(&every, fds))
				all = probe_link_detach(fds) && all;
		}
	return probe_link_detach(&every) && all;
}

void probe_tiers_free(struct probe_tiers *t)
{
	struct probe_fds every = { 0 };

	for (size_t i = 0; i < t->files.n; i++) {
		struct tier_file *f = &t->files.v[i];

		for (unsigned tier = 0; tier < TIERS; tier++)
			if (!probe_link_move(&every, &f->fds[tier]))
				probe_link_abandon(&f->fds[tier]);
		close(f->fd);
		free(f->name);
		free(f->sites);
	}
	probe_link_abandon(&every);
	vec_free(&t->files);
}
