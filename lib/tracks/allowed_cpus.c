/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one subject are a list, newest first. Lists of CPUs are kept as text: a machine has a few
 * different ones.
 */
#include "lib/tracks/allowed_cpus.h"

#include <string.h>

#include "lib/base/number.h"

/* ---- lists of CPUs ---- */

static bool read_number(struct bytes *text, uint32_t *number)
{
	const char *p = text->p, *end = p + text->n;
	uint64_t n;

	if (!text->n || !number_scan(&p, end, 10, 999999, &n))
		return false;
	*text = (struct bytes){ p, (size_t)(end - p) };
	*number = (uint32_t)n;
	return true;
}

/* The next range of a list. False: there is none. */
static bool read_range(struct bytes *list, uint32_t *from, uint32_t *to)
{
	if (list->n && *list->p == ',') {
		list->p++;
		list->n--;
	}
	if (!read_number(list, from))
		return false;
	*to = *from;
	if (!list->n || *list->p != '-')
		return true;
	list->p++;
	list->n--;
	return read_number(list, to) && *to >= *from;
}

uint32_t allowed_cpus_count(struct bytes cpus)
{
	uint32_t from, to, n = 0;

	while (read_range(&cpus, &from, &to))
		n += to - from + 1;
	return n;
}

bool allowed_cpus_has(struct bytes cpus, uint32_t cpu)
{
	uint32_t from, to;

	while (read_range(&cpus, &from, &to))
		if (cpu >= from && cpu <= to)
			return true;
	return false;
}

/* ---- records ---- */

/* The same text, kept. p NULL: out of memory. */
static struct bytes keep_set(struct allowed_cpus *a, struct bytes cpus)
{
	struct bytes copy = { 0 };

	for (size_t i = 0; i < a->sets.n; i++)
		if (bytes_equal(a->sets.v[i], cpus))
			return a->sets.v[i];
	copy.p = arena_copy(&a->memory, cpus.p, cpus.n);
	copy.n = copy.p ? cpus.n : 0;
	if (copy.p && !vec_push(&a->sets, copy))
		copy = (struct bytes){ 0 };
	return copy;
}

static bool add_row(struct allowed_cpus *a, const struct record *r)
{
	const struct rec_ALLOWED *said = &r->u.ALLOWED;
	uint64_t key = REC_HAS(r, ALLOWED, thread) ? (uint64_t)said->thread << 32 : said->process,
		 newest = 0;
	struct allowed_row row = { .time_ns = said->time_ns };

	if (!REC_HAS(r, ALLOWED, cpus) || !said->cpus.n || a->rows.n >= ALLOWED_ROWS_MAX)
		return true;
	map_get(&a->newest, key, &newest);
	/* Each file of a recording says it again. */
	if (newest && bytes_equal(a->rows.v[newest - 1].cpus, said->cpus))
		return true;
	row.before = (uint32_t)newest;
	row.cpus = keep_set(a, said->cpus);
	return row.cpus.p && vec_push(&a->rows, row) && map_put(&a->newest, key, a->rows.n);
}

static bool add_idle(struct allowed_cpus *a, const struct record *r)
{
	const struct rec_SAMPLE *s = &r->u.SAMPLE;
	uint32_t node = REC_HAS(r, SAMPLE, node) ? s->node : a->node;

	for (size_t i = 0; i < a->idle.n; i++) {
		struct idle_cpu *c = &a->idle.v[i];

		if (c->node != node || c->cpu != s->cpu)
			continue;
		c->last_ns = s->time_ns;
		c->last = s->value;
		return true;
	}
	return vec_push(&a->idle, ((struct idle_cpu){ .node = node,
						      .cpu = s->cpu,
						      .first_ns = s->time_ns,
						      .last_ns = s->time_ns,
						      .first = s->value,
						      .last = s->value }));
}

static bool add_machine(struct allowed_cpus *a, const struct record *r)
{
	uint32_t node = r->u.NODE.node;

	if (!a->node)
		a->node = node;
	if (!vec_reach(&a->counts, node))
		return false;
	a->counts.v[node] = r->u.NODE.cpus;
	return true;
}

bool allowed_cpus_record(struct allowed_cpus *a, const struct record *r)
{
	switch (r->kind) {
	case RECORD_NODE:
		return !REC_HAS(r, NODE, node) || !REC_HAS(r, NODE, cpus) || add_machine(a, r);
	case RECORD_ALLOWED:
		return add_row(a, r);
	case RECORD_SAMPLE:
		return r->u.SAMPLE.metric != METRIC_CPU_IDLE_NS || !REC_HAS(r, SAMPLE, cpu) ||
		       add_idle(a, r);
	default:
		return true;
	}
}

void allowed_cpus_free(struct allowed_cpus *a)
{
	arena_free(&a->memory);
	vec_free(&a->sets);
	vec_free(&a->rows);
	map_free(&a->newest);
	vec_free(&a->idle);
	vec_free(&a->counts);
}

/* ---- answers ---- */

/* The row of a subject at that time; its first one for what was before. NULL: it has none. */
static const struct allowed_row *find_row(const struct allowed_cpus *a, uint64_t key, int64_t at_ns)
{
	const struct allowed_row *row = NULL;
	uint64_t at = 0;

	map_get(&a->newest, key, &at);
	while (at) {
		row = &a->rows.v[at - 1];
		if (row->time_ns <= at_ns)
			break;
		at = row->before;
	}
	return row;
}

struct bytes allowed_cpus_of(const struct allowed_cpus *a, uint32_t thread, int64_t at_ns,
			     int64_t *since_ns)
{
	const struct world_thread *t = world_get_thread(a->w, thread);
	const struct allowed_row *own = find_row(a, (uint64_t)thread << 32, at_ns),
				 *all = t ? find_row(a, t->process, at_ns) : NULL;

	*since_ns = INT64_MIN;
	/* A thread's own list is recorded when it first differs from the process's. */
	if (own && all && own->time_ns > at_ns)
		own = NULL;
	if (own && (own->before || all))
		*since_ns = own->time_ns;
	else if (!own && all && all->before)
		*since_ns = all->time_ns;
	return own ? own->cpus : all ? all->cpus : (struct bytes){ 0 };
}

uint32_t allowed_cpus_machine(const struct allowed_cpus *a, uint32_t node)
{
	return node < a->counts.n ? a->counts.v[node] : 0;
}

double allowed_cpus_idle(const struct allowed_cpus *a, uint32_t node, struct bytes cpus,
			 uint32_t *n, uint32_t *only)
{
	double idle = 0;

	*n = 0;
	for (size_t i = 0; i < a->idle.n; i++) {
		const struct idle_cpu *c = &a->idle.v[i];

		if (c->node != node || allowed_cpus_has(cpus, c->cpu))
			continue;
		if (c->last_ns <= c->first_ns)
			return -1;
		idle += (c->last - c->first) / (double)(c->last_ns - c->first_ns);
		*only = c->cpu;
		(*n)++;
	}
	return *n ? idle / *n : -1;
}
