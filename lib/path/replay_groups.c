/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of threads that have nothing to do with each other in a replay, so that an anchor's is
 * replayed without the others: those of one process, who waited for each other, who made whom.
 * Union-find by thread; each group is known by one of its threads.
 */
#include "lib/path/replay_internal.h"

static uint32_t find_group(struct replay *r, uint32_t thread)
{
	uint32_t *v = r->groups.v;

	while (v[thread] != thread) {
		v[thread] = v[v[thread]];
		thread = v[thread];
	}
	return thread;
}

static void join_groups(struct replay *r, uint32_t a, uint32_t b)
{
	if (a < r->groups.n && b < r->groups.n)
		r->groups.v[find_group(r, a)] = find_group(r, b);
}

static void join_waits(struct replay *r, const struct path_thread *th)
{
	const struct segment_entry *v = th->log.v.v;

	for (size_t i = 0; i < th->log.v.n; i++)
		if ((v[i].key & SEGMENT_KEY_KIND) == SEGMENT_KEY_WAITING)
			join_groups(r, th->id, segment_key_get(&r->p->keys, v[i].key)->s.who);
}

/* False: out of memory. */
static bool join_processes(struct replay *r)
{
	VEC(uint32_t) first = { 0 }; /* thread of each process */
	bool ok = true;

	for (size_t i = 0; ok && i < r->p->threads.n; i++) {
		const struct path_thread *th = r->p->threads.v[i];

		if (!th)
			continue;
		ok = vec_reach(&first, th->process);
		if (ok && first.v[th->process])
			join_groups(r, th->id, first.v[th->process]);
		else if (ok)
			first.v[th->process] = th->id;
	}
	vec_free(&first);
	return ok;
}

bool replay_groups_make(struct replay *r)
{
	const struct path *p = r->p;
	uint64_t pair;

	if (p->threads.n && !vec_reach(&r->groups, p->threads.n - 1))
		return false;
	for (size_t i = 0; i < r->groups.n; i++)
		r->groups.v[i] = (uint32_t)i;
	for (size_t i = 0; i < p->threads.n; i++) {
		const struct path_thread *th = p->threads.v[i];

		if (!th)
			continue;
		join_waits(r, th);
		if (th->creator)
			join_groups(r, th->id, th->creator);
	}
	/* Partners by waits that were folded. */
	for (size_t at = 0; map_each(&p->releases.counts, &at, &pair, NULL);)
		join_groups(r, (uint32_t)(pair >> 32), (uint32_t)pair);
	return join_processes(r);
}

bool replay_groups_has(struct replay *r, uint32_t anchor, uint32_t thread)
{
	return find_group(r, anchor) == find_group(r, thread);
}
