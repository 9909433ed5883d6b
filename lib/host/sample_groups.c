/* SPDX-License-Identifier: Apache-2.0 */
/* Samples the memory of the targets' cgroups, and of those above that limit it. */
#include "lib/host/sample_groups.h"

#include "lib/event/record.h"

#define GROUPS_MAX 128u

void host_groups_free(struct host_groups *g)
{
	for (size_t i = 0; i < g->v.n; i++)
		host_memory_group_close(&g->v.v[i].files);
	vec_free(&g->v);
}

/* The slot of a group that had no target at the last tick and has none at this one. */
static struct host_group *find_deserted(struct host_groups *g, uint64_t tick)
{
	for (size_t i = 0; i < g->v.n; i++)
		if (g->v.v[i].tick + 1 < tick)
			return &g->v.v[i];
	return NULL;
}

/* Index + 1; 0: its memory is not counted. */
static uint32_t group_of(struct host_groups *g, uint32_t cgroup, const char *folder, uint64_t tick)
{
	struct host_group group = { .cgroup = cgroup, .tick = tick }, *old;

	for (size_t i = 0; i < g->v.n; i++)
		if (g->v.v[i].cgroup == cgroup) {
			g->v.v[i].tick = tick;
			return (uint32_t)i + 1;
		}
	old = find_deserted(g, tick);
	if ((!old && g->v.n >= GROUPS_MAX) || !host_memory_group_open(&group.files, folder))
		return 0;
	if (old) {
		host_memory_group_close(&old->files);
		*old = group;
		return (uint32_t)(old - g->v.v) + 1;
	}
	if (vec_push(&g->v, group))
		return (uint32_t)g->v.n;
	host_memory_group_close(&group.files);
	return 0;
}

unsigned host_groups_find(struct host_groups *g, const struct host_cgroup_trees *trees,
			  struct world *w, uint32_t node, uint32_t pid, uint64_t tick,
			  uint32_t out[HOST_GROUPS_DEPTH])
{
	struct host_cgroup at, above;
	bool more = host_cgroup_memory(trees, pid, &at, NULL) == 0;
	unsigned n = 0;

	while (more && n < HOST_GROUPS_DEPTH) {
		uint32_t i = group_of(g, host_cgroup_world(w, node, &at), at.folder, tick);

		if (i)
			out[n++] = i;
		more = host_cgroup_parent(trees, &at, &above);
		at = above;
	}
	return n;
}

void host_groups_seen(struct host_groups *g, const uint32_t *which, unsigned n, uint64_t tick)
{
	for (unsigned i = 0; i < n; i++)
		g->v.v[which[i] - 1].tick = tick;
	if (n)
		g->v.v[which[0] - 1].own_tick = tick;
}

static void emit_group(const struct host_group *group, const struct host_memory_group_now *now,
		       host_group_fn *fn, void *ctx)
{
	fn(ctx, group->cgroup, METRIC_CGROUP_MEM_USED, (double)now->used_bytes);
	if (now->limit_bytes)
		fn(ctx, group->cgroup, METRIC_CGROUP_MEM_LIMIT, (double)now->limit_bytes);
	if (now->has_events) {
		if (!group->files.v1)
			fn(ctx, group->cgroup, METRIC_CGROUP_MEM_HIGH, (double)now->high);
		fn(ctx, group->cgroup, METRIC_CGROUP_MEM_MAX, (double)now->max);
	}
	if (now->has_kills)
		fn(ctx, group->cgroup, METRIC_CGROUP_OOM_KILLS, (double)now->oom_kills);
}

void host_groups_say(const struct host_groups *g, uint64_t tick, struct buf *room,
		     host_group_fn *fn, void *ctx)
{
	struct host_memory_group_now now;

	for (size_t i = 0; i < g->v.n; i++) {
		const struct host_group *group = &g->v.v[i];

		if (group->tick != tick || !host_memory_group_read(&group->files, room, &now))
			continue;
		if (group->own_tick == tick || now.limit_bytes || now.high || now.max)
			emit_group(group, &now, fn, ctx);
	}
}
