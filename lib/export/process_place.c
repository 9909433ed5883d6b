/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers the job and rank of each process from PLACE records. When a process executes another
 * program, the newest record is about that program.
 */
#include "lib/export/clickhouse_internal.h"

static const struct process_place_row nothing = { 0, 0, -1 };

static uint32_t job_of(struct world *w, const struct rec_PLACE *r)
{
	struct bytes text = r->job.n ? r->job : r->run.n ? r->run : r->pod;

	return text.n ? world_string(w, text) : 0;
}

bool process_place_record(struct process_place *p, struct world *w, const struct record *r)
{
	struct process_place_row one = { .rank = -1 };
	uint64_t at;

	if (r->kind != RECORD_PLACE)
		return true;
	one.process = r->u.PLACE.process;
	one.job = job_of(w, &r->u.PLACE);
	if (REC_HAS(r, PLACE, rank))
		one.rank = r->u.PLACE.rank;
	if (map_get(&p->by, one.process, &at)) {
		p->v.v[at] = one;
		return true;
	}
	if (p->v.n >= PROCESS_PLACE_MAX)
		return true;
	return vec_push(&p->v, one) && map_put(&p->by, one.process, p->v.n - 1);
}

const struct process_place_row *process_place_of(const struct process_place *p, uint32_t process)
{
	uint64_t at;

	return process && map_get(&p->by, process, &at) ? &p->v.v[at] : &nothing;
}

const struct process_place_row *process_place_pid(const struct process_place *p,
						  const struct world *w, struct bytes node,
						  uint32_t pid)
{
	for (size_t i = 0; i < p->v.n; i++) {
		const struct world_process *x = world_get_process(w, p->v.v[i].process);
		const struct world_node *on = x ? world_get_node(w, x->node) : NULL;

		if (x && x->tgid == pid &&
		    (!node.n || (on && bytes_equal(world_text(w, on->name), node))))
			return &p->v.v[i];
	}
	return &nothing;
}

void process_place_free(struct process_place *p)
{
	vec_free(&p->v);
	map_free(&p->by);
}
