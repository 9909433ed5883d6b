/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worst intervals and calls of a loss in order of their starts, with the load of the node
 * first.
 */
#include "lib/account/moments.h"

#include <stdlib.h>

#include "lib/base/timetext.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"

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

static void add_interval(const struct loss_view *f, const struct loss_detector *d,
			 const struct loss_moment *m, struct buf *text)
{
	const char *was = f->who ? NULL : detect_was((enum part)m->part);
	char lost[48];

	buf_printf(text, "%s for %s: ", d->moment ? d->moment : part_text((enum part)m->part),
		   duration_text(lost, sizeof(lost), m->lost_ns));
	/* With nobody to name, what the thread did. */
	if (d->moment && was)
		buf_printf(text, "it %s", was);
	else
		buf_puts(text, f->culprit);
}

static void add_call(const struct cause *c, const struct loss_moment *m, struct buf *text)
{
	const struct op_def *op = world_op(c->w, m->op);
	uint32_t frame = name_site_frame(c->w, m->stack);
	char took[48], lost[48];

	buf_printf(text, "%s took %s, of which %s lost", op ? op->name : "call",
		   duration_text(took, sizeof(took), m->dur_ns),
		   duration_text(lost, sizeof(lost), m->lost_ns));
	if (frame) {
		buf_puts(text, "; called from ");
		name_frame(text, c->w, frame);
	}
}

static int by_end(const void *a, const void *b)
{
	const struct loss_moment *x = a, *y = b;

	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

void timeline_fill_loss(const struct loss_view *f, const struct loss_detector *d,
			struct finding *to)
{
	struct loss_moment v[2 * LOSS_WORST];
	struct buf text = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < LOSS_WORST && f->loss->intervals[i].lost_ns; i++)
		v[n++] = f->loss->intervals[i];
	for (unsigned i = 0; i < LOSS_WORST && f->loss->calls[i].lost_ns; i++)
		v[n++] = f->loss->calls[i];
	if (n)
		qsort(v, n, sizeof(*v), by_end);
	if (f->c->ended)
		timeline_add_system(f->c, f->loss->process, 0, to);
	for (unsigned i = 0; i < n; i++) {
		const struct op_def *op = v[i].op ? world_op(f->c->w, v[i].op) : NULL;

		buf_reset(&text);
		if (op && op->flags & OP_CALL)
			add_call(f->c, &v[i], &text);
		else
			add_interval(f, d, &v[i], &text);
		timeline_add_moment(f->c,
				    &(struct fact_moment){ .end_ns = v[i].end_ns,
							   .dur_ns = v[i].dur_ns,
							   .lost_ns = v[i].lost_ns,
							   .thread = v[i].thread,
							   .op = v[i].op,
							   .text = buf_text(&text) },
				    to);
	}
	finding_sort_moments(to);
	buf_free(&text);
}
