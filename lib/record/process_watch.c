/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the target processes in /proc at each look. A process that began and ended between two
 * looks is missed. Invariant: for each process, came is called once before gone.
 */
#include "lib/record/process_watch.h"

#include <unistd.h>

#include "lib/base/vec.h"
#include "lib/host/proc.h"

struct looking {
	struct record_watch *w;
	void (*came)(void *ctx, uint32_t tgid);
	void *ctx;
};

static void is_there(struct looking *l, uint32_t tgid)
{
	uint64_t round;

	if (tgid == (uint32_t)getpid())
		return;
	if (!map_get(&l->w->alive, tgid, &round)) {
		l->came(l->ctx, tgid);
		l->w->with_cuda += library_instances_has_cuda(tgid);
	}
	map_put(&l->w->alive, tgid, l->w->round);
}

static int watch_tree(struct looking *l, uint32_t root, bool named, struct err *e)
{
	struct host_pids pids = { 0 };
	struct err ignored = { 0 };

	if (host_proc_sight(root) == HOST_GONE)
		return named && l->w->round == 1 ? err_set(e, ERR_CANNOT, "no process %u", root)
						 : 0;
	is_there(l, root);
	if (host_proc_tree(root, &pids, &ignored) == 0)
		for (size_t i = 0; i < pids.n; i++)
			is_there(l, pids.v[i]);
	host_pids_free(&pids);
	return 0;
}

/* Whose tree was left by the end of its parent stays with us. */
static void those_before(struct looking *l)
{
	VEC(uint32_t) before = { 0 };
	uint64_t tgid, round;
	size_t at = 0;

	while (map_each(&l->w->alive, &at, &tgid, &round))
		if (round != l->w->round)
			vec_push(&before, (uint32_t)tgid);
	for (size_t i = 0; i < before.n; i++)
		if (host_proc_sight(before.v[i]) != HOST_GONE)
			map_put(&l->w->alive, before.v[i], l->w->round);
	vec_free(&before);
}

static void watch_all(struct looking *l, const struct probe_targets_options *opt)
{
	uint32_t round = (uint32_t)l->w->round;
	struct host_pids all = { 0 };
	struct err ignored = { 0 };

	if (host_proc_all(&all, &ignored) == 0) {
		for (size_t i = 0; i < all.n; i++)
			if (!map_get(&l->w->alive, all.v[i], NULL) &&
			    probe_targets_due(all.v[i],
					      probe_targets_looks(&l->w->looks, all.v[i], round)) &&
			    probe_targets_fits(opt, all.v[i]))
				is_there(l, all.v[i]);
		probe_targets_forget(&l->w->looks, round);
	}
	host_pids_free(&all);
}

int record_watch_look(struct record_watch *w, const struct probe_targets_options *opt,
		      void (*came)(void *ctx, uint32_t tgid),
		      void (*gone)(void *ctx, uint32_t tgid), void *ctx, struct err *e)
{
	struct looking l = { w, came, ctx };
	VEC(uint32_t) left = { 0 };
	uint64_t tgid, round;
	size_t at = 0;
	int rc = 0;

	w->round++;
	if (opt->launched)
		rc = watch_tree(&l, opt->launched, false, e);
	for (size_t i = 0; rc == 0 && i < opt->npids; i++)
		rc = watch_tree(&l, opt->pids[i], true, e);
	if (rc == 0 && (opt->scope != SCOPE_LISTED || opt->pod))
		watch_all(&l, opt);
	those_before(&l);
	while (map_each(&w->alive, &at, &tgid, &round))
		if (round != w->round)
			vec_push(&left, (uint32_t)tgid);
	for (size_t i = 0; i < left.n; i++) {
		map_del(&w->alive, left.v[i]);
		gone(ctx, left.v[i]);
	}
	vec_free(&left);
	return rc;
}

void record_watch_free(struct record_watch *w)
{
	map_free(&w->alive);
	map_free(&w->looks);
}
