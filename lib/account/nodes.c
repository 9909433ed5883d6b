/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps CPUs, their make and the samples of each node in an array that node ids index.
 */
#include "lib/account/nodes.h"

void cause_nodes_free(struct cause_nodes *n)
{
	vec_free(&n->v);
}

/* NULL with *nomem: out of memory, NULL without: there are too many. */
static struct cause_node *node_at(struct cause_nodes *n, const struct world *w, uint32_t node,
				  bool *nomem)
{
	node = world_get_node(w, node) ? node : 0;
	*nomem = false;
	if (node > CAUSE_NODES)
		return NULL;
	*nomem = true;
	if (!vec_reach(&n->v, node))
		return NULL;
	return &n->v.v[node];
}

static void extend_end(struct cause_node *of, int64_t ns)
{
	if (of && ns > of->end_ns)
		of->end_ns = ns;
}

bool cause_nodes_record(struct cause_nodes *n, const struct world *w, const struct record *r)
{
	const struct rec_SAMPLE *s = &r->u.SAMPLE;
	struct cause_node *of;
	struct cause_metric *m;
	bool nomem;

	if (r->kind == RECORD_NODE) {
		of = node_at(n, w, r->u.NODE.node, &nomem);
		if (of && REC_HAS(r, NODE, cpus))
			of->cpus = r->u.NODE.cpus;
		if (of && REC_HAS(r, NODE, arch))
			of->arch = syscall_arch_of(r->u.NODE.arch);
		return of || !nomem;
	}
	if (r->kind == RECORD_CLOCK) {
		of = node_at(n, w, REC_HAS(r, CLOCK, node) ? r->u.CLOCK.node : 0, &nomem);
		extend_end(of, r->u.CLOCK.mono_ns);
		return of || !nomem;
	}
	if (r->kind != RECORD_SAMPLE || s->metric >= CAUSE_METRICS || REC_HAS(r, SAMPLE, process) ||
	    REC_HAS(r, SAMPLE, cgroup) || REC_HAS(r, SAMPLE, gpu) || REC_HAS(r, SAMPLE, cpu) ||
	    REC_HAS(r, SAMPLE, device))
		return true;
	of = node_at(n, w, REC_HAS(r, SAMPLE, node) ? s->node : 0, &nomem);
	if (!of)
		return !nomem;
	extend_end(of, s->time_ns);
	m = &of->metric[s->metric];
	if (m->n++ == 0)
		m->first = m->max = s->value;
	m->last = s->value;
	m->sum += s->value;
	if (s->value > m->max)
		m->max = s->value;
	return true;
}

int64_t cause_nodes_end(const struct cause_nodes *n, uint32_t node)
{
	return node && node < n->v.n ? n->v.v[node].end_ns : 0;
}

const struct cause_metric *cause_nodes_metric(const struct cause_nodes *n, uint32_t node,
					      enum metric_id metric)
{
	static const struct cause_metric none;

	if (node < n->v.n && n->v.v[node].metric[metric].n)
		return &n->v.v[node].metric[metric];
	return n->v.n ? &n->v.v[0].metric[metric] : &none;
}

uint32_t cause_nodes_cpus(const struct cause_nodes *n, uint32_t node)
{
	if (node < n->v.n && n->v.v[node].cpus)
		return n->v.v[node].cpus;
	return n->v.n ? n->v.v[0].cpus : 0;
}

enum syscall_arch cause_nodes_arch(const struct cause_nodes *n, uint32_t node)
{
	if (node < n->v.n && n->v.v[node].arch != SYSCALL_UNKNOWN)
		return n->v.v[node].arch;
	return n->v.n ? n->v.v[0].arch : SYSCALL_UNKNOWN;
}
