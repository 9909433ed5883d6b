/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a process that is given up, and giving up the rest.
 */
#include "lib/cause/tally.h"

#include "lib/cause/tally_keys.h"

/* What is known by name is none of a map's any more, and its place is for the next. False: out of memory. */
#define give_up(map, key, vec, unused, at) \
	(map_del((map), (key)), (vec)->v[at] = (typeof(*(vec)->v)){ 0 }, vec_push((unused), (at)))

static bool group_forget(struct tally *t, uint32_t at)
{
	struct tally_group *g = &t->groups.v[at];

	while (g->cells) {
		uint32_t cell = g->cells - 1;
		const struct tally_cell *x = &t->cells.v[cell];

		g->cells = x->next;
		if (!give_up(&t->cell_by, cell_key(at, x->class_id, x->cell), &t->cells,
			     &t->unused_cells, cell))
			return false;
	}
	for (size_t i = 0; i < g->hits.n; i++) {
		const struct tally_hit *x = &t->hits.v[g->hits.v[i]];

		if (!give_up(&t->hit_by, hit_key(x->class_id, x->site_id, at), &t->hits,
			     &t->unused_hits, g->hits.v[i]))
			return false;
	}
	tally_group_free(g);
	return give_up(&t->group_by, group_key(g->process, g->family, g->culprit), &t->groups,
		       &t->unused_groups, at);
}

static bool rows_forget(struct tally *t, struct tally_thread *th)
{
	while (th->rows) {
		uint32_t at = th->rows - 1;
		const struct tally_row *r = &t->rows.v[at];

		th->rows = r->next;
		if (!give_up(&t->row_by, row_key(r->thread, r->part, r->culprit), &t->rows,
			     &t->unused_rows, at))
			return false;
	}
	return true;
}

static void add_thread(const struct tally_thread *th, uint32_t thread, struct tally_gone *sum)
{
	bool calls = th->calls > 0;

	if (sum->threads++ == 0)
		sum->thread = thread;
	sum->ns += th->ns;
	sum->calling_threads += calls;
	sum->calling_ns += calls ? th->ns : 0;
	for (unsigned i = 0; i < PART_COUNT; i++) {
		sum->ns_by[i] += th->ns_by[i];
		sum->calling_ns_by[i] += calls ? th->ns_by[i] : 0;
	}
}

void tally_threads_sum(const struct tally *t, const struct tally_process *p, struct tally_gone *sum)
{
	*sum = p->gone ? *p->gone : (struct tally_gone){ 0 };
	for (size_t i = 0; i < p->threads.n; i++)
		add_thread(&t->threads.v[p->threads.v[i]], p->threads.v[i], sum);
}

uint64_t tally_threads_ns(const struct tally *t, const struct tally_process *p)
{
	uint64_t ns = p->gone ? p->gone->ns : 0;

	for (size_t i = 0; i < p->threads.n; i++)
		ns += t->threads.v[p->threads.v[i]].ns;
	return ns;
}

bool tally_forget(struct tally *t, uint32_t process)
{
	struct tally_process *p = process < t->processes.n && t->processes.v[process].seen
					  ? &t->processes.v[process]
					  : NULL;

	if (!p)
		return true;
	if (!p->gone)
		p->gone = calloc(1, sizeof(*p->gone));
	if (!p->gone)
		return false;
	for (size_t i = 0; i < p->groups.n; i++) {
		if (!group_forget(t, p->groups.v[i]))
			return false;
	}
	for (size_t i = 0; i < p->threads.n; i++) {
		struct tally_thread *th = &t->threads.v[p->threads.v[i]];

		if (!rows_forget(t, th))
			return false;
		add_thread(th, p->threads.v[i], p->gone);
		free(th->ns_by);
		*th = (struct tally_thread){ 0 };
	}
	vec_free(&p->groups);
	vec_free(&p->threads);
	free(p->taken_panes);
	p->taken_panes = NULL;
	return true;
}
