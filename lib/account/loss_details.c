/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in a finding of lost time: who took it, the calls and call sites it was taken from, the
 * intervals that show it, and what its detector says to do.
 */
#include "lib/account/loss_details.h"

#include "lib/base/demangle.h"
#include "lib/account/finding_details.h"
#include "lib/account/loss_gaps.h"
#include "lib/account/loss_places.h"
#include "lib/account/names.h"
#include "lib/account/moments.h"
#include "lib/account/without.h"

#define SITES_TOLD   5
#define CLASSES_TOLD 5
#define TAKERS_TOLD  5

/* Threads that had a lock which the victim waited for when it was taken from them. */
static void list_holders(const struct loss_view *f, struct finding *to)
{
	struct buf text = { 0 };

	for (unsigned i = 0; i < f->loss->via.n; i++) {
		struct bytes *name = finding_add(to, culprit.via);

		if (!name)
			break;
		buf_puts(&text, "thread ");
		name_thread_full(&text, f->c->w, &f->c->tally, f->loss->via.v[i]);
		*name = details_take(to, &text);
	}
	buf_free(&text);
}

static void add_numbers(struct finding *to, struct jsonmap_numbers *list, const uint32_t *v,
			uint32_t n)
{
	to->failed |= !list_begin(list, n, &to->memory);
	for (uint32_t i = 0; i < n && !to->failed; i++)
		list->v[list->n++] = v[i];
}

static void fill_culprit_tasks(const struct line_culprit *who, struct finding *to)
{
	uint32_t npids = !who ? 0 : who->npids < CULPRIT_PIDS ? who->npids : CULPRIT_PIDS;

	if (who && who->kind == CULPRIT_HOLDER) {
		add_numbers(to, &to->culprit.tids, who->pids, npids);
		return;
	}
	add_numbers(to, &to->culprit.pids, who ? who->pids : NULL, npids);
	to->culprit.processes = who ? who->npids : 0;
	if (who && who->kind == CULPRIT_OWN)
		add_numbers(to, &to->culprit.tids, who->tids,
			    who->ntids < CULPRIT_TIDS ? who->ntids : CULPRIT_TIDS);
}

static void fill_culprit(const struct loss_view *f, const struct loss_detector *d,
			 struct finding *to)
{
	static const char *const kinds[] = { "process", "own",	  "thread",
					     "device",	"cgroup", "cgroup" };
	const struct line_culprit *who = f->who;
	const struct cause *c = f->c;
	const struct world_process *p = who ? world_get_process(c->w, who->process) : NULL;
	struct bytes *as = &to->culprit.comm;
	struct buf text = { 0 };

	to->culprit.kind = bytes_of(who ? kinds[who->kind] : d->nobody ? "none" : "several");
	to->culprit.text = finding_copy(to, bytes_of(f->culprit));
	to->culprit.pid = p ? p->tgid : 0;
	/* The first one of them may be the victim, which is left out of the list. */
	if (who && who->kind == CULPRIT_TASK && who->npids)
		to->culprit.pid = who->pids[0];
	fill_culprit_tasks(who, to);
	list_holders(f, to);
	if (!who)
		return;
	to->culprit.parent = who->parent;
	if (who->kind == CULPRIT_DEVICE) {
		as = &to->culprit.device;
		name_device(&text, who->object);
	} else {
		if (who->kind == CULPRIT_CGROUP || who->kind == CULPRIT_NEIGHBOUR)
			as = &to->culprit.cgroup;
		name_culprit(&text, c->w, &c->tally, who);
	}
	*as = details_take(to, &text);
	buf_free(&text);
}

/* The kernel with which a class loses half of its time or more. */
static struct bytes kernel_of(const struct cause *c, const struct cause_class *cl,
			      struct finding *to)
{
	struct buf mangled = { 0 }, name = { 0 };
	struct bytes known;
	uint64_t func;

	if (!launched_most(&cl->launched, cl->host_ns, &func))
		return (struct bytes){ 0 };
	known = launched_name_of(&c->kernels, cl->key.process, func);
	if (known.n == 0)
		return (struct bytes){ 0 };
	buf_add(&mangled, known.p, known.n);
	demangle_name(&name, buf_text(&mangled));
	known = details_take(to, &name);
	buf_free(&mangled);
	buf_free(&name);
	return known;
}

static void time_symptom(const struct cause *c, uint32_t class_id, struct finding_symptom *s)
{
	const struct cause_class *cl = &c->classes.v.v[class_id];
	struct hist all;

	class_whole(cl, &all);
	s->timed = true;
	s->n = all.n;
	s->p50_ns = hist_quantile(&all, 0.5);
	s->p99_ns = hist_quantile(&all, 0.99);
	s->max_ns = all.max;
	s->expected_ns = class_expected(&c->classes, class_id, &s->expected_borrowed);
	/* What the slow calls would have taken had the host taken nothing. */
	class_own(cl, &all);
	s->p99_without_ns = hist_quantile(&all, 0.99);
	s->first_use = cl->key.first;
	if (cl->key.size)
		s->bytes_below = cl->key.size >= 64 ? UINT64_MAX : 1ull << cl->key.size;
}

/* Of calls of this op, the class of which the host took most; UINT32_MAX: none is kept. */
static uint32_t class_of(const struct cause *c, uint32_t process, uint16_t op)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; op && i < c->classes.v.n; i++) {
		const struct cause_class *cl = &c->classes.v.v[i];

		if (cl->key.process != process || cl->key.op != op)
			continue;
		if (best == UINT32_MAX || cl->host_ns > c->classes.v.v[best].host_ns)
			best = i;
	}
	return best;
}

/* A call with less of the loss is no symptom of it. */
#define SYMPTOM_SHARE 0.01

/* What places of this call have of it. */
static struct where_place sum_op(const struct where_place *places, unsigned n, uint16_t op)
{
	struct where_place sum = { .op = op };

	for (unsigned i = 0; i < n; i++) {
		sum.lost_ns += places[i].op == op ? places[i].lost_ns : 0;
		sum.affected += places[i].op == op ? places[i].affected : 0;
	}
	return sum;
}

static bool is_first(const struct where_place *places, unsigned i)
{
	unsigned k = 0;

	while (k < i && places[k].op != places[i].op)
		k++;
	return k == i;
}

/* Calls that the time was taken from: each is described by the class of which the host took
 * most. */
static void list_symptoms(const struct loss_view *f, const struct where_place *places, unsigned n,
			  struct finding *to)
{
	const struct cause *c = f->c;
	struct buf text = { 0 };

	for (unsigned i = 0; i < n && to->symptoms.n < CLASSES_TOLD; i++) {
		const struct op_def *op = places[i].op ? world_op(c->w, places[i].op) : NULL;
		uint32_t class_id = class_of(c, f->loss->process, places[i].op);
		struct where_place sum = sum_op(places, n, places[i].op);
		struct finding_symptom *s;

		if (!is_first(places, i) ||
		    (double)sum.lost_ns < SYMPTOM_SHARE * (double)f->loss->ns)
			continue;
		s = finding_add(to, symptoms);
		if (!s)
			break;
		name_op(&text, c->w, sum.op);
		s->op = details_take(to, &text);
		s->source = finding_copy(to, bytes_of(op ? op->source_name : "host"));
		s->lost_ns = sum.lost_ns;
		s->affected = sum.affected;
		if (class_id != UINT32_MAX) {
			time_symptom(c, class_id, s);
			s->kernel = kernel_of(c, &c->classes.v.v[class_id], to);
		}
	}
	buf_free(&text);
}

static void list_sites(const struct loss_view *f, const struct where_place *places, unsigned n,
		       struct finding *to)
{
	for (unsigned i = 0; i < n && i < SITES_TOLD; i++) {
		struct where_place p = places[i];

		p.bytes = 0;
		loss_place_fill(f->c, f->loss->process, &p);
		details_add_site(f->c, &p, to);
	}
}

static uint16_t first_op(const struct where_place *places, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (places[i].op)
			return places[i].op;
	return 0;
}

/* Of several: those who took most. */
static void list_takers(const struct loss_view *f, struct finding *to)
{
	struct buf name = { 0 };

	for (size_t i = 0; i < f->loss->takers.of.n && i < TAKERS_TOLD; i++) {
		const struct loss_amount *t = &f->loss->takers.of.v[i];

		name_culprit_full(&name, f->c->w, &f->c->tally,
				  culprit_get(f->c->tally.culprits, t->id));
		details_add_number(to, buf_text(&name), (double)t->ns, "ns");
		buf_reset(&name);
	}
	buf_free(&name);
}

static void list_parts(const struct loss *x, struct finding *to)
{
	for (enum part part = 0; part < PART_COUNT; part++) {
		uint64_t ns = loss_part_ns(x, part);
		struct jsonmap_named *to_part = ns ? finding_add(to, parts) : NULL;

		if (to_part)
			*to_part = (struct jsonmap_named){ bytes_of(part_name(part)), ns };
	}
}

void loss_fill_details(const struct loss_view *f, const struct loss_detector *d, struct finding *to)
{
	const struct cause *c = f->c;
	const struct loss_process *p = lost_time_process(&c->lost_time, f->loss->process);
	struct where_place places[LOSS_PLACES];
	unsigned n = loss_places(c, f->loss, places);
	struct buf text = { 0 };

	to->known = true;
	details_fill_victim(c, f->loss->process, 0, to);
	name_op(&text, c->w, first_op(places, n));
	to->op = details_take(to, &text);
	details_fill_times(c, to);
	to->share = f->share;
	to->worst_share = f->loss->worst_share;
	to->estimate = f->estimate.is;
	to->at_least = f->estimate.is && f->estimate.least;
	to->covered = f->estimate.covered;
	to->measured_lost_ns =
		f->loss->family == LOSS_IDLE ? f->loss->of.idle.measured_ns : f->loss->ns;
	to->measured_count = f->loss->count;
	to->explained = p->ns ? (double)f->loss->ns / (double)p->ns : 0;
	to->unexplained = p->ns ? (double)p->unnamed_ns / (double)p->ns : 0;
	if (f->loss->family == LOSS_IDLE && f->loss->of.idle.whole) {
		to->explained = to->unexplained = -1;
	} else if (f->loss->family == LOSS_IDLE) {
		uint64_t all =
			loss_gaps_of(c, f->loss->process)->ns[f->loss->sort & LOSS_AT_MOST ? 1 : 0];

		to->explained = all ? (double)f->loss->ns / (double)all : 0;
		to->unexplained = 1 - to->explained;
	}
	list_parts(f->loss, to);
	fill_culprit(f, d, to);
	list_symptoms(f, places, n, to);
	list_sites(f, places, n, to);
	timeline_fill_loss(f, d, to);
	d->recommend(f, to);
	without_fill_loss(f, to);
	details_fill_coverage(c, to);
	to->coverage.upper_bound = f->loss->sort & LOSS_AT_MOST;
	to->counted = bytes_of(d->counted ? d->counted : "waits");
	if (!f->who && !d->nobody)
		list_takers(f, to);
	if (d->evidence)
		d->evidence(f, to);
	buf_free(&text);
}
