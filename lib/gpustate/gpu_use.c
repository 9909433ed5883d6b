/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which processes had work on a GPU at the same time. There are few clients at a time: each
 * question walks all of them, and only where a GPU is shared.
 */
#include "lib/gpustate/gpu_use.h"

#include <string.h>

bool gpu_use_add(struct gpu_use *u, uint32_t gpu)
{
	struct gpu_client fresh = { .gpu = gpu };

	for (size_t i = 0; i < u->here.n && gpu; i++) {
		struct gpu_client *c = &u->v.v[u->here.v[i]];

		if (c->gpu == gpu)
			c->shared = fresh.shared = true;
	}
	return vec_push(&u->here, (uint32_t)u->v.n) && vec_push(&u->v, fresh);
}

bool gpu_use_forget(struct gpu_use *u, uint32_t client)
{
	const struct gpu_client *c = &u->v.v[client];
	size_t i = 0;

	while (i < u->here.n && u->here.v[i] != client)
		i++;
	if (i == u->here.n)
		return true;
	u->here.n--;
	memmove(u->here.v + i, u->here.v + i + 1, (u->here.n - i) * sizeof(u->here.v[0]));
	if (!c->shared)
		return true;
	for (i = 0; i < u->gone.n && u->gone.v[i].gpu != c->gpu;)
		i++;
	if (i == u->gone.n && !vec_push(&u->gone, (struct gpu_gone){ .gpu = c->gpu }))
		return false;
	u->gone.v[i].busy_ns += c->busy_ns;
	return true;
}

void gpu_use_free(struct gpu_use *u)
{
	vec_free(&u->v);
	vec_free(&u->here);
	vec_free(&u->gone);
}

void gpu_use_busy(struct gpu_use *u, uint32_t client, bool busy, int64_t now_ns)
{
	struct gpu_client *c = &u->v.v[client];

	if (busy && !c->busy)
		c->since_ns = now_ns;
	if (!busy && c->busy && now_ns > c->since_ns)
		c->busy_ns += now_ns - c->since_ns;
	c->busy = busy;
}

static int64_t get_busy_ns(const struct gpu_client *c, int64_t now_ns)
{
	return c->busy_ns + (c->busy && now_ns > c->since_ns ? now_ns - c->since_ns : 0);
}

static bool is_beside(const struct gpu_use *u, uint32_t client, uint32_t other)
{
	return other != client && u->v.v[other].gpu == u->v.v[client].gpu;
}

uint64_t gpu_use_others(const struct gpu_use *u, uint32_t client, int64_t now_ns)
{
	const struct gpu_client *me = &u->v.v[client];
	uint64_t sum = 0;

	for (size_t i = 0; me->shared && i < u->gone.n; i++)
		sum += u->gone.v[i].gpu == me->gpu ? (uint64_t)u->gone.v[i].busy_ns : 0;
	for (size_t i = 0; me->shared && i < u->here.n; i++) {
		if (is_beside(u, client, u->here.v[i]))
			sum += (uint64_t)get_busy_ns(&u->v.v[u->here.v[i]], now_ns);
	}
	return sum;
}

bool gpu_use_mark(const struct gpu_use *u, uint32_t client, int64_t now_ns, struct gpu_mark *m)
{
	m->others_ns = gpu_use_others(u, client, now_ns);
	m->v.n = 0;
	for (size_t i = 0; u->v.v[client].shared && i < u->here.n; i++) {
		uint32_t other = u->here.v[i];
		struct gpu_had now = { other, get_busy_ns(&u->v.v[other], now_ns) };

		if (is_beside(u, client, other) && !vec_push(&m->v, now))
			return false;
	}
	return true;
}

void gpu_mark_free(struct gpu_mark *m)
{
	vec_free(&m->v);
}

uint32_t gpu_use_most(const struct gpu_use *u, uint32_t client, int64_t now_ns,
		      const struct gpu_mark *since)
{
	uint32_t most = UINT32_MAX;
	int64_t best = 0;
	size_t k = 0;

	/* Both in ascending order; who is not in the mark came later. */
	for (size_t i = 0; i < u->here.n; i++) {
		uint32_t other = u->here.v[i];
		int64_t ns = get_busy_ns(&u->v.v[other], now_ns);

		if (!is_beside(u, client, other))
			continue;
		while (k < since->v.n && since->v.v[k].client < other)
			k++;
		if (k < since->v.n && since->v.v[k].client == other)
			ns -= since->v.v[k].ns;
		if (ns > best) {
			best = ns;
			most = other;
		}
	}
	return most;
}
