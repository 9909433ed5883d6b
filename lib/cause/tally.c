/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books. Everything is keyed by dense ids given out in event order, so that walking the
 * vectors is the same walk for the same events.
 */
#include "lib/cause/tally.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/cause/hist.h"
#include "lib/cause/tally_keys.h"

void tally_free(struct tally *t)
{
	for (size_t i = 0; i < t->groups.n; i++)
		tally_group_free(&t->groups.v[i]);
	for (size_t i = 0; i < t->processes.n; i++) {
		vec_free(&t->processes.v[i].groups);
		vec_free(&t->processes.v[i].threads);
		free(t->processes.v[i].taken_panes);
		free(t->processes.v[i].gone);
	}
	for (size_t i = 0; i < t->threads.n; i++)
		free(t->threads.v[i].ns_by);
	vec_free(&t->unused_rows);
	vec_free(&t->unused_hits);
	vec_free(&t->unused_groups);
	vec_free(&t->unused_cells);
	vec_free(&t->rows);
	vec_free(&t->hits);
	vec_free(&t->cells);
	map_free(&t->cell_by);
	vec_free(&t->groups);
	vec_free(&t->processes);
	vec_free(&t->threads);
	vec_free(&t->order);
	map_free(&t->row_by);
	map_free(&t->hit_by);
	map_free(&t->group_by);
}

static const uint32_t families[FAMILY_COUNT] = {
	[FAMILY_CPU] = 1u << PART_PREEMPTED | 1u << PART_RUNQ,
	[FAMILY_THROTTLED] = 1u << PART_THROTTLED,
	[FAMILY_LOCK] = 1u << PART_LOCK,
	[FAMILY_DISK] = 1u << PART_DISK,
};

enum cause_family family_of(enum part part)
{
	unsigned f = 0;

	while (f < FAMILY_COUNT && !(families[f] >> part & 1))
		f++;
	return (enum cause_family)f;
}

struct tally_process *tally_process_new(struct tally *t, uint32_t process)
{
	struct tally_process *p;

	if (!vec_reach(&t->processes, process) || !vec_push(&t->order, process))
		return NULL;
	p = &t->processes.v[process];
	p->seen = true;
	p->process = process;
	return p;
}

struct tally_thread *tally_thread_new(struct tally *t, uint32_t process, uint32_t thread)
{
	struct tally_process *p = tally_process(t, process);
	struct tally_thread fresh = { .process = process, .seen = true };

	if (!p || !vec_reach(&t->threads, thread))
		return NULL;
	fresh.ns_by = calloc(PART_COUNT, sizeof(*fresh.ns_by));
	if (!fresh.ns_by || !vec_push(&p->threads, thread)) {
		free(fresh.ns_by);
		return NULL;
	}
	fresh.launches_left = t->threads.v[thread].launches_left;
	t->threads.v[thread] = fresh;
	return &t->threads.v[thread];
}

void tally_pane_add(struct tally_pane *panes, int64_t pane, uint64_t ns, uint32_t count)
{
	struct tally_pane *p = &panes[((pane % TALLY_PANES) + TALLY_PANES) % TALLY_PANES];

	if (p->pane != pane)
		*p = (struct tally_pane){ .pane = pane };
	p->ns += ns;
	p->count += count;
}

uint64_t tally_window(const struct tally_pane *panes, int64_t pane, uint64_t *count)
{
	uint64_t ns = 0;

	*count = 0;
	for (unsigned i = 0; i < TALLY_PANES; i++) {
		if (panes[i].pane > pane || panes[i].pane <= pane - TALLY_PANES)
			continue;
		ns += panes[i].ns;
		*count += panes[i].count;
	}
	return ns;
}

static bool group_find(struct tally *t, uint32_t process, enum cause_family family,
		       uint32_t culprit, int64_t first_ns, uint32_t *at)
{
	uint64_t key = group_key(process, family, culprit), pos;
	struct tally_group fresh = {
		.process = process, .culprit = culprit, .family = family, .first_ns = first_ns
	};
	struct tally_process *p;

	if (map_get(&t->group_by, key, &pos)) {
		*at = (uint32_t)pos;
		return true;
	}
	p = tally_process(t, process);
	*at = p ? place_for(&t->groups, &t->unused_groups, fresh) : UINT32_MAX;
	return *at != UINT32_MAX && map_put(&t->group_by, key, *at) && vec_push(&p->groups, *at);
}

static struct tally_row *row_find(struct tally *t, uint32_t thread, uint32_t part, uint32_t culprit)
{
	uint64_t key = row_key(thread, part, culprit), pos;
	struct tally_row fresh = {
		.thread = thread, .part = part, .culprit = culprit, .group = UINT32_MAX
	};
	struct tally_thread *th;

	if (map_get(&t->row_by, key, &pos))
		return &t->rows.v[pos];
	if (t->rows.n - t->unused_rows.n >= TALLY_ROWS_MAX && culprit)
		return row_find(t, thread, part, 0);
	th = &t->threads.v[thread];
	fresh.next = th->rows;
	pos = place_for(&t->rows, &t->unused_rows, fresh);
	if (pos == UINT32_MAX || !map_put(&t->row_by, key, pos))
		return NULL;
	th->rows = (uint32_t)pos + 1;
	return &t->rows.v[pos];
}

void tally_worst_add(struct tally_group *g, const struct tally_worst *w)
{
	unsigned i = TALLY_WORST;

	while (i > 0 && w->lost_ns > g->worst[i - 1].lost_ns)
		i--;
	if (i == TALLY_WORST)
		return;
	memmove(&g->worst[i + 1], &g->worst[i], (TALLY_WORST - 1 - i) * sizeof(*w));
	g->worst[i] = *w;
}

bool tally_wait_at(struct tally_group *g, unsigned cpu, uint64_t us)
{
	if (!vec_reach(&g->cpu_us, cpu))
		return false;
	us += g->cpu_us.v[cpu];
	g->cpu_us.v[cpu] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
	return true;
}

bool tally_counted(const struct tally *t, uint32_t process, const struct line_culprit *c)
{
	const struct line_culprit *holder = c ? culprit_get(t->culprits, c->via) : NULL;

	return holder && holder->process == process;
}

/* Book ns of a category of this interval for a culprit (base and with its path; 0: nobody to name). */
static bool book(struct tally *t, const struct line_piece *p, uint32_t part, uint32_t culprit,
		 uint64_t ns, int64_t pane)
{
	struct tally_row *row = row_find(t, p->thread, part, culprit);
	const struct line_culprit *c = culprit_get(t->culprits, row ? row->culprit : 0);
	struct tally_group *g;
	uint64_t cpu;
	uint32_t at;

	if (!row)
		return false;
	row->ns += ns;
	row->count++;
	tally_pane_add(row->panes, pane, ns, 1);
	if (!c || family_of(part) == FAMILY_COUNT)
		return true;
	at = row->group;
	if (at == UINT32_MAX) {
		size_t pos = (size_t)(row - t->rows.v);

		if (!group_find(t, p->process, family_of(part), c->base, p->start_ns, &at) ||
		    !vec_push(&t->groups.v[at].rows, (uint32_t)pos))
			return false;
		row->group = at;
	}
	if (tally_counted(t, p->process, c) || tally_moves_on(t, p->thread, c))
		return true;
	g = &t->groups.v[at];
	g->ns += ns;
	g->count++;
	g->part_ns[part] += ns;
	tally_pane_add(g->panes, pane, ns, 1);
	/* Waits are told as they end: one that began before may come after. */
	if (p->start_ns < g->first_ns)
		g->first_ns = p->start_ns;
	if (p->end_ns > g->last_ns)
		g->last_ns = p->end_ns;
	if (p->ev && p->op && event_get(p->ev, p->op, COL_CPU_IN, &cpu) && cpu < TALLY_CPUS &&
	    !tally_wait_at(g, (unsigned)cpu, (ns + 999) / 1000))
		return false;
	tally_worst_add(g,
			&(struct tally_worst){ p->end_ns, (uint64_t)(p->end_ns - p->start_ns), ns,
					       p->thread, p->ev ? p->ev->op : 0, (uint16_t)part });
	return true;
}

bool tally_moves_on(const struct tally *t, uint32_t thread, const struct line_culprit *holder)
{
	return holder && holder->kind == CULPRIT_HOLDER && holder->gil &&
	       holder->thread < t->threads.n && t->threads.v[holder->thread].calls &&
	       !(thread < t->threads.n && t->threads.v[thread].calls);
}

/* What was nobody's has got a name (parts_blame). */
static void named_now(struct tally *t, uint32_t thread, unsigned part, uint64_t ns)
{
	struct tally_row *row = row_find(t, thread, part, 0);

	if (row)
		row->ns -= ns < row->ns ? ns : row->ns;
}

static bool taken(struct tally_process *proc, enum cause_family f, uint64_t ns, uint64_t not_lost,
		  int64_t pane)
{
	/* More: with waits before this one, which were counted. */
	uint64_t before = not_lost > ns ? not_lost - ns : 0;

	ns -= not_lost < ns ? not_lost : ns;
	before = before < proc->taken_ns[f] ? before : proc->taken_ns[f];
	proc->taken_ns[f] += ns - before;
	proc->host_ns += ns - before;
	if (!proc->taken_panes)
		proc->taken_panes = calloc(FAMILY_COUNT + 1, sizeof(*proc->taken_panes));
	if (!proc->taken_panes)
		return false;
	tally_pane_add(proc->taken_panes[f], pane, ns, 1);
	return true;
}

bool tally_interval(struct tally *t, const struct line_piece *p)
{
	uint64_t host[FAMILY_COUNT + 1] = { 0 }, not_lost[FAMILY_COUNT + 1] = { 0 };
	uint64_t named[PART_COUNT] = { 0 };
	int64_t pane = p->end_ns / TALLY_PANE_NS;
	struct tally_process *proc;

	if (!(p->parts->mask & PARTS_HOST))
		return true;
	if (!tally_thread(t, p->process, p->thread))
		return false;
	proc = tally_process(t, p->process);
	if (!proc)
		return false;
	for (unsigned i = 0; i < p->parts->nculprits; i++) {
		const struct part_culprit *c = &p->parts->c[i];
		const struct line_culprit *who = culprit_get(t->culprits, c->culprit);

		if (!(PARTS_HOST >> c->part & 1))
			continue;
		named[c->part] += c->ns;
		if (tally_moves_on(t, p->thread, who) || tally_counted(t, p->process, who))
			not_lost[family_of(c->part)] += c->ns;
		if (!book(t, p, c->part, c->culprit, c->ns, pane))
			return false;
	}
	for (uint32_t m = p->parts->mask & PARTS_HOST; m; m &= m - 1) {
		unsigned part = (unsigned)__builtin_ctz(m);

		host[family_of(part)] += p->parts->ns[part];
		if (named[part] > p->parts->ns[part])
			named_now(t, p->thread, part, named[part] - p->parts->ns[part]);
		if (p->parts->ns[part] > named[part] &&
		    !book(t, p, part, 0, p->parts->ns[part] - named[part], pane))
			return false;
	}
	for (unsigned f = 0; f <= FAMILY_COUNT; f++) {
		if ((host[f] || not_lost[f]) && !taken(proc, f, host[f], not_lost[f], pane))
			return false;
	}
	return true;
}

enum { AS_IT_WAS, WITHOUT_ALL, WITHOUT_SURE };

/* Where calls of this class that took dur_ns are counted; UINT32_MAX: nowhere, there are too many. False: out of memory. */
static bool cell_at(struct tally *t, uint32_t group, uint32_t class_id, uint64_t dur_ns,
		    uint32_t *at)
{
	struct tally_cell fresh = { .group = group,
				    .class_id = class_id,
				    .cell = hist_cell(dur_ns) };
	uint64_t key = cell_key(group, class_id, fresh.cell), pos;

	*at = UINT32_MAX;
	if (map_get(&t->cell_by, key, &pos)) {
		*at = (uint32_t)pos;
		return true;
	}
	if (t->cells.n - t->unused_cells.n >= TALLY_CELLS_MAX)
		return true;
	fresh.next = t->groups.v[group].cells;
	pos = place_for(&t->cells, &t->unused_cells, fresh);
	if (pos == UINT32_MAX || !map_put(&t->cell_by, key, pos))
		return false;
	t->groups.v[group].cells = (uint32_t)pos + 1;
	*at = (uint32_t)pos;
	return true;
}

/* What a call lost to one group, of all and of what is sure to have made it longer. */
struct loss {
	uint32_t group;
	uint64_t ns, sure_ns;
};

static struct loss *loss_of(struct loss *v, unsigned *n, uint32_t group)
{
	unsigned i = 0;

	while (i < *n && v[i].group != group)
		i++;
	if (i == *n)
		v[(*n)++] = (struct loss){ .group = group };
	return &v[i];
}

/* A call of this class took dur_ns. It counts as all three or, where there is no room for one of them, as none: it stays as it
 * was. False: out of memory. */
static bool cells_add(struct tally *t, uint32_t class_id, uint64_t dur_ns, const struct loss *l)
{
	const uint64_t as[] = {
		[AS_IT_WAS] = dur_ns,
		[WITHOUT_ALL] = dur_ns - (l->ns < dur_ns ? l->ns : dur_ns),
		[WITHOUT_SURE] = dur_ns - (l->sure_ns < dur_ns ? l->sure_ns : dur_ns),
	};
	uint32_t at[3];

	for (unsigned i = 0; i < 3; i++) {
		if (!cell_at(t, l->group, class_id, as[i], &at[i]))
			return false;
		if (at[i] == UINT32_MAX)
			return true;
	}
	for (unsigned i = 0; i < 3; i++) {
		t->cells.v[at[i]].n[i]++;
		t->cells.v[at[i]].sum_ns[i] += as[i];
	}
	return true;
}

bool tally_hit(struct tally *t, const struct line_piece *p, uint32_t class_id, uint32_t site_id,
	       const struct tally_when *when)
{
	bool call = p->ev && p->op->flags & OP_CALL, sync = call && p->op->flags & OP_SYNC;
	struct loss lost[PARTS_CULPRITS];
	unsigned nlost = 0;

	for (unsigned i = 0; i < p->parts->nculprits; i++) {
		const struct part_culprit *c = &p->parts->c[i];
		const struct line_culprit *who = culprit_get(t->culprits, c->culprit);
		enum cause_family family = family_of(c->part);
		struct tally_hit fresh = { .class_id = class_id, .site_id = site_id }, *hit;
		/* A thread that is woken in a wait for the device is late for certain: the device is done. */
		bool sure = sync ? c->part == PART_RUNQ : when->idle;
		struct tally_row *row;
		struct loss *l;
		uint64_t key, pos;

		if (!who || family == FAMILY_COUNT || tally_moves_on(t, p->thread, who))
			continue;
		row = row_find(t, p->thread, c->part, c->culprit);
		if (!row)
			return false;
		if (!row->culprit) /* there are too many to tell them apart */
			continue;
		if (!group_find(t, p->process, family, who->base, p->start_ns, &fresh.group))
			return false;
		row->sure_ns += sure ? c->ns : 0;
		row->step_ns += when->stepping ? c->ns : 0;
		row->step_sure_ns += when->stepping && sure ? c->ns : 0;
		l = loss_of(lost, &nlost, fresh.group);
		l->ns += c->ns;
		l->sure_ns += !sync || sure ? c->ns : 0;
		key = hit_key(class_id, site_id, fresh.group);
		if (!map_get(&t->hit_by, key, &pos)) {
			if (t->hits.n - t->unused_hits.n >= TALLY_ROWS_MAX)
				continue;
			pos = place_for(&t->hits, &t->unused_hits, fresh);
			if (pos == UINT32_MAX || !map_put(&t->hit_by, key, pos) ||
			    !vec_push(&t->groups.v[fresh.group].hits, (uint32_t)pos))
				return false;
		}
		hit = &t->hits.v[pos];
		hit->ns += c->ns;
		hit->count++;
		if (c->ns > hit->max_ns) {
			hit->max_ns = c->ns;
			hit->worst = (struct tally_worst){ p->end_ns,
							   (uint64_t)(p->end_ns - p->start_ns),
							   c->ns,
							   p->thread,
							   p->ev ? p->ev->op : 0,
							   (uint16_t)c->part };
		}
	}
	for (unsigned i = 0; i < nlost && call; i++) {
		if (!cells_add(t, class_id, p->ev->dur_ns, &lost[i]))
			return false;
	}
	return true;
}

uint64_t tally_group_worst_thread(struct tally *t, const struct tally_group *g, int64_t pane)
{
	uint64_t worst = 0, count;

	/* Rows of one thread (its categories, its paths) add up. */
	for (size_t i = 0; i < g->rows.n; i++) {
		const struct tally_row *r = &t->rows.v[g->rows.v[i]];
		uint64_t ns = tally_row_lost(t, r);

		t->threads.v[r->thread].scratch +=
			pane == INT64_MAX || !ns ? ns : tally_window(r->panes, pane, &count);
	}
	for (size_t i = 0; i < g->rows.n; i++) {
		struct tally_thread *th = &t->threads.v[t->rows.v[g->rows.v[i]].thread];

		if (th->scratch > worst)
			worst = th->scratch;
		th->scratch = 0;
	}
	return worst;
}
