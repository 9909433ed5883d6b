/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members in the order of formats/chain.schema.json. Times are relative to the recording's start.
 */
#include "lib/cause/body.h"

#include "lib/base/demangle.h"
#include "lib/cause/group.h"
#include "lib/cause/names.h"
#include "lib/cause/timeline.h"
#include "lib/cause/without.h"

#define SITES_TOLD   5
#define CLASSES_TOLD 5
#define FRAMES_TOLD  16

/* The lock holders through which the culprit was reached, when it kept them from releasing, each name once: a thread that
 * holds several locks is several of them. */
static void list_holders(const struct cause *c, const struct finding *f, struct jsonw *j)
{
	struct buf line = { 0 }, all = { 0 };

	buf_putc(&all, '\n');
	jsonw_key_array(j, "via");
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
		jsonw_bytes(j, (struct bytes){ line.p + 1, line.n - 2 });
		buf_add(&all, line.p + 1, line.n - 1);
	}
	jsonw_array_end(j);
	buf_free(&line);
	buf_free(&all);
}

static void culprit_json(const struct finding *f, struct jsonw *j)
{
	static const char *const kinds[] = { "process", "own",	  "thread",
					     "device",	"cgroup", "cgroup" };
	const struct line_culprit *who = f->who;
	const struct cause *c = f->c;
	struct buf text = { 0 };

	jsonw_key_object(j, "culprit");
	jsonw_key_str(j, "kind", who ? kinds[who->kind] : "several");
	jsonw_key_str(j, "text", f->culprit);
	jsonw_key(j, "pid");
	if (who && who->process && world_get_process(c->w, who->process))
		jsonw_u64(j, world_get_process(c->w, who->process)->tgid);
	else
		jsonw_null(j);
	jsonw_key(j, "comm");
	if (who && (who->kind == CULPRIT_TASK || who->kind == CULPRIT_OWN ||
		    who->kind == CULPRIT_HOLDER)) {
		name_culprit(&text, c->w, &c->tally, who);
		jsonw_bytes(j, buf_bytes(&text));
		buf_reset(&text);
	} else {
		jsonw_null(j);
	}
	jsonw_key_u64(j, "processes", who && who->kind != CULPRIT_HOLDER ? who->npids : 0);
	jsonw_key(j, who && who->kind == CULPRIT_HOLDER ? "tids" : "pids");
	jsonw_array_begin(j);
	for (uint32_t i = 0; who && i < who->npids && i < CULPRIT_PIDS; i++)
		jsonw_u64(j, who->pids[i]);
	jsonw_array_end(j);
	if (who && who->kind == CULPRIT_OWN) {
		jsonw_key_array(j, "tids");
		for (uint32_t i = 0; i < who->ntids && i < CULPRIT_TIDS; i++)
			jsonw_u64(j, who->tids[i]);
		jsonw_array_end(j);
	}
	jsonw_key_u64(j, "parent", who ? who->parent : 0);
	jsonw_key(j, "cgroup");
	if (who && (who->kind == CULPRIT_CGROUP || who->kind == CULPRIT_NEIGHBOUR)) {
		name_culprit(&text, c->w, &c->tally, who);
		jsonw_bytes(j, buf_bytes(&text));
		buf_reset(&text);
	} else {
		jsonw_null(j);
	}
	jsonw_key(j, "device");
	if (who && who->kind == CULPRIT_DEVICE) {
		name_device(&text, who->object);
		jsonw_bytes(j, buf_bytes(&text));
		buf_reset(&text);
	} else {
		jsonw_null(j);
	}
	list_holders(c, f, j);
	jsonw_object_end(j);
	buf_free(&text);
}

/* The kernel with which a class loses half of its time or more. */
static void kernel_json(const struct cause *c, const struct cause_class *cl, struct jsonw *j)
{
	struct buf mangled = { 0 }, name = { 0 };
	struct bytes known;
	uint64_t func;

	if (!launched_most(&cl->launched, cl->host_ns, &func))
		return;
	known = launched_name_of(&c->kernels, cl->key.process, func);
	if (known.n == 0)
		return;
	buf_add(&mangled, known.p, known.n);
	demangle_name(&name, buf_text(&mangled));
	jsonw_key_bytes(j, "kernel", buf_bytes(&name));
	buf_free(&mangled);
	buf_free(&name);
}

/* Classes the cause takes from, most lost first. */
static void symptom_json(const struct finding *f, struct jsonw *j)
{
	const struct cause *c = f->c;
	struct group_site top[CLASSES_TOLD];
	unsigned n = group_classes(c, f->g, top, CLASSES_TOLD);
	struct buf text = { 0 };

	jsonw_key_array(j, "symptom");
	for (unsigned i = 0; i < n; i++) {
		const struct cause_class *cl = &c->classes.v.v[top[i].id];
		const struct op_def *op = cl->key.op ? world_op(c->w, cl->key.op) : NULL;
		struct hist all;
		bool borrowed;

		jsonw_object_begin(j);
		name_op(&text, c->w, cl->key.op);
		name_key(j, "op", &text);
		jsonw_key_str(j, "source", op ? op->source_name : "host");
		jsonw_key_u64(j, "lost_ns", top[i].lost_ns);
		jsonw_key_u64(j, "affected", top[i].count);
		if (cl->key.op) {
			class_whole(cl, &all);
			jsonw_key_u64(j, "n", all.n);
			jsonw_key_u64(j, "p50_ns", hist_quantile(&all, 0.5));
			jsonw_key_u64(j, "p99_ns", hist_quantile(&all, 0.99));
			jsonw_key_u64(j, "max_ns", all.max);
			jsonw_key_u64(j, "expected_ns",
				      class_expected(&c->classes, top[i].id, &borrowed));
			jsonw_key_bool(j, "expected_borrowed", borrowed);
			/* What the slow calls would have taken had the host taken nothing. */
			class_own(cl, &all);
			jsonw_key_u64(j, "p99_without_ns", hist_quantile(&all, 0.99));
			jsonw_key_bool(j, "first_use", cl->key.first);
			kernel_json(c, cl, j);
			if (cl->key.size)
				jsonw_key_u64(j, "bytes_below",
					      cl->key.size >= 64 ? UINT64_MAX
								 : 1ull << cl->key.size);
		}
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	buf_free(&text);
}

void body_site(const struct cause *c, const struct where_place *p, struct jsonw *j)
{
	uint32_t frame = name_site_frame(c->w, p->stack);
	const struct world_symbol *sym = world_get_symbol(c->w, frame);
	const struct world_frame *fr = world_get_frame(c->w, frame);
	const struct world_module *m = fr ? world_get_module(c->w, fr->module) : NULL;
	const struct op_def *op = p->op ? world_op(c->w, p->op) : NULL;
	unsigned frames = 0;
	const uint32_t *stack = p->stack ? world_get_stack(c->w, p->stack, &frames) : NULL;
	bool python = fr && fr->kind == FRAME_PYTHON;
	struct buf text = { 0 };

	jsonw_object_begin(j);
	name_op(&text, c->w, p->op);
	name_key(j, "op", &text);
	jsonw_key_str(j, "source", op ? op->source_name : "host");
	if (frame) {
		name_frame(&text, c->w, frame);
		name_site_caller(&text, c->w, p->stack);
	}
	name_key(j, "text", &text);
	jsonw_key_bytes(j, "symbol",
			sym	 ? world_text(c->w, sym->name)
			: python ? world_text(c->w, fr->name)
				 : (struct bytes){ 0 });
	jsonw_key_bytes(j, "module", m ? world_text(c->w, m->path) : (struct bytes){ 0 });
	jsonw_key_bytes(j, "file",
			sym && sym->file ? world_text(c->w, sym->file)
			: python	 ? world_text(c->w, fr->file)
					 : (struct bytes){ 0 });
	jsonw_key_u64(j, "line", sym && sym->line ? sym->line : python ? fr->offset : 0);
	jsonw_key_u64(j, "lost_ns", p->lost_ns);
	jsonw_key_u64(j, "affected", p->affected);
	if (p->op) {
		jsonw_key_u64(j, "calls", p->count);
		jsonw_key_u64(j, "avg_ns", p->count ? p->sum_ns / p->count : 0);
		jsonw_key_u64(j, "max_ns", p->max_ns);
	}
	if (p->bytes)
		jsonw_key_u64(j, "bytes", p->bytes);
	jsonw_key_array(j, "stack");
	for (unsigned k = 0; stack && k < frames && k < FRAMES_TOLD; k++) {
		name_frame(&text, c->w, stack[k]);
		jsonw_bytes(j, buf_bytes(&text));
		buf_reset(&text);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
	buf_free(&text);
}

static void sites_json(const struct finding *f, struct jsonw *j)
{
	const struct cause *c = f->c;
	struct group_site v[SITES_TOLD];
	unsigned n = group_sites(c, f->g, v, SITES_TOLD);

	jsonw_key_array(j, "sites");
	for (unsigned i = 0; i < n; i++) {
		const struct cause_site *s = &c->classes.sites.v[v[i].id];
		struct where_place p = { .op = s->op,
					 .stack = s->stack,
					 .lost_ns = v[i].lost_ns,
					 .affected = v[i].count,
					 .count = v[i].calls,
					 .sum_ns = v[i].sum_ns,
					 .max_ns = v[i].max_ns };

		body_site(c, &p, j);
	}
	jsonw_array_end(j);
}

void body_victim(const struct cause *c, uint32_t process, uint32_t node, struct jsonw *j)
{
	const struct tally_process *p =
		process < c->tally.processes.n ? &c->tally.processes.v[process] : NULL;
	const struct world_process *v = world_get_process(c->w, process);
	const struct world_node *n = world_get_node(c->w, node ? node : v ? v->node : 0);

	jsonw_key_bytes(j, "node", n ? world_text(c->w, n->name) : (struct bytes){ 0 });
	jsonw_key_object(j, "victim");
	jsonw_key_u64(j, "pid", v ? v->tgid : 0);
	jsonw_key_bytes(j, "comm", v ? name_process(c->w, &c->tally, process) : bytes_of(""));
	jsonw_key_bytes(j, "command",
			v ? name_cmdline(c->w, &c->tally, process) : (struct bytes){ 0 });
	jsonw_key_u64(j, "calls", p ? p->calls : 0);
	jsonw_object_end(j);
}

void body_lost_parts(const uint64_t *part_ns, struct jsonw *j)
{
	jsonw_key_object(j, "lost");
	for (unsigned i = 0; part_ns && i < PART_COUNT; i++) {
		if (part_ns[i])
			jsonw_key_u64(j, part_name((enum part)i), part_ns[i]);
	}
	jsonw_object_end(j);
}

void body_fix(struct jsonw *j, const char *action, const char *kind, const char *command,
	      uint64_t gain_low_ns, uint64_t gain_high_ns, const char *basis)
{
	jsonw_key_str(j, "action", action);
	jsonw_key_str(j, "kind", kind);
	jsonw_key_str(j, "command", command);
	jsonw_key_u64(j, "gain_low_ns", gain_low_ns);
	jsonw_key_u64(j, "gain_high_ns", gain_high_ns);
	jsonw_key_str(j, "basis", basis);
}

void body_coverage(const struct cause *c, bool upper_bound, struct jsonw *j)
{
	const struct line_totals *totals = line_totals(c->line);

	jsonw_key_object(j, "coverage");
	jsonw_key_u64(j, "lost_events", totals->lost);
	jsonw_key_u64(j, "late_events", totals->late);
	jsonw_key_bool(j, "lower_bound", totals->lost > 0 || totals->late > 0);
	if (upper_bound)
		jsonw_key_bool(j, "upper_bound", true);
	jsonw_object_end(j);
}

void chain_body(const struct finding *f, const struct detector *d, struct jsonw *j)
{
	const struct cause *c = f->c;
	double explained, unexplained;
	struct buf text = { 0 };

	group_shares(c, f->g, &explained, &unexplained);
	jsonw_object_begin(j);
	jsonw_key_str(j, "schema", "ingero.chain/1");
	body_victim(c, f->g->process, 0, j);
	name_op(&text, c->w, group_op(c, f->g));
	name_key(j, "op", &text);
	jsonw_key_i64(j, "first_ns", f->g->first_ns - c->start_ns);
	jsonw_key_i64(j, "last_ns", f->g->last_ns - c->start_ns);
	jsonw_key_double(j, "share_of_wall", f->share);
	jsonw_key_double(j, "worst_window_share", f->g->worst_share);
	jsonw_key_double(j, "lost_ms_per_s",
			 cause_wall_ns(c) ? (double)f->lost_ns * 1e3 / (double)cause_wall_ns(c)
					  : 0);
	jsonw_key_double(j, "explained", explained);
	jsonw_key_double(j, "unexplained", unexplained);
	body_lost_parts(f->g->part_ns, j);
	culprit_json(f, j);
	symptom_json(f, j);
	sites_json(f, j);
	cause_timeline(f, j);
	jsonw_key_array(j, "recommendations");
	d->recommend(f, j);
	jsonw_array_end(j);
	without_group(f, j);
	body_coverage(c, false, j);
	jsonw_key_str(j, "counted", "waits");
	jsonw_key_array(j, "evidence");
	if (d->evidence)
		d->evidence(f, j);
	jsonw_array_end(j);
	jsonw_object_end(j);
	buf_free(&text);
}
