/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There are few clients at a time: each question walks all of them, and only where a GPU is shared.
 */
#include "lib/line/gpu_use.h"

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

uint64_t gpu_use_others(const struct gpu_use *u, uint32_t client, int64_t now_ns, uint32_t *most)
{
	const struct gpu_client *me = &u->v.v[client];
	uint64_t sum = 0, best = 0;

	for (size_t i = 0; me->shared && i < u->gone.n; i++)
		sum += u->gone.v[i].gpu == me->gpu ? (uint64_t)u->gone.v[i].busy_ns : 0;
	for (size_t i = 0; me->shared && i < u->here.n; i++) {
		const struct gpu_client *c = &u->v.v[u->here.v[i]];
		int64_t ns = c->busy_ns;

		if (c == me || c->gpu != me->gpu)
			continue;
		if (c->busy && now_ns > c->since_ns)
			ns += now_ns - c->since_ns;
		sum += (uint64_t)ns;
		if ((uint64_t)ns > best) {
			best = (uint64_t)ns;
			*most = u->here.v[i];
		}
	}
	return sum;
}
