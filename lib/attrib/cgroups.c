/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the samples of each cgroup (limits, throttling, quota) in an array that its id indexes.
 */
#include "lib/attrib/cgroups.h"

static void update_counter(struct cause_counter *k, double value)
{
	if (k->n++ == 0)
		k->first = value;
	k->last = value;
}

void cause_cgroups_free(struct cause_cgroups *g)
{
	vec_free(&g->v);
	vec_free(&g->members);
}

static bool add_member(struct cause_cgroups *g, uint32_t process, uint32_t cgroup)
{
	for (size_t i = g->members.n; i-- > 0;) {
		if (g->members.v[i].process == process && g->members.v[i].cgroup == cgroup)
			return true;
	}
	return g->members.n >= CAUSE_CGROUPS ||
	       vec_push(&g->members, (struct cause_member){ process, cgroup });
}

uint32_t cause_cgroups_quota(const struct cause_cgroups *g, uint32_t process, uint32_t otherwise)
{
	double most = 0, most_ever = 0;
	uint32_t now = 0, ever = otherwise;

	for (size_t i = 0; i < g->members.n; i++) {
		uint32_t at = g->members.v[i].cgroup;
		const struct cause_counter *k = at < g->v.n ? &g->v.v[at].throttled_ns : NULL;

		if (g->members.v[i].process != process || !k)
			continue;
		if (cause_counted(k) > most) {
			most = cause_counted(k);
			now = at;
		}
		if (k->last > most_ever) {
			most_ever = k->last;
			ever = at;
		}
	}
	return most > 0 ? now : ever;
}

uint32_t cause_cgroups_limit(const struct cause_cgroups *g, uint32_t process, uint32_t otherwise)
{
	double most = 0;

	for (size_t i = 0; i < g->members.n; i++) {
		uint32_t at = g->members.v[i].cgroup;
		double hits = at < g->v.n ? cause_counted(&g->v.v[at].limit_hits) +
						    cause_counted(&g->v.v[at].high_hits)
					  : 0;

		if (g->members.v[i].process != process || hits <= most)
			continue;
		most = hits;
		otherwise = at;
	}
	return otherwise;
}

uint32_t cause_cgroups_full(const struct cause_cgroups *g, uint32_t process, uint32_t otherwise,
			    uint64_t times)
{
	uint32_t at = cause_cgroups_limit(g, process, otherwise);
	const struct cause_cgroup *c = cause_cgroup(g, at);
	double hits = c && c->limit > 0 ? cause_counted(&c->limit_hits) : 0;

	return hits > 0 && hits >= (double)times / 4 ? at : 0;
}

bool cause_cgroups_record(struct cause_cgroups *g, const struct record *r)
{
	const struct rec_SAMPLE *s = &r->u.SAMPLE;
	struct cause_cgroup *c;
	bool memory;

	if (r->kind != RECORD_SAMPLE || !REC_HAS(r, SAMPLE, cgroup) || s->cgroup >= CAUSE_CGROUPS)
		return true;
	memory = s->metric >= METRIC_CGROUP_MEM_USED && s->metric <= METRIC_CGROUP_OOM_KILLS;
	if (REC_HAS(r, SAMPLE, process))
		return (s->metric != METRIC_CGROUP_PERIODS &&
			s->metric != METRIC_CGROUP_MEM_USED) ||
		       add_member(g, s->process, s->cgroup);
	if (!memory && s->metric != METRIC_CGROUP_THROTTLED_NS)
		return true;
	if (!vec_reach(&g->v, s->cgroup))
		return false;
	c = &g->v.v[s->cgroup];
	if (!memory) {
		update_counter(&c->throttled_ns, s->value);
		return true;
	}
	c->samples++;
	switch (s->metric) {
	case METRIC_CGROUP_MEM_USED:
		c->used_max = s->value > c->used_max ? s->value : c->used_max;
		break;
	case METRIC_CGROUP_MEM_LIMIT:
		c->limit = s->value;
		break;
	case METRIC_CGROUP_MEM_HIGH:
		update_counter(&c->high_hits, s->value);
		break;
	case METRIC_CGROUP_MEM_MAX:
		update_counter(&c->limit_hits, s->value);
		break;
	case METRIC_CGROUP_OOM_KILLS:
		update_counter(&c->kills, s->value);
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
