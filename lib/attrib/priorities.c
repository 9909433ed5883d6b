/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps one priority for each process, and compares those of two by the rules of the kernel's
 * scheduler: within a group threads compete by nice, and where groups differ it is the groups that
 * compete. Threads of the root group compete with all autogroups by themselves.
 */
#include "lib/attrib/priorities.h"

#define NICE_MIN    (-20)
#define NICE_MAX    19
#define ROOT_CGROUP 1
enum { POLICY_FIFO = 1, POLICY_RR = 2, POLICY_IDLE = 5, POLICY_DEADLINE = 6 };

void priorities_free(struct priorities *p)
{
	map_free(&p->by);
	vec_free(&p->v);
}

static uint64_t key_of(uint32_t node, uint32_t tgid)
{
	return (uint64_t)node << 32 | tgid;
}

static bool is_realtime(const struct priority *p)
{
	return p->policy == POLICY_FIFO || p->policy == POLICY_RR || p->policy == POLICY_DEADLINE;
}

static int8_t read_nice(int64_t nice)
{
	return (int8_t)(nice < NICE_MIN ? NICE_MIN : nice > NICE_MAX ? NICE_MAX : nice);
}

/* By the class first. */
static bool is_favoured(const struct priority *p, const struct priority *than)
{
	int rank[2] = { is_realtime(p) - (p->policy == POLICY_IDLE),
			is_realtime(than) - (than->policy == POLICY_IDLE) };

	return rank[0] != rank[1] ? rank[0] > rank[1] : p->nice < than->nice;
}

bool priorities_record(struct priorities *p, const struct world *w, const struct record *r)
{
	const struct rec_PRIORITY *said = &r->u.PRIORITY;
	uint32_t process = world_thread_process_id(w, said->thread);
	const struct world_process *of = world_get_process(w, process);
	struct priority now = { .nice = read_nice(said->nice),
				.autogroup_nice = read_nice(said->autogroup_nice),
				.policy = (uint8_t)said->policy,
				.autogroup = said->autogroup,
				.cgroup = said->cgroup };
	uint64_t at;

	if (!of || !REC_HAS(r, PRIORITY, nice) || (!now.autogroup && !now.cgroup))
		return true;
	if (map_get(&p->by, key_of(of->node, of->tgid), &at)) {
		struct priority *was = &p->v.v[at];

		if (was->autogroup != now.autogroup || was->cgroup != now.cgroup ||
		    is_favoured(&now, was))
			*was = now;
		return true;
	}
	if (p->v.n >= PRIORITIES_MAX)
		return true;
	return vec_push(&p->v, now) && map_put(&p->by, key_of(of->node, of->tgid), p->v.n - 1);
}

const struct priority *priorities_of(const struct priorities *p, uint32_t node, uint32_t tgid)
{
	uint64_t at;

	return map_get(&p->by, key_of(node, tgid), &at) ? &p->v.v[at] : NULL;
}

bool priorities_in_cgroup(const struct priority *p)
{
	return p && !p->autogroup && p->cgroup != ROOT_CGROUP;
}

static bool is_together(const struct priority *a, const struct priority *b)
{
	return a->autogroup == b->autogroup && a->cgroup == b->cgroup;
}

enum priority_remedy priorities_remedy(const struct priority *culprit,
				       const struct priority *victim)
{
	if (!culprit || !victim)
		return PRIORITY_UNKNOWN;
	if (is_realtime(culprit))
		return PRIORITY_NORMAL;
	if (!is_together(culprit, victim) && culprit->autogroup)
		return culprit->autogroup_nice < NICE_MAX ? PRIORITY_AUTOGROUP : PRIORITY_LOWEST;
	if (!is_together(culprit, victim) && priorities_in_cgroup(culprit))
		return PRIORITY_CGROUP;
	if (culprit->policy == POLICY_IDLE)
		return PRIORITY_LOWEST;
	return culprit->nice < NICE_MAX ? PRIORITY_RENICE : PRIORITY_IDLE;
}

enum priority_lowered priorities_lowered(const struct priority *culprit,
					 const struct priority *victim)
{
	bool together = victim && (culprit ? is_together(culprit, victim) : !victim->autogroup);

	if (!victim || is_realtime(victim))
		return PRIORITY_USUAL;
	if (victim->policy == POLICY_IDLE)
		return PRIORITY_IDLE_ITSELF;
	if (together && victim->nice > 0 && (!culprit || victim->nice > culprit->nice))
		return PRIORITY_NICE_ITSELF;
	if (!together && victim->autogroup && victim->autogroup_nice > 0 &&
	    (!culprit || victim->autogroup_nice > culprit->autogroup_nice))
		return PRIORITY_NICE_GROUP;
	return PRIORITY_USUAL;
}

unsigned priorities_weight(int nice)
{
	static const unsigned weight[] = {
		88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
		9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
		1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
		110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
	};

	return weight[read_nice(nice) - NICE_MIN];
}

unsigned priorities_victim_weight(const struct priority *culprit, const struct priority *victim)
{
	if (is_together(culprit, victim))
		return victim->policy == POLICY_IDLE ? 3 : priorities_weight(victim->nice);
	if (victim->autogroup)
		return priorities_weight(victim->autogroup_nice);
	return priorities_in_cgroup(victim) ? 0 : priorities_weight(victim->nice);
}
