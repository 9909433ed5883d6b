/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the summary of operations as JSON. Types are fixed per field: identifiers are strings,
 * times are ISO text beside nanoseconds, and a value that does not exist is null, never zero. */
#include "lib/report/ops_json.h"

#include "lib/base/jsonw.h"
#include "lib/base/timetext.h"
#include "lib/report/report_columns.h"
#include "lib/report/group_by_text.h"
#include "lib/report/report_internal.h"
#include "lib/report/view_json_parts.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/event/section_rows.h"
#include "lib/world/stack_ends.h"

static void error_nodes(struct jsonw *j, const struct world *w, const struct ops_summary *s,
			size_t error)
{
	if (s->brief) {
		jsonw_key_null(j, "nodes");
		return;
	}
	jsonw_key_array(j, "nodes");
	for (size_t i = 0; i < s->error_nodes.n; i++) {
		const struct ops_error_node *x = &s->error_nodes.v[i];
		const struct world_node *n = world_get_node(w, x->node);

		if (x->error != error || !n)
			continue;
		jsonw_object_begin(j);
		view_json_text(j, w, "node", n->name);
		jsonw_key_u64(j, "count", x->count);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void append_errors(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	jsonw_key_array(j, "errors");
	for (size_t i = 0; i < s->errors.n; i++) {
		const struct ops_error *x = &s->errors.v[i];

		jsonw_object_begin(j);
		jsonw_key_str(j, "source", x->op->source_name);
		jsonw_key_str(j, "op", x->op->name);
		jsonw_key_i64(j, "code", x->ret);
		jsonw_key_str(j, "name", event_error_name(x->op->source, x->ret));
		jsonw_key_u64(j, "count", x->count);
		error_nodes(j, w, s, i);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void append_processes(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	jsonw_key_array(j, "processes");
	for (size_t i = 0; i < s->processes.n; i++) {
		const struct ops_process *p = &s->processes.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, p->process);
		view_json_text(j, w, "comm",
			       world_process_name(w, p->process, p->image, INT64_MAX));
		jsonw_key_u64(j, "threads", p->threads);
		jsonw_key_u64(j, "events", p->events);
		jsonw_key_u64(j, "calls", p->calls);
		jsonw_key_u64(j, "outer_calls", p->outer_calls);
		jsonw_key_u64(j, "errors", p->errors);
		jsonw_key_u64(j, "in_calls_ns", p->in_calls_ns);
		if (p->all.least)
			jsonw_key_bool(j, "at_least", true);
		if (p->all.is) {
			jsonw_key_u64(j, "estimated_calls", p->all.count);
			jsonw_key_u64(j, "estimated_in_calls_ns", p->all.total_ns);
			jsonw_key_double(j, "covered", (double)p->calls / (double)p->all.count);
		}
		jsonw_key_u64(j, "lost_ns", p->lost_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void append_time(struct jsonw *j, const char *key, const struct ops_summary *s, int64_t ns)
{
	char iso[48];

	jsonw_key(j, key);
	if (s->has_real)
		jsonw_str(j, time_iso(iso, sizeof(iso), ns + s->real_minus_mono_ns));
	else
		jsonw_null(j);
}

static void append_layers(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	jsonw_key_array(j, "layers");
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct ops_layer *l = &s->layers.v[i];
		const struct world_node *n = world_get_node(w, l->node);

		jsonw_object_begin(j);
		if (l->process) {
			view_json_process(j, w, l->process);
		} else {
			jsonw_key_null(j, "pid");
			view_json_text(j, w, "node", n ? n->name : 0);
		}
		view_json_text(j, w, "layer", l->layer);
		view_json_text(j, w, "path", l->path);
		jsonw_key_u64(j, "requested", l->requested);
		jsonw_key_u64(j, "attached", l->attached);
		jsonw_key_u64(j, "failed", l->failed);
		view_json_text(j, w, "reason", l->reason);
		view_json_text(j, w, "link", l->link);
		jsonw_key_u64(j, "gap_ns", l->gap_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void append_uncovered(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	jsonw_key_array(j, "uncovered");
	for (size_t i = 0; i < s->uncovered.v.n; i++) {
		const struct uncovered_row *u = &s->uncovered.v.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, u->process);
		uncovered_json(j, u, s->start_ns);
		jsonw_key_null(j, "calls");
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

/* Members only where something was. */
static void append_paused(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	if (s->paused.n)
		jsonw_key_array(j, "paused");
	for (size_t i = 0; i < s->paused.n; i++) {
		const struct ops_paused *p = &s->paused.v[i];
		const struct world_node *n = world_get_node(w, p->node);

		jsonw_object_begin(j);
		view_json_text(j, w, "node", n ? n->name : 0);
		jsonw_key_str(j, "tier", op_tier_name(p->tier));
		jsonw_key_u64(j, "ns", p->ns);
		jsonw_key_double(j, "covered", p->covered);
		if (p->least)
			jsonw_key_bool(j, "at_least", true);
		jsonw_key(j, "reason");
		jsonw_bytes(j, bytes_of(p->reason));
		jsonw_object_end(j);
	}
	if (s->paused.n)
		jsonw_array_end(j);
	if (s->folded.n)
		jsonw_key_array(j, "folded");
	for (size_t i = 0; i < s->folded.n; i++) {
		jsonw_object_begin(j);
		jsonw_key_str(j, "source", s->folded.v[i].op->source_name);
		jsonw_key_str(j, "op", s->folded.v[i].op->name);
		jsonw_key_u64(j, "calls", s->folded.v[i].calls);
		jsonw_object_end(j);
	}
	if (s->folded.n)
		jsonw_array_end(j);
}

static void append_stacks(struct jsonw *j, const struct world *w, const struct stack_ends_sum *sum)
{
	jsonw_key(j, "native_stacks");
	if (!sum) {
		jsonw_null(j);
		return;
	}
	jsonw_object_begin(j);
	jsonw_key_u64(j, "events", sum->events);
	jsonw_key_u64(j, "whole", sum->whole);
	jsonw_key_u64(j, "too_deep", sum->deep);
	jsonw_key_u64(j, "by_frame_pointers", sum->by_pointers);
	jsonw_key_array(j, "ends");
	for (size_t i = 0; i < sum->ends.n; i++) {
		const struct world_module *m = world_get_module(w, sum->ends.v[i].module);

		jsonw_object_begin(j);
		view_json_text(j, w, "path", m ? m->path : 0);
		view_json_text(j, w, "build_id", m ? m->build_id : 0);
		jsonw_key_str(j, "reason", stack_end_reason_name(sum->ends.v[i].reason));
		jsonw_key_u64(j, "events", sum->ends.v[i].events);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
}

static void append_coverage(struct jsonw *j, const struct world *w, const struct ops_summary *s,
			    const struct ops_input *in)
{
	jsonw_key_object(j, "coverage");
	jsonw_key_u64(j, "events", s->events);
	jsonw_key_u64(j, "selected", s->selected);
	jsonw_key_u64(j, "lost", s->lost);
	jsonw_key_u64(j, "late", s->late);
	jsonw_key_u64(j, "open_calls", s->open);
	jsonw_key_u64(j, "duration_ns", (uint64_t)(s->end_ns - s->start_ns));
	append_time(j, "start", s, s->start_ns);
	append_time(j, "end", s, s->end_ns);
	jsonw_key_bool(j, "complete", s->complete);
	jsonw_key_bool(j, "damaged", in->damaged);
	jsonw_key_bool(j, "truncated", in->truncated);
	jsonw_key_bool(j, "unterminated", in->unterminated);
	jsonw_key_bool(j, "growing", in->growing);
	jsonw_key_u64(j, "damaged_blocks", in->damaged_blocks);
	jsonw_key_u64(j, "skipped_bytes", in->skipped_bytes);
	jsonw_key_array(j, "losses");
	for (unsigned i = 0; i < OPS_LOSS_REASONS; i++) {
		if (s->loss_by_reason[i] == 0)
			continue;
		jsonw_object_begin(j);
		jsonw_key_str(j, "reason", loss_reason_text(i));
		jsonw_key_u64(j, "count", s->loss_by_reason[i]);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	append_layers(j, w, s);
	append_uncovered(j, w, s);
	append_paused(j, w, s);
	jsonw_key_u64(j, "left_out", s->sampled_out + s->given_up + s->not_kept);
	jsonw_key_u64(j, "sampled_out", s->sampled_out);
	jsonw_key_u64(j, "given_up", s->given_up);
	jsonw_key_u64(j, "not_kept", s->not_kept);
	if (s->cpu_hz)
		jsonw_key_u64(j, "cpu_samples_hz", s->cpu_hz);
	append_stacks(j, w, s->stacks);
	jsonw_key(j, "unwind_tables");
	unwind_coverage_json(j, w, s);
	jsonw_key_u64(j, "stops", s->stops);
	jsonw_key_u64(j, "stopped_ns", s->stopped_ns);
	jsonw_key(j, "recording_cost");
	if (s->cost_over_ns)
		jsonw_double(j, (double)s->cost_ns / (double)s->cost_over_ns);
	else
		jsonw_null(j);
	jsonw_object_end(j);
}

static void append_samples(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	jsonw_key_array(j, "system");
	for (size_t i = 0; i < s->metrics.n; i++) {
		const struct ops_metric *m = &s->metrics.v[i];
		const struct metric_def *def = metric_builtin(m->metric);
		const struct world_node *n = world_get_node(w, m->node);

		jsonw_object_begin(j);
		view_json_text(j, w, "node", n ? n->name : 0);
		jsonw_key_str(j, "metric", def->name);
		jsonw_key_str(j, "unit", def->unit);
		jsonw_key_bool(j, "counter", def->counter);
		jsonw_key_u64(j, "samples", m->n);
		jsonw_key_double(j, "first", m->first);
		jsonw_key_double(j, "last", m->last);
		jsonw_key_double(j, "mean", m->sum / (double)m->n);
		jsonw_key_double(j, "max", m->max);
		view_json_grew(j, def, m->grew);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

/* What the stream says was found. */
static void append_causes(struct jsonw *j, const struct ops_summary *s)
{
	jsonw_key_array(j, "causes");
	for (size_t i = 0; i < s->findings.n; i++) {
		const struct ops_finding *f = &s->findings.v[i];

		jsonw_object_begin(j);
		jsonw_key_str(j, "id", f->id);
		jsonw_key_str(j, "severity", finding_severity_name(f->severity));
		jsonw_key_u64(j, "lost_ns", f->lost_ns);
		jsonw_key(j, "summary");
		jsonw_bytes(j, bytes_of(f->summary));
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

void ops_json(struct buf *out, const struct world *w, const struct ops_summary *s,
	      const struct ops_input *in)
{
	const struct columns_with with = { .w = w, .s = s };
	struct jsonw j;

	jsonw_init(&j, out, true);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "schema", "ingero.stat/1");
	jsonw_key_bool(&j, "exact", s->exact);
	columns_json(&j, &columns_ops, &with, s->rows.v, s->rows.n);
	if (s->by)
		by_json(&j, w, s);
	if (s->brief)
		jsonw_key_null(&j, "kernels");
	else
		columns_json(&j, &columns_kernels, &with, s->kernels.v, s->kernels.n);
	append_errors(&j, w, s);
	append_processes(&j, w, s);
	append_coverage(&j, w, s, in);
	append_samples(&j, w, s);
	if (s->view)
		view_json(&j, w, s);
	append_causes(&j, s);
	jsonw_object_end(&j);
	buf_putc(out, '\n');
}
