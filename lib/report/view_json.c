/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sections of ingero-stat as JSON. Types are fixed per field: identifiers are strings; a
 * value that does not exist is null, never zero. */
#include "lib/report/report_internal.h"

#include "lib/report/report_columns.h"
#include "lib/report/view_json_parts.h"
#include "lib/event/record.h"

static void append_gpu(struct jsonw *j, const struct world *w, uint32_t id)
{
	const struct world_gpu *g = world_get_gpu(w, id);

	view_json_text(j, w, "gpu", g ? g->uuid : 0);
	jsonw_key(j, "index");
	if (g)
		jsonw_u64(j, g->index);
	else
		jsonw_null(j);
	view_json_text(j, w, "name", g ? g->name : 0);
}

static bool in_section(const struct view *v, const struct view_metric *m)
{
	unsigned which = m->scope == VIEW_NODE	   ? VIEW_BIT(SYSTEM)
			 : m->scope == VIEW_DEVICE ? VIEW_BIT(IO)
						   : VIEW_BIT(GPU);

	return v->sections & which;
}

static void append_metrics(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	const struct view *v = s->view;

	jsonw_key_array(j, "metrics");
	for (size_t i = 0; i < v->metrics.n; i++) {
		const struct view_metric *m = &v->metrics.v[i];
		const struct metric_def *def = metric_builtin(m->metric);
		const struct world_node *n = world_get_node(w, m->node);

		if (!def || !in_section(v, m))
			continue;
		jsonw_object_begin(j);
		jsonw_key_str(j, "metric", def->name);
		jsonw_key_str(j, "unit", def->unit);
		jsonw_key_bool(j, "counter", def->counter);
		if (m->scope == VIEW_NODE || m->scope == VIEW_DEVICE)
			view_json_text(j, w, "node", n ? n->name : 0);
		if (m->scope == VIEW_GPU_WHOLE || m->scope == VIEW_GPU_PROCESS)
			append_gpu(j, w, (uint32_t)m->subject);
		if (m->scope == VIEW_GPU_PROCESS)
			view_json_process(j, w, m->process);
		if (m->scope == VIEW_DEVICE) {
			jsonw_key(j, "device");
			view_json_device(j, m->subject);
		}
		jsonw_key_u64(j, "samples", m->n);
		jsonw_key_double(j, "first", m->first);
		jsonw_key_double(j, "last", m->last);
		jsonw_key_double(j, "mean", m->sum / (double)m->n);
		jsonw_key_double(j, "max", m->max);
		view_json_grew(j, def, m->grew);
		jsonw_key_i64(j, "first_ns", m->first_ns - s->start_ns);
		jsonw_key_i64(j, "last_ns", m->last_ns - s->start_ns);
		view_json_series(j, s, m->series, true);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void append_gpus(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	const struct view *v = s->view;

	jsonw_key_array(j, "gpus");
	for (size_t i = 0; i < v->gpus.n; i++) {
		const struct view_gpu *g = &v->gpus.v[i];

		jsonw_object_begin(j);
		append_gpu(j, w, g->gpu);
		jsonw_key_u64(j, "limits_known_ns", g->known_ns);
		jsonw_key_array(j, "limits");
		for (unsigned k = 0; k < VIEW_LIMITS; k++) {
			if (g->limit_ns[k] == 0)
				continue;
			jsonw_object_begin(j);
			jsonw_key_str(j, "reason", view_limit_text(k));
			jsonw_key_bool(j, "held_down", view_limit_bad(k));
			jsonw_key_u64(j, "ns", g->limit_ns[k]);
			jsonw_object_end(j);
		}
		jsonw_array_end(j);
		jsonw_key_array(j, "xids");
		for (size_t k = 0; k < v->xids.n; k++) {
			const struct view_xid *x = &v->xids.v[k];

			if (x->gpu != g->gpu)
				continue;
			jsonw_object_begin(j);
			jsonw_key_u64(j, "xid", x->number);
			view_json_when(j, s, x->time_ns);
			view_json_process(j, w, x->process);
			jsonw_object_end(j);
		}
		jsonw_array_end(j);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void append_details(struct jsonw *j, const struct world *w, const struct view *v)
{
	static const char *const about[] = {
		[VIEW_ABOUT_TASK] = "task",	[VIEW_ABOUT_SYSCALL] = "syscall",
		[VIEW_ABOUT_FILE] = "file",	[VIEW_ABOUT_DEVICE] = "device",
		[VIEW_ABOUT_SOCKET] = "socket", [VIEW_ABOUT_STATE] = "state",
		[VIEW_ABOUT_OTHER] = "other",
	};

	jsonw_key_array(j, "host");
	for (size_t i = 0; i < v->details.n; i++) {
		const struct view_detail *d = &v->details.v[i];

		jsonw_object_begin(j);
		jsonw_key_str(j, "source", d->op->source_name);
		jsonw_key_str(j, "op", d->op->name);
		jsonw_key_str(j, "about", about[d->about]);
		view_json_text(j, w, "text", d->text);
		jsonw_key_str(j, "state", d->part == PART_COUNT ? NULL : part_name(d->part));
		jsonw_key_u64(j, "count", d->count);
		jsonw_key_u64(j, "ns", d->ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

void view_json(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	const struct columns_with with = { .w = w, .s = s };
	const struct view *v = s->view;

	if (v->sections & (VIEW_BIT(SYSTEM) | VIEW_BIT(GPU) | VIEW_BIT(IO)))
		append_metrics(j, w, s);
	if (v->sections & VIEW_BIT(GPU))
		append_gpus(j, w, s);
	if (s->brief)
		return; /* events were not looked at */
	if (v->sections & VIEW_BIT(TIME)) {
		jsonw_key_bool(j, "off_cpu_recorded", v->off_cpu);
		view_json_times(j, w, v);
		view_json_states(j, s);
	}
	if (v->sections & VIEW_BIT(HOST))
		append_details(j, w, v);
	if (v->sections & VIEW_BIT(IO)) {
		columns_json(j, &columns_disks, &with, v->disks.v, v->disks.n);
		columns_json(j, &columns_files, &with, v->files.v, v->files.n);
	}
	if (v->sections & VIEW_BIT(NET))
		columns_json(j, &columns_sockets, &with, v->sockets.v, v->sockets.n);
	if (v->sections & VIEW_BIT(MEMORY))
		columns_json(j, &columns_memory, &with, v->memory.v, v->memory.n);
	if (v->sections & VIEW_BIT(GRAPHS))
		columns_json(j, &columns_graphs, &with, v->graphs.v, v->graphs.n);
	if (v->sections & VIEW_BIT(NCCL))
		columns_json(j, &columns_comms, &with, v->comms.v, v->comms.n);
	if (v->sections & VIEW_BIT(RATES))
		view_json_rates(j, s);
	if (v->sections & VIEW_BIT(LATENCY))
		view_json_courses(j, s);
}
