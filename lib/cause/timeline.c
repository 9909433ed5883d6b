/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worst intervals of the group and the worst calls it took from, in order of time, headed by how
 * busy the node was. Both lists are short and sorted as they grow.
 */
#include "lib/cause/timeline.h"

#include "lib/base/timetext.h"
#include "lib/cause/details.h"
#include "lib/cause/names.h"

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

/* "cudaFree took 1.2 ms, of which 0.8 ms lost" */
static void moment_text(const struct fact_moment *m, const struct op_def *op, struct buf *out)
{
	char took[48], lost[48];

	buf_printf(out, "%s took %s", op->name, duration_text(took, sizeof(took), m->dur_ns));
	/* More than that: with what belongs to it, as an allocation to its freeing. */
	if (m->lost_ns)
		buf_printf(out,
			   m->lost_ns > m->dur_ns ? "; lost with what belongs to it: %s"
						  : ", of which %s lost",
			   duration_text(lost, sizeof(lost), m->lost_ns));
}

void timeline_add_moment(const struct cause *c, const struct fact_moment *m, struct finding *to)
{
	struct finding_moment *at = finding_add(to, moments);
	const struct op_def *op = m->op ? world_op(c->w, m->op) : NULL;
	const struct world_thread *th = world_get_thread(c->w, m->thread);
	struct buf text = { 0 };

	if (!at)
		return;
	if (m->text)
		buf_puts(&text, m->text);
	else if (op)
		moment_text(m, op, &text);
	at->layer = bytes_of(m->thread || m->op ? layer_of(op) : "SYSTEM");
	at->start_ns = m->end_ns - (int64_t)m->dur_ns - c->start_ns;
	at->dur_ns = m->dur_ns;
	at->lost_ns = m->lost_ns;
	at->text = details_take(to, &text);
	at->has_event = op && th && !m->unended;
	if (at->has_event)
		at->event = (struct finding_event){ .tid = th->tid,
						    .has_end = true,
						    .end_ns = m->event_ns ? m->event_ns : m->end_ns,
						    .op = finding_copy(to, bytes_of(op->name)) };
	buf_free(&text);
}

struct moment {
	struct tally_worst w;
	bool call;
	uint32_t site_id;
};

static void timeline_entry(const struct group_view *f, const struct moment *m, struct finding *to)
{
	const struct cause *c = f->c;
	const struct op_def *op = m->w.op ? world_op(c->w, m->w.op) : NULL;
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
	timeline_add_moment(c,
			    &(struct fact_moment){ .end_ns = m->w.end_ns,
						   .dur_ns = m->w.dur_ns,
						   .lost_ns = m->w.lost_ns,
						   .thread = m->w.thread,
						   .op = m->w.op,
						   .text = buf_text(&text) },
			    to);
	buf_free(&text);
}

void timeline_add_system(const struct cause *c, uint32_t process, uint32_t node, struct finding *to)
{
	static const struct {
		enum metric_id metric;
		const char *text;
	} shown[] = { { METRIC_CPU_BUSY, "CPU busy %.0f %%" },
		      { METRIC_LOAD_1, "load %.1f" },
		      { METRIC_CPU_IOWAIT, "I/O wait %.0f %%" },
		      { METRIC_CPU_STEAL, "stolen %.0f %%" } };
	const struct world_process *p = world_get_process(c->w, process);
	struct finding_moment *at;
	struct buf text = { 0 };

	if (!node && p)
		node = p->node;
	for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const struct cause_metric *m = cause_nodes_metric(&c->nodes, node, shown[i].metric);

		if (m->n == 0 || (i >= 2 && m->max < 1))
			continue;
		if (text.n)
			buf_puts(&text, ", ");
		buf_printf(&text, shown[i].text, m->sum / (double)m->n);
		buf_puts(&text, " on average");
	}
	at = text.n ? finding_add(to, moments) : NULL;
	if (at)
		*at = (struct finding_moment){ .layer = bytes_of("SYSTEM"),
					       .dur_ns = cause_wall_ns(c),
					       .text = details_take(to, &text) };
	buf_free(&text);
}

void timeline_fill_group(const struct group_view *f, struct finding *to)
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
	if (f->c->ended)
		timeline_add_system(f->c, f->g->process, 0, to);
	for (unsigned i = 0; i < n; i++)
		timeline_entry(f, &v[i], to);
}
