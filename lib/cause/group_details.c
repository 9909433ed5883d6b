/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in a finding of a group of lost time: who took it, the calls and call sites it was taken from, the intervals that
 * show it, and what its detector says to do.
 */
#include "lib/cause/group_details.h"

#include "lib/base/demangle.h"
#include "lib/cause/details.h"
#include "lib/cause/group.h"
#include "lib/cause/names.h"
#include "lib/cause/timeline.h"
#include "lib/cause/without.h"

#define SITES_TOLD   5
#define CLASSES_TOLD 5

/* The lock holders through which the culprit was reached, when it kept them from releasing, each name once: a thread that
 * holds several locks is several of them. */
static void list_holders(const struct cause *c, const struct group_view *f, struct finding *to)
{
	struct buf line = { 0 }, all = { 0 };
	struct bytes *name;

	buf_putc(&all, '\n');
	for (size_t i = 0; i < f->g->rows.n; i++) {
		const struct line_culprit *p =
			culprit_get(c->tally.culprits, c->tally.rows.v[f->g->rows.v[i]].culprit);

		if (!p || p->via == 0)
			continue;
		buf_reset(&line);
		buf_putc(&line, '\n');
		name_culprit_full(&line, c->w, &c->tally, culprit_get(c->tally.culprits, p->via));
		buf_putc(&line, '\n');
		if (line.failed || all.failed || memmem(all.p, all.n, line.p, line.n))
			continue;
		name = finding_add(to, culprit.via);
		if (name)
			*name = finding_copy(to, (struct bytes){ line.p + 1, line.n - 2 });
		buf_add(&all, line.p + 1, line.n - 1);
	}
	to->failed |= line.failed || all.failed;
	buf_free(&line);
	buf_free(&all);
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

static void fill_culprit(const struct group_view *f, struct finding *to)
{
	static const char *const kinds[] = { "process", "own",	  "thread",
					     "device",	"cgroup", "cgroup" };
	const struct line_culprit *who = f->who;
	const struct cause *c = f->c;
	const struct world_process *p = who ? world_get_process(c->w, who->process) : NULL;
	struct bytes *as = &to->culprit.comm;
	struct buf text = { 0 };

	to->culprit.kind = bytes_of(who ? kinds[who->kind] : "several");
	to->culprit.text = finding_copy(to, bytes_of(f->culprit));
	to->culprit.pid = p ? p->tgid : 0;
	fill_culprit_tasks(who, to);
	list_holders(c, f, to);
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

/* Classes the cause takes from, most lost first. */
static void list_symptoms(const struct group_view *f, struct finding *to)
{
	const struct cause *c = f->c;
	struct group_site top[CLASSES_TOLD];
	unsigned n = group_classes(c, f->g, top, CLASSES_TOLD);
	struct buf text = { 0 };

	for (unsigned i = 0; i < n; i++) {
		const struct cause_class *cl = &c->classes.v.v[top[i].id];
		const struct op_def *op = cl->key.op ? world_op(c->w, cl->key.op) : NULL;
		struct finding_symptom *s = finding_add(to, symptoms);

		if (!s)
			break;
		name_op(&text, c->w, cl->key.op);
		s->op = details_take(to, &text);
		s->source = finding_copy(to, bytes_of(op ? op->source_name : "host"));
		s->lost_ns = top[i].lost_ns;
		s->affected = top[i].count;
		if (cl->key.op) {
			time_symptom(c, top[i].id, s);
			s->kernel = kernel_of(c, cl, to);
		}
	}
	buf_free(&text);
}

static void list_sites(const struct group_view *f, struct finding *to)
{
	const struct cause *c = f->c;
	struct group_site v[SITES_TOLD];
	unsigned n = group_sites(c, f->g, v, SITES_TOLD);

	for (unsigned i = 0; i < n; i++) {
		const struct cause_site *s = &c->classes.sites.v[v[i].id];
		struct where_place p = { .op = s->op,
					 .stack = s->stack,
					 .lost_ns = v[i].lost_ns,
					 .affected = v[i].count,
					 .count = v[i].calls,
					 .sum_ns = v[i].sum_ns,
					 .max_ns = v[i].max_ns };

		details_add_site(c, &p, to);
	}
}

void group_fill_details(const struct group_view *f, const struct detector *d, struct finding *to)
{
	const struct cause *c = f->c;
	struct buf text = { 0 };

	to->known = true;
	details_fill_victim(c, f->g->process, 0, to);
	name_op(&text, c->w, group_op(c, f->g));
	to->op = details_take(to, &text);
	details_fill_times(c, to);
	to->share = f->share;
	to->worst_share = f->g->worst_share;
	group_shares(c, f->g, &to->explained, &to->unexplained);
	details_fill_parts(f->g->part_ns, to);
	fill_culprit(f, to);
	list_symptoms(f, to);
	list_sites(f, to);
	timeline_fill_group(f, to);
	d->recommend(f, to);
	without_fill_group(f, to);
	details_fill_coverage(c, to);
	to->counted = bytes_of("waits");
	if (d->evidence)
		d->evidence(f, to);
	buf_free(&text);
}
