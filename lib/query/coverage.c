/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates how many calls were made where probes were paused for part of the time. Rows keep few
 * parts, one for each process and tier that they count calls of: the last one that was counted is
 * looked at first.
 */
#include "lib/query/coverage.h"

#define PARTS_MAX 256 /* of a row: calls of further processes are taken for calls of no known one */

bool coverage_add_record(struct coverage *c, const struct world *w, const struct record *r)
{
	bool first = c->paused.lists.n == 0;

	if (r->kind != RECORD_PAUSED)
		return true;
	if (!paused_record(&c->paused, r))
		return false;
	if (first && c->paused.lists.n) {
		c->before = world_count(w, WORLD_PROCESS);
		c->event_ns = INT64_MIN;
	}
	if (first || r->u.PAUSED.since_ns < c->first_ns)
		c->first_ns = r->u.PAUSED.since_ns;
	return true;
}

static struct coverage_process *life_of(struct coverage *c, uint32_t process)
{
	while (c->lives.n <= process) {
		struct coverage_process fresh = { INT64_MAX, INT64_MAX };

		if (c->lives.n <= c->before || c->paused.lists.n == 0)
			fresh.from_ns = INT64_MIN;
		if (!vec_push(&c->lives, fresh))
			return NULL;
	}
	return &c->lives.v[process];
}

bool coverage_update_process(struct coverage *c, const struct world *w, const struct event *ev)
{
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(w, ctx->thread) : NULL;
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;
	struct coverage_process *life;

	/* A part of a recording is read with the pauses before it. */
	if (c->event_ns == INT64_MIN)
		c->event_ns = event_start(ev);
	if (!p)
		return true;
	life = life_of(c, t->process);
	if (!life)
		return false;
	if (event_start(ev) < life->from_ns)
		life->from_ns = event_start(ev);
	if (ev->op == OP_PROC_EXIT && p->tgid == t->tid)
		life->to_ns = ev->end_ns;
	return true;
}

void coverage_free(struct coverage *c)
{
	paused_free(&c->paused);
	vec_free(&c->lives);
}

/* NULL: out of memory. */
static struct coverage_part *part_of(struct coverage_row *row, uint32_t process, uint32_t tier)
{
	size_t i = row->v.n;
	struct coverage_part part = { .process = process, .tier = tier };

	while (i > 0 && (row->v.v[i - 1].process != process || row->v.v[i - 1].tier != tier))
		i--;
	if (i > 0)
		return &row->v.v[i - 1];
	if (process && row->v.n >= PARTS_MAX)
		return part_of(row, 0, tier);
	return vec_push(&row->v, part) ? &row->v.v[row->v.n - 1] : NULL;
}

void coverage_row_set_process(struct coverage_row *row, uint32_t process, uint16_t op)
{
	row->several |= row->op && row->process != process;
	row->process = process;
	row->op = op;
	row->tiers |= (uint8_t)(1u << op_tier(op));
}

bool coverage_row_add(struct coverage_row *row, uint32_t process, uint16_t op, bool failed,
		      uint64_t dur_ns)
{
	enum op_tier tier = op_tier(op);
	struct coverage_part *part;

	if (tier == TIER_KEPT)
		return true;
	part = part_of(row, process, tier);
	if (!part)
		return false;
	part->count++;
	part->errors += failed;
	part->total_ns += dur_ns;
	return true;
}

void coverage_row_free(struct coverage_row *row)
{
	vec_free(&row->v);
}

static int64_t max_ns(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t coverage_since(const struct coverage *c)
{
	return max_ns(max_ns(c->from_ns, c->first_ns), c->event_ns);
}

/* How many calls one that was counted stands for; 0: nothing was recorded, and nothing is known. */
static double scale_of(const struct coverage *c, const struct world *w, uint32_t process,
		       unsigned tier)
{
	int64_t from_ns = coverage_since(c), to_ns = c->to_ns;

	if (process && process < c->lives.n) {
		const struct coverage_process *life = &c->lives.v[process];

		from_ns = life->from_ns == INT64_MAX ? from_ns : max_ns(from_ns, life->from_ns);
		to_ns = life->to_ns < to_ns ? life->to_ns : to_ns;
	}
	return paused_scale(&c->paused, world_process_node(w, process), (enum op_tier)tier, from_ns,
			    to_ns);
}

static bool is_known(double scale, uint64_t count)
{
	return scale > 0 && paused_is_known(1 / scale, 1, count);
}

bool coverage_is_unknown(const struct coverage *c, const struct world *w, uint32_t process,
			 unsigned tier)
{
	return tier != TIER_KEPT && c->paused.lists.n && scale_of(c, w, process, tier) == 0;
}

static uint64_t add_rounded(uint64_t counted, double more)
{
	return counted + (uint64_t)(more + 0.5);
}

struct estimate coverage_estimate(const struct coverage *c, const struct world *w,
				  const struct coverage_row *row, const struct estimate *counted)
{
	struct estimate e = *counted;
	double count = 0, errors = 0, ns = 0, times;

	for (unsigned tier = 0; tier < TIERS; tier++)
		e.least |= row->tiers >> tier & 1 &&
			   coverage_is_unknown(c, w, row->several ? 0 : row->process, tier);
	for (size_t i = 0; i < row->v.n; i++) {
		const struct coverage_part *part = &row->v.v[i];
		double scale = scale_of(c, w, part->process, part->tier);
		bool known = is_known(scale, part->count);
		double more = known && scale > 1 ? scale - 1 : 0;

		e.least |= !known;
		count += more * (double)part->count;
		errors += more * (double)part->errors;
		ns += more * (double)part->total_ns;
	}
	e.is = count > 0;
	if (!e.is)
		return e;
	times = e.total_ns ? 1 + ns / (double)e.total_ns : 1;
	e.count = add_rounded(e.count, count);
	e.errors = add_rounded(e.errors, errors);
	e.total_ns = add_rounded(e.total_ns, ns);
	e.self_ns = (uint64_t)((double)e.self_ns * times + 0.5);
	e.lost_ns = (uint64_t)((double)e.lost_ns * times + 0.5);
	return e;
}
