/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only what is kept per row, per step and per class is looked at: nothing is read twice.
 */
#include "lib/cause/without.h"

#include <stdlib.h>

#include "lib/base/nomem.h"
#include "lib/cause/details.h"
#include "lib/cause/group.h"
#include "lib/cause/names.h"

#define QUIET_STEPS 30	/* so many tell what a step usually takes */
#define VISIBLE	    0.9 /* of what they tell: what comes after a disturbance is not quite as usual */
#define MOVED	    1.25 /* a tail is told when it would be a fifth shorter */
#define CLASSES	    5

/* What the worst-hit thread lost. */
struct lost {
	uint32_t thread;
	uint64_t ns, sure_ns, step_ns, step_sure_ns;
};

static struct lost lost_of(struct cause *c, const struct tally_group *g)
{
	struct tally *t = &c->tally;
	struct lost worst = { 0 };

	for (size_t i = 0; i < g->rows.n; i++) {
		const struct tally_row *r = &t->rows.v[g->rows.v[i]];
		uint64_t ns = t->threads.v[r->thread].scratch += tally_row_lost(t, r);

		if (ns > worst.ns)
			worst = (struct lost){ .thread = r->thread, .ns = ns };
	}
	for (size_t i = 0; i < g->rows.n; i++) {
		const struct tally_row *r = &t->rows.v[g->rows.v[i]];

		t->threads.v[r->thread].scratch = 0;
		if (r->thread != worst.thread)
			continue;
		worst.sure_ns += r->sure_ns;
		worst.step_ns += r->step_ns;
		worst.step_sure_ns += r->step_sure_ns;
	}
	/* A thread beside those that give the device work: nobody may have waited for it. */
	if (t->processes.v[g->process].calls && worst.ns && !t->threads.v[worst.thread].calls)
		worst.sure_ns = worst.step_sure_ns = 0;
	return worst;
}

/* The loop of a thread that was in one loop alone; NULL: it was in none, or in several. */
static const struct step_phase *loop_of(const struct cause *c, uint32_t thread)
{
	const struct steps_thread *th = steps_of(c->steps, thread);

	return th && th->phases == 1 ? steps_told(th) : NULL;
}

/* The share of what the host took in steps by which they became longer. */
static double visible(const struct step_phase *p)
{
	uint64_t n = p->count - p->quiet_count;
	double usual, longer;

	if (p->quiet_count < QUIET_STEPS || p->taken_ns == 0)
		return 0;
	usual = (double)p->quiet_ns / (double)p->quiet_count;
	longer = ((double)(p->ns - p->quiet_ns) - usual * (double)n) / (double)p->taken_ns;
	return longer < 0 ? 0 : longer > 1 ? VISIBLE : longer * VISIBLE;
}

/* op: of the calls whose tail it is; NULL: it is not about calls. */
static void add_without(struct finding *to, const char *what, struct buf *op, double from,
			double most, double least)
{
	struct finding_without *w = finding_add(to, without);

	most = most > from ? from : most < 0 ? 0 : most;
	least = least > most ? most : least < 0 ? 0 : least;
	if (w)
		*w = (struct finding_without){ .what = bytes_of(what),
					       .op = op ? details_take(to, op)
							: (struct bytes){ 0 },
					       .from_ns = (uint64_t)from,
					       .low_ns = (uint64_t)(from - most),
					       .high_ns = (uint64_t)(from - least) };
}

/* The class's durations with the group's calls as they would have been. */
static uint64_t tail_without(const struct cause *c, uint32_t group, uint32_t class_id,
			     unsigned which, struct hist *h)
{
	const struct tally_cell *cell;

	class_whole(&c->classes.v.v[class_id], h);
	for (uint32_t at = c->tally.groups.v[group].cells; at; at = cell->next) {
		cell = &c->tally.cells.v[at - 1];
		if (cell->class_id != class_id)
			continue;
		h->v[cell->cell].count += (uint64_t)cell->n[which] - cell->n[0];
		h->v[cell->cell].sum += cell->sum_ns[which] - cell->sum_ns[0];
	}
	return hist_quantile(h, 0.99);
}

static void tail(const struct group_view *f, struct finding *to)
{
	const struct cause *c = f->c;
	uint32_t group = (uint32_t)(f->g - c->tally.groups.v);
	struct group_site top[CLASSES];
	unsigned n = group_classes(c, f->g, top, CLASSES);
	struct hist *h = malloc(sizeof(*h));
	struct buf op = { 0 };

	if (!h) {
		nomem_note();
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct cause_class *cl = &c->classes.v.v[top[i].id];
		uint64_t from, low, high;

		if (!cl->key.op)
			continue;
		class_whole(cl, h);
		from = hist_quantile(h, 0.99);
		low = tail_without(c, group, top[i].id, 1, h);
		if ((double)from <= MOVED * (double)low)
			continue;
		high = tail_without(c, group, top[i].id, 2, h);
		name_op(&op, c->w, cl->key.op);
		add_without(to, "p99", &op, (double)from, (double)(from - low),
			    from > high ? (double)(from - high) : 0);
		break;
	}
	buf_free(&op);
	free(h);
}

double without_step_share(struct cause *c, const struct tally_group *g)
{
	struct lost l = lost_of(c, g);
	const struct step_phase *p = l.ns ? loop_of(c, l.thread) : NULL;

	/* What is lost in steps is known between windows too. */
	return p && p->ns ? (double)l.step_ns / (double)steps_span_ns(p) : 0;
}

void without_fill_group(const struct group_view *f, struct finding *to)
{
	const struct cause *c = f->c;
	struct lost l = lost_of(f->c, f->g);
	const struct step_phase *p = l.ns ? loop_of(c, l.thread) : NULL;
	double keep = 1 - (f->others < 0   ? 0
			   : f->others > 1 ? 1
					   : f->others),
	       seen = p ? visible(p) * (double)l.step_ns : 0, least = (double)l.sure_ns;

	if (p && l.step_ns) {
		double steps = (double)steps_estimate(p),
		       in_steps = seen > (double)l.step_sure_ns ? seen : (double)l.step_sure_ns;

		add_without(to, "step", NULL, (double)p->ns / (double)p->count,
			    (double)l.step_ns / steps, in_steps * keep / steps);
		least += in_steps - (double)l.step_sure_ns;
	}
	tail(f, to);
	if (l.ns && cause_wall_ns(c))
		add_without(to, "wall", NULL, (double)cause_wall_ns(c), (double)l.ns, least * keep);
}

void without_fill_fact(const struct cause *c, const struct fact *f, struct finding *to)
{
	double wall = (double)cause_wall_ns(c), most = f->share * wall;

	if (most > (double)f->lost_ns)
		most = (double)f->lost_ns;
	if (f->lost_ns && wall > 0 && f->gain != FACT_GAIN_NOTHING)
		add_without(to, "wall", NULL, wall, most, f->gain == FACT_GAIN_ALL ? most : 0);
}
