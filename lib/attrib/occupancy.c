/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of occupancy slices, one per CPU of each node. Looking up walks back from the newest
 * slice and stops at the first that ended before the wait began: the cost is the overlap.
 */
#include "lib/attrib/occupancy.h"

#include <stdlib.h>
#include <string.h>

void occupancy_free(struct occupancy *o)
{
	for (size_t i = 0; i < o->cpus.n; i++)
		free(o->cpus.v[i].v);
	vec_free(&o->cpus);
	map_free(&o->index);
}

static const struct occupancy_cpu *cpu_find(const struct occupancy *o, uint32_t node, uint32_t cpu)
{
	uint64_t at;

	if (!map_get(&o->index, (uint64_t)node << 32 | cpu, &at))
		return NULL;
	return &o->cpus.v[at - 1];
}

static struct occupancy_cpu *cpu_need(struct occupancy *o, uint32_t node, uint32_t cpu)
{
	struct occupancy_cpu empty = { 0 };
	uint64_t key = (uint64_t)node << 32 | cpu, at;

	if (map_get(&o->index, key, &at))
		return &o->cpus.v[at - 1];
	if (!vec_push(&o->cpus, empty))
		return NULL;
	if (!map_put(&o->index, key, o->cpus.n)) {
		o->cpus.n--;
		return NULL;
	}
	return &o->cpus.v[o->cpus.n - 1];
}

static bool ring_grow(struct occupancy_cpu *c)
{
	uint32_t cap = c->cap ? c->cap * 2 : 64;
	struct occupancy_slice *v = malloc(cap * sizeof(*v));

	if (!v)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		v[i] = c->v[(c->next - c->n + i) & (c->cap - 1)];
	free(c->v);
	c->v = v;
	c->cap = cap;
	c->next = c->n;
	return true;
}

bool occupancy_add(struct occupancy *o, uint32_t node, uint32_t cpu, int64_t start_ns,
		   int64_t end_ns, uint32_t thread)
{
	struct occupancy_cpu *c;

	if (end_ns <= start_ns)
		return true;
	c = cpu_need(o, node, cpu);
	if (!c)
		return false;
	if (c->n && end_ns < c->v[(c->next - 1) & (c->cap - 1)].end_ns)
		return true;
	if (c->n == c->cap && c->cap < OCCUPANCY_SLICES && !ring_grow(c))
		return false;
	c->v[c->next++ & (c->cap - 1)] = (struct occupancy_slice){ start_ns, end_ns, thread };
	if (c->n < c->cap)
		c->n++;
	return true;
}

bool occupancy_back(const struct occupancy *o, uint32_t node, uint32_t cpu, uint32_t i,
		    struct occupancy_slice *slice)
{
	const struct occupancy_cpu *c = cpu_find(o, node, cpu);

	if (!c || i == 0 || i > c->n)
		return false;
	*slice = c->v[(c->next - i) & (c->cap - 1)];
	return true;
}

static void share_add(struct occupancy_answer *ans, uint32_t thread, uint64_t ns)
{
	ans->covered_ns += ns;
	for (unsigned i = 0; i < ans->n; i++) {
		if (ans->v[i].thread == thread) {
			ans->v[i].ns += ns;
			return;
		}
	}
	if (ans->n == OCCUPANCY_SHARES)
		ans->unnamed_ns += ns;
	else
		ans->v[ans->n++] = (struct occupancy_share){ thread, ns };
}

void occupancy_over(const struct occupancy *o, uint32_t node, uint32_t cpu, int64_t a, int64_t b,
		    struct occupancy_answer *ans)
{
	const struct occupancy_cpu *c = cpu_find(o, node, cpu);

	for (uint32_t i = 1; c && i <= c->n && a < b; i++) {
		const struct occupancy_slice *s = &c->v[(c->next - i) & (c->cap - 1)];
		int64_t from = s->start_ns > a ? s->start_ns : a;
		int64_t to = s->end_ns < b ? s->end_ns : b;

		if (s->end_ns <= a)
			break;
		if (to <= from)
			continue;
		share_add(ans, s->thread, (uint64_t)(to - from));
		b = from; /* whatever older slices claim of this time is already charged */
	}
}

size_t occupancy_held(const struct occupancy *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->cpus.n; i++)
		n += o->cpus.v[i].n;
	return n;
}
