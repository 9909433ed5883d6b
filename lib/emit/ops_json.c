/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types are fixed per field: what identifies is a string, times are ISO text beside nanoseconds, and
 * a value that does not exist is null, never zero.
 */
#include "lib/emit/ops_json.h"

#include "lib/base/jsonw.h"
#include "lib/base/timetext.h"
#include "lib/event/event.h"
#include "lib/event/record.h"

static void text(struct jsonw *j, const struct world *w, const char *key, uint32_t string)
{
	jsonw_key(j, key);
	if (string)
		jsonw_bytes(j, world_text(w, string));
	else
		jsonw_null(j);
}

static void number(struct jsonw *j, const char *key, uint64_t x)
{
	jsonw_key(j, key);
	jsonw_u64(j, x);
}

static void flag(struct jsonw *j, const char *key, bool x)
{
	jsonw_key(j, key);
	jsonw_bool(j, x);
}

static void string(struct jsonw *j, const char *key, const char *value)
{
	jsonw_key(j, key);
	jsonw_str(j, value);
}

static void ops(struct jsonw *j, const struct ops_summary *s, double wall)
{
	jsonw_key(j, "ops");
	jsonw_array_begin(j);
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct ops_row *r = &s->rows.v[i];

		jsonw_object_begin(j);
		string(j, "source", r->op->source_name);
		string(j, "op", r->op->name);
		string(j, "layer", source_layer(r->op->source));
		number(j, "count", r->count);
		number(j, "errors", r->errors);
		number(j, "p50_ns", r->p50_ns);
		number(j, "p95_ns", r->p95_ns);
		number(j, "p99_ns", r->p99_ns);
		number(j, "min_ns", r->min_ns);
		number(j, "max_ns", r->max_ns);
		number(j, "total_ns", r->total_ns);
		number(j, "self_ns", r->self_ns);
		number(j, "lost_ns", r->lost_ns);
		jsonw_key(j, "share");
		jsonw_double(j, wall > 0 ? (double)r->self_ns / wall : 0);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void errors(struct jsonw *j, const struct ops_summary *s)
{
	jsonw_key(j, "errors");
	jsonw_array_begin(j);
	for (size_t i = 0; i < s->errors.n; i++) {
		const struct ops_error *x = &s->errors.v[i];

		jsonw_object_begin(j);
		string(j, "source", x->op->source_name);
		string(j, "op", x->op->name);
		jsonw_key(j, "code");
		jsonw_i64(j, x->ret);
		string(j, "name", event_error_name(x->op->source, x->ret));
		number(j, "count", x->count);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void process_id(struct jsonw *j, const struct world *w, uint32_t id)
{
	const struct world_process *p = world_get_process(w, id);
	const struct world_node *n = p ? world_get_node(w, p->node) : NULL;

	jsonw_key(j, "pid");
	if (p)
		jsonw_u64(j, p->tgid);
	else
		jsonw_null(j);
	text(j, w, "node", n ? n->name : 0);
}

static void processes(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	jsonw_key(j, "processes");
	jsonw_array_begin(j);
	for (size_t i = 0; i < s->processes.n; i++) {
		const struct ops_process *p = &s->processes.v[i];

		jsonw_object_begin(j);
		process_id(j, w, p->process);
		text(j, w, "comm", p->comm);
		number(j, "threads", p->threads);
		number(j, "events", p->events);
		number(j, "calls", p->calls);
		number(j, "errors", p->errors);
		number(j, "in_calls_ns", p->in_calls_ns);
		number(j, "lost_ns", p->lost_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void when(struct jsonw *j, const char *key, const struct ops_summary *s, int64_t ns)
{
	char iso[48];

	jsonw_key(j, key);
	if (s->has_real)
		jsonw_str(j, time_iso(iso, sizeof(iso), ns + s->real_minus_mono_ns));
	else
		jsonw_null(j);
}

static void layers(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	jsonw_key(j, "layers");
	jsonw_array_begin(j);
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct ops_layer *l = &s->layers.v[i];

		jsonw_object_begin(j);
		process_id(j, w, l->process);
		text(j, w, "layer", l->layer);
		text(j, w, "path", l->path);
		number(j, "requested", l->requested);
		number(j, "attached", l->attached);
		number(j, "failed", l->failed);
		text(j, w, "reason", l->reason);
		text(j, w, "link", l->link);
		number(j, "gap_ns", l->gap_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void coverage(struct jsonw *j, const struct world *w, const struct ops_summary *s,
		     const struct ops_input *in)
{
	jsonw_key(j, "coverage");
	jsonw_object_begin(j);
	number(j, "events", s->events);
	number(j, "selected", s->selected);
	number(j, "lost", s->lost);
	number(j, "late", s->late);
	number(j, "open_calls", s->open);
	number(j, "duration_ns", (uint64_t)(s->end_ns - s->start_ns));
	when(j, "start", s, s->start_ns);
	when(j, "end", s, s->end_ns);
	flag(j, "complete", s->complete);
	flag(j, "damaged", in->damaged);
	flag(j, "truncated", in->truncated);
	flag(j, "unterminated", in->unterminated);
	flag(j, "growing", in->growing);
	number(j, "damaged_blocks", in->damaged_blocks);
	number(j, "skipped_bytes", in->skipped_bytes);
	jsonw_key(j, "losses");
	jsonw_array_begin(j);
	for (unsigned i = 0; i < OPS_LOSS_REASONS; i++) {
		if (s->loss_by_reason[i] == 0)
			continue;
		jsonw_object_begin(j);
		string(j, "reason", loss_reason_text(i));
		number(j, "count", s->loss_by_reason[i]);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	layers(j, w, s);
	jsonw_object_end(j);
}

static void samples(struct jsonw *j, const struct ops_summary *s)
{
	jsonw_key(j, "system");
	jsonw_array_begin(j);
	for (unsigned i = 0; i < OPS_METRICS; i++) {
		const struct ops_metric *m = &s->metrics[i];
		const struct metric_def *def = m->n ? metric_builtin((uint16_t)i) : NULL;

		if (!def)
			continue;
		jsonw_object_begin(j);
		string(j, "metric", def->name);
		string(j, "unit", def->unit);
		flag(j, "counter", def->counter);
		number(j, "samples", m->n);
		jsonw_key(j, "first");
		jsonw_double(j, m->first);
		jsonw_key(j, "last");
		jsonw_double(j, m->last);
		jsonw_key(j, "mean");
		jsonw_double(j, m->sum / (double)m->n);
		jsonw_key(j, "max");
		jsonw_double(j, m->max);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

void ops_json(struct buf *out, const struct world *w, const struct ops_summary *s,
	      const struct ops_input *in)
{
	struct jsonw j;

	jsonw_init(&j, out, true);
	jsonw_object_begin(&j);
	string(&j, "schema", "ingero.stat/1");
	ops(&j, s, (double)(s->end_ns - s->start_ns));
	errors(&j, s);
	processes(&j, w, s);
	coverage(&j, w, s, in);
	samples(&j, s);
	jsonw_object_end(&j);
	buf_putc(out, '\n');
}
