/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups are few and their ids dense.
 */
#include "lib/cause/cgroups.h"

static void counted(struct cause_counter *k, double value)
{
	if (k->n++ == 0)
		k->first = value;
	k->last = value;
}

bool cause_cgroups_record(struct cause_cgroups *g, const struct record *r)
{
	const struct rec_SAMPLE *s = &r->u.SAMPLE;
	struct cause_cgroup *c;

	if (r->kind != RECORD_SAMPLE || !REC_HAS(r, SAMPLE, cgroup) || s->cgroup >= CAUSE_CGROUPS ||
	    s->metric < METRIC_CGROUP_MEM_USED || s->metric > METRIC_CGROUP_OOM_KILLS)
		return true;
	while (g->v.n <= s->cgroup) {
		if (!vec_push(&g->v, (struct cause_cgroup){ 0 }))
			return false;
	}
	c = &g->v.v[s->cgroup];
	c->samples++;
	switch (s->metric) {
	case METRIC_CGROUP_MEM_USED:
		c->used_max = s->value > c->used_max ? s->value : c->used_max;
		break;
	case METRIC_CGROUP_MEM_LIMIT:
		c->limit = s->value;
		break;
	case METRIC_CGROUP_MEM_HIGH:
		counted(&c->high_hits, s->value);
		break;
	case METRIC_CGROUP_MEM_MAX:
		counted(&c->limit_hits, s->value);
		break;
	case METRIC_CGROUP_OOM_KILLS:
		counted(&c->kills, s->value);
		break;
	default:
		break;
	}
	return true;
}

const struct cause_cgroup *cause_cgroup(const struct cause_cgroups *g, uint32_t cgroup)
{
	return cgroup < g->v.n && g->v.v[cgroup].samples ? &g->v.v[cgroup] : NULL;
}
