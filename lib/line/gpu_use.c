/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There are few clients: each question walks all of them, and only where a GPU is shared.
 */
#include "lib/line/gpu_use.h"

bool gpu_use_add(struct gpu_use *u, uint32_t gpu)
{
	struct gpu_client fresh = { .gpu = gpu };

	for (size_t i = 0; i < u->v.n && gpu; i++) {
		if (u->v.v[i].gpu == gpu)
			u->v.v[i].shared = fresh.shared = true;
	}
	return vec_push(&u->v, fresh);
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

	for (size_t i = 0; me->shared && i < u->v.n; i++) {
		const struct gpu_client *c = &u->v.v[i];
		int64_t ns = c->busy_ns;

		if (c == me || c->gpu != me->gpu)
			continue;
		if (c->busy && now_ns > c->since_ns)
			ns += now_ns - c->since_ns;
		sum += (uint64_t)ns;
		if ((uint64_t)ns > best) {
			best = (uint64_t)ns;
			*most = (uint32_t)i;
		}
	}
	return sum;
}
