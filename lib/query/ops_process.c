/* SPDX-License-Identifier: Apache-2.0 */
/* A process is called as what it executes now: the newest image met. */
#include "lib/query/ops_process.h"

static struct ops_process *by_id(struct ops_processes *p, uint32_t process, uint32_t image,
				 bool *nomem)
{
	uint64_t at;

	if (process == 0)
		return NULL;
	if (map_get(&p->by, process, &at)) {
		if (image)
			p->v.v[at - 1].image = image;
		return &p->v.v[at - 1];
	}
	if (!vec_push(&p->v, (struct ops_process){ .process = process, .image = image }) ||
	    !map_put(&p->by, process, p->v.n)) {
		*nomem = true;
		return NULL;
	}
	return &p->v.v[p->v.n - 1];
}

struct ops_process *ops_processes_find(struct ops_processes *p, const struct world *w, uint32_t ctx,
				       bool *nomem)
{
	const struct world_ctx *c;
	const struct world_image *im;
	const struct world_thread *th;
	struct ops_process *found;
	uint64_t at;

	if (map_get(&p->seen_ctx, ctx, &at))
		return at ? &p->v.v[at - 1] : NULL;
	c = world_get_ctx(w, ctx);
	im = c ? world_get_image(w, c->image) : NULL;
	th = c ? world_get_thread(w, c->thread) : NULL;
	found = by_id(p, im ? im->process : th ? th->process : 0, c ? c->image : 0, nomem);
	if (found && th && !map_get(&p->seen_thread, c->thread, NULL)) {
		found->threads++;
		*nomem |= !map_put(&p->seen_thread, c->thread, 1);
	}
	*nomem |= !map_put(&p->seen_ctx, ctx, found ? (uint64_t)(found - p->v.v) + 1 : 0);
	return found;
}

bool ops_process_count(struct ops_processes *p, const struct coverage *c,
		       const struct ops_process *of, const struct event *ev, bool failed)
{
	size_t at = (size_t)(of - p->v.v);

	if (c->paused.lists.n == 0)
		return true;
	if (!vec_reach(&p->covered, at))
		return false;
	return coverage_count_call(c, &p->covered.v[at], of->process, ev->op, failed, ev->end_ns,
				   ev->dur_ns);
}

void ops_processes_free(struct ops_processes *p)
{
	for (size_t i = 0; i < p->covered.n; i++)
		coverage_row_free(&p->covered.v[i]);
	vec_free(&p->covered);
	vec_free(&p->v);
	map_free(&p->by);
	map_free(&p->seen_ctx);
	map_free(&p->seen_thread);
}
