/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence of a chain as JSON: formats/chain.schema.json says what each key means. Event times
 * are keys into the recording and are strings; durations are numbers of nanoseconds.
 */
#include <inttypes.h>
#include <stdio.h>

#include "lib/base/timetext.h"
#include "lib/cause/chain.h"
#include "lib/cause/names.h"

#define SITES_TOLD   5
#define CLASSES_TOLD 5
#define FRAMES_TOLD  16

static void key_bytes(struct jsonw *j, const char *key, struct bytes text)
{
	jsonw_key(j, key);
	if (text.p)
		jsonw_bytes(j, text);
	else
		jsonw_null(j);
}

static void key_u64(struct jsonw *j, const char *key, uint64_t v)
{
	jsonw_key(j, key);
	jsonw_u64(j, v);
}

static void key_double(struct jsonw *j, const char *key, double v)
{
	jsonw_key(j, key);
	jsonw_double(j, v);
}

static void key_buf(struct jsonw *j, const char *key, struct buf *text)
{
	jsonw_key(j, key);
	jsonw_bytes(j, buf_bytes(text));
	buf_reset(text);
}

static void time_key(struct jsonw *j, const struct cause *c, const char *key, int64_t ns)
{
	jsonw_key(j, key);
	jsonw_i64(j, ns - c->start_ns);
}

static void culprit_json(const struct finding *f, struct jsonw *j)
{
	static const char *const kinds[] = { "process", "own", "thread", "device", "cgroup" };
	const struct line_culprit *who = f->who;
	const struct cause *c = f->c;
	struct buf text = { 0 };

	jsonw_key(j, "culprit");
	jsonw_object_begin(j);
	jsonw_key(j, "kind");
	jsonw_str(j, who ? kinds[who->kind] : "several");
	jsonw_key(j, "text");
	jsonw_str(j, f->culprit);
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
	key_u64(j, "processes", who && who->kind != CULPRIT_HOLDER ? who->npids : 0);
	jsonw_key(j, who && who->kind == CULPRIT_HOLDER ? "tids" : "pids");
	jsonw_array_begin(j);
	for (uint32_t i = 0; who && i < who->npids && i < CULPRIT_PIDS; i++)
		jsonw_u64(j, who->pids[i]);
	jsonw_array_end(j);
	key_u64(j, "parent", who ? who->parent : 0);
	jsonw_key(j, "cgroup");
	if (who && who->kind == CULPRIT_CGROUP) {
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
	/* The lock holders through which it was reached, when it kept them from releasing. */
	jsonw_key(j, "via");
	jsonw_array_begin(j);
	for (size_t i = 0; i < f->g->rows.n; i++) {
		const struct line_culprit *p =
			culprit_get(c->tally.culprits, c->tally.rows.v[f->g->rows.v[i]].culprit);
		bool again = !p || p->via == 0;

		for (size_t k = 0; k < i && !again; k++) {
			const struct line_culprit *q = culprit_get(
				c->tally.culprits, c->tally.rows.v[f->g->rows.v[k]].culprit);

			again = q && q->via == p->via;
		}
		if (again)
			continue;
		name_culprit_full(&text, c->w, &c->tally, culprit_get(c->tally.culprits, p->via));
		jsonw_bytes(j, buf_bytes(&text));
		buf_reset(&text);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
	buf_free(&text);
}

/* Classes the cause takes from, most lost first. */
static void symptom_json(const struct finding *f, struct jsonw *j)
{
	const struct cause *c = f->c;
	struct chain_site top[CLASSES_TOLD];
	unsigned n = chain_classes(c, f->g, top, CLASSES_TOLD);
	struct buf text = { 0 };

	jsonw_key(j, "symptom");
	jsonw_array_begin(j);
	for (unsigned i = 0; i < n; i++) {
		const struct cause_class *cl = &c->classes.v.v[top[i].id];
		const struct op_def *op = cl->key.op ? world_op(c->w, cl->key.op) : NULL;
		bool borrowed;

		jsonw_object_begin(j);
		name_op(&text, c->w, cl->key.op);
		key_buf(j, "op", &text);
		jsonw_key(j, "source");
		jsonw_str(j, op ? op->source_name : "host");
		key_u64(j, "lost_ns", top[i].lost_ns);
		key_u64(j, "affected", top[i].count);
		if (cl->key.op) {
			key_u64(j, "n", cl->dur->n);
			key_u64(j, "p50_ns", hist_quantile(cl->dur, 0.5));
			key_u64(j, "p99_ns", hist_quantile(cl->dur, 0.99));
			key_u64(j, "max_ns", cl->dur->max);
			key_u64(j, "expected_ns",
				class_expected(&c->classes, top[i].id, &borrowed));
			jsonw_key(j, "expected_borrowed");
			jsonw_bool(j, borrowed);
			/* What the slow calls would have taken had the host taken nothing. */
			key_u64(j, "p99_without_ns", hist_quantile(cl->own, 0.99));
			jsonw_key(j, "first_use");
			jsonw_bool(j, cl->key.first);
			if (cl->key.size)
				key_u64(j, "bytes_below",
					cl->key.size >= 64 ? UINT64_MAX : 1ull << cl->key.size);
		}
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	buf_free(&text);
}

static void sites_json(const struct finding *f, struct jsonw *j)
{
	const struct cause *c = f->c;
	struct chain_site v[SITES_TOLD];
	unsigned n = chain_sites(c, f->g, v, SITES_TOLD);
	struct buf text = { 0 };

	jsonw_key(j, "sites");
	jsonw_array_begin(j);
	for (unsigned i = 0; i < n; i++) {
		const struct cause_site *s = &c->classes.sites.v[v[i].id];
		uint32_t frame = name_site_frame(c->w, s->stack);
		const struct world_symbol *sym = world_get_symbol(c->w, frame);
		const struct world_frame *fr = world_get_frame(c->w, frame);
		const struct world_module *m = fr ? world_get_module(c->w, fr->module) : NULL;
		const struct op_def *op = s->op ? world_op(c->w, s->op) : NULL;
		unsigned frames = 0;
		const uint32_t *stack = s->stack ? world_get_stack(c->w, s->stack, &frames) : NULL;

		jsonw_object_begin(j);
		name_op(&text, c->w, s->op);
		key_buf(j, "op", &text);
		jsonw_key(j, "source");
		jsonw_str(j, op ? op->source_name : "host");
		if (frame) {
			name_frame(&text, c->w, frame);
			name_site_caller(&text, c->w, s->stack);
		}
		key_buf(j, "text", &text);
		key_bytes(j, "symbol",
			  sym				   ? world_text(c->w, sym->name)
			  : fr && fr->kind == FRAME_PYTHON ? world_text(c->w, fr->name)
							   : (struct bytes){ 0 });
		key_bytes(j, "module", m ? world_text(c->w, m->path) : (struct bytes){ 0 });
		key_bytes(j, "file",
			  sym && sym->file		   ? world_text(c->w, sym->file)
			  : fr && fr->kind == FRAME_PYTHON ? world_text(c->w, fr->file)
							   : (struct bytes){ 0 });
		key_u64(j, "line",
			sym && sym->line		 ? sym->line
			: fr && fr->kind == FRAME_PYTHON ? fr->offset
							 : 0);
		key_u64(j, "lost_ns", v[i].lost_ns);
		key_u64(j, "affected", v[i].count);
		if (s->op) {
			key_u64(j, "calls", s->n);
			key_u64(j, "avg_ns", s->n ? s->sum_ns / s->n : 0);
			key_u64(j, "max_ns", s->max_ns);
		}
		jsonw_key(j, "stack");
		jsonw_array_begin(j);
		for (unsigned k = 0; stack && k < frames && k < FRAMES_TOLD; k++) {
			name_frame(&text, c->w, stack[k]);
			jsonw_bytes(j, buf_bytes(&text));
			buf_reset(&text);
		}
		jsonw_array_end(j);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	buf_free(&text);
}

static const char *layer_of(const struct op_def *op)
{
	switch (op ? op->source : 0) {
	case SOURCE_CUDA:
		return "CUDA";
	case SOURCE_DRIVER:
		return "DRIVER";
	case SOURCE_GRAPH:
		return "GRAPH";
	case SOURCE_NCCL:
		return "NCCL";
	default:
		return "HOST";
	}
}

struct moment {
	struct tally_worst w;
	bool call;
	uint32_t site_id;
};

static void timeline_entry(const struct finding *f, const struct moment *m, struct jsonw *j)
{
	const struct cause *c = f->c;
	const struct op_def *op = m->w.op ? world_op(c->w, m->w.op) : NULL;
	const struct world_thread *th = world_get_thread(c->w, m->w.thread);
	struct buf text = { 0 };
	char a[48], b[48];

	duration_text(a, sizeof(a), m->w.lost_ns);
	duration_text(b, sizeof(b), m->w.dur_ns);
	if (m->call) {
		uint32_t frame = name_site_frame(c->w, c->classes.sites.v[m->site_id].stack);

		buf_printf(&text, "%s took %s, of which %s lost", op ? op->name : "call", b, a);
		if (frame) {
			buf_puts(&text, "; called from ");
			name_frame(&text, c->w, frame);
		}
	} else {
		buf_printf(&text, "%s for %s: %s", part_text((enum part)m->w.part), a, f->culprit);
	}
	jsonw_object_begin(j);
	jsonw_key(j, "layer");
	jsonw_str(j, m->call ? layer_of(op) : "HOST");
	time_key(j, c, "t_ns", m->w.end_ns - (int64_t)m->w.dur_ns);
	key_u64(j, "dur_ns", m->w.dur_ns);
	key_u64(j, "lost_ns", m->w.lost_ns);
	key_buf(j, "text", &text);
	jsonw_key(j, "event");
	jsonw_object_begin(j);
	key_u64(j, "tid", th ? th->tid : 0);
	jsonw_key(j, "end");
	snprintf(a, sizeof(a), "%" PRId64, m->w.end_ns);
	jsonw_str(j, a);
	jsonw_key(j, "op");
	jsonw_str(j, op ? op->name : "");
	jsonw_object_end(j);
	jsonw_object_end(j);
	buf_free(&text);
}

static void system_entry(const struct cause *c, struct jsonw *j)
{
	static const struct {
		unsigned metric;
		const char *text;
	} shown[] = { { METRIC_CPU_BUSY, "CPU busy %.0f %%" },
		      { METRIC_LOAD_1, "load %.1f" },
		      { METRIC_CPU_IOWAIT, "I/O wait %.0f %%" },
		      { METRIC_CPU_STEAL, "stolen %.0f %%" } };
	struct buf text = { 0 };

	for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const struct cause_metric *m = &c->metric[shown[i].metric];

		if (m->n == 0 || (i >= 2 && m->max < 1))
			continue;
		if (text.n)
			buf_puts(&text, ", ");
		buf_printf(&text, shown[i].text, m->sum / (double)m->n);
		buf_puts(&text, " on average");
	}
	if (text.n) {
		jsonw_object_begin(j);
		jsonw_key(j, "layer");
		jsonw_str(j, "SYSTEM");
		key_u64(j, "t_ns", 0);
		key_u64(j, "dur_ns", cause_wall_ns(c));
		key_u64(j, "lost_ns", 0);
		key_buf(j, "text", &text);
		jsonw_key(j, "event");
		jsonw_null(j);
		jsonw_object_end(j);
	}
	buf_free(&text);
}

static void timeline_json(const struct finding *f, struct jsonw *j)
{
	struct moment v[2 * TALLY_WORST];
	unsigned n = 0, calls = 0;

	for (unsigned i = 0; i < TALLY_WORST && f->g->worst[i].lost_ns; i++)
		v[n++] = (struct moment){ .w = f->g->worst[i] };
	for (size_t i = 0; i < f->g->hits.n; i++) {
		const struct tally_hit *h = &f->c->tally.hits.v[f->g->hits.v[i]];
		unsigned first = n - calls, at = n;

		if (f->c->classes.sites.v[h->site_id].op == 0)
			continue;
		while (at > first && h->worst.lost_ns > v[at - 1].w.lost_ns)
			at--;
		if (at == first + TALLY_WORST)
			continue;
		if (calls < TALLY_WORST) {
			calls++;
			n++;
		}
		for (unsigned k = n - 1; k > at; k--)
			v[k] = v[k - 1];
		v[at] = (struct moment){ .w = h->worst, .call = true, .site_id = h->site_id };
	}
	for (unsigned i = 1; i < n; i++) {
		struct moment m = v[i];
		unsigned k = i;

		for (; k > 0 && v[k - 1].w.end_ns > m.w.end_ns; k--)
			v[k] = v[k - 1];
		v[k] = m;
	}
	jsonw_key(j, "timeline");
	jsonw_array_begin(j);
	if (f->c->ended)
		system_entry(f->c, j);
	for (unsigned i = 0; i < n; i++)
		timeline_entry(f, &v[i], j);
	jsonw_array_end(j);
}

void chain_body(const struct finding *f, const struct detector *d, struct jsonw *j)
{
	const struct cause *c = f->c;
	const struct tally_process *p = &c->tally.processes.v[f->g->process];
	const struct world_process *v = world_get_process(c->w, f->g->process);
	const struct world_node *node = v ? world_get_node(c->w, v->node) : NULL;
	const struct line_totals *totals = line_totals(c->line);
	double explained, unexplained;
	struct buf text = { 0 };

	chain_shares(c, f->g, &explained, &unexplained);
	jsonw_object_begin(j);
	jsonw_key(j, "schema");
	jsonw_str(j, "ingero.chain/1");
	key_bytes(j, "node", node ? world_text(c->w, node->name) : (struct bytes){ 0 });
	jsonw_key(j, "victim");
	jsonw_object_begin(j);
	key_u64(j, "pid", f->victim_pid);
	key_bytes(j, "comm", name_process(c->w, &c->tally, f->g->process));
	key_bytes(j, "command", name_cmdline(c->w, &c->tally, f->g->process));
	key_u64(j, "calls", p->calls);
	jsonw_object_end(j);
	name_op(&text, c->w, chain_op(c, f->g));
	key_buf(j, "op", &text);
	time_key(j, c, "first_ns", f->g->first_ns);
	time_key(j, c, "last_ns", f->g->last_ns);
	key_double(j, "share_of_wall", f->share);
	key_double(j, "worst_window_share", f->g->worst_share);
	key_double(j, "lost_ms_per_s",
		   cause_wall_ns(c) ? (double)f->lost_ns * 1e3 / (double)cause_wall_ns(c) : 0);
	key_double(j, "explained", explained);
	key_double(j, "unexplained", unexplained);
	jsonw_key(j, "lost");
	jsonw_object_begin(j);
	for (unsigned i = 0; i < PART_COUNT; i++) {
		if (f->g->part_ns[i])
			key_u64(j, part_name((enum part)i), f->g->part_ns[i]);
	}
	jsonw_object_end(j);
	culprit_json(f, j);
	symptom_json(f, j);
	sites_json(f, j);
	timeline_json(f, j);
	jsonw_key(j, "recommendations");
	jsonw_array_begin(j);
	d->recommend(f, j);
	jsonw_array_end(j);
	jsonw_key(j, "coverage");
	jsonw_object_begin(j);
	key_u64(j, "lost_events", totals->lost);
	key_u64(j, "late_events", totals->late);
	jsonw_key(j, "lower_bound");
	jsonw_bool(j, totals->lost > 0 || totals->late > 0);
	jsonw_object_end(j);
	jsonw_object_end(j);
	buf_free(&text);
}
