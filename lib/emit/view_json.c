/* SPDX-License-Identifier: Apache-2.0 */
/* Types are fixed per field: what identifies is a string; a value that does not exist is null, never zero. */
#include "lib/emit/view_json.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/event/record.h"
#include "lib/event/view.h"
#include "lib/stat/series.h"

void view_json_text(struct jsonw *j, const struct world *w, const char *key, uint32_t string)
{
	jsonw_key(j, key);
	if (string)
		jsonw_bytes(j, world_text(w, string));
	else
		jsonw_null(j);
}

void view_json_process(struct jsonw *j, const struct world *w, uint32_t process)
{
	const struct world_process *p = world_get_process(w, process);
	const struct world_node *n = p ? world_get_node(w, p->node) : NULL;

	jsonw_key(j, "pid");
	if (p)
		jsonw_u64(j, p->tgid);
	else
		jsonw_null(j);
	view_json_text(j, w, "node", n ? n->name : 0);
}

void view_json_grew(struct jsonw *j, const struct metric_def *def, double grew)
{
	if (def->counter)
		jsonw_key_double(j, "grew", grew);
	else
		jsonw_key_null(j, "grew");
}

void view_json_when(struct jsonw *j, const struct ops_summary *s, int64_t ns)
{
	char iso[48];

	jsonw_key(j, "time");
	if (s->has_real)
		jsonw_str(j, time_iso(iso, sizeof(iso), ns + s->real_minus_mono_ns));
	else
		jsonw_null(j);
	jsonw_key_i64(j, "t_ns", ns - s->start_ns);
}

static void handle(struct jsonw *j, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	jsonw_key_str(j, key, text);
}

static void device(struct jsonw *j, uint64_t value)
{
	char text[48];

	snprintf(text, sizeof(text), "%" PRIu64 ":%" PRIu64, value >> 20, value & 0xfffff);
	jsonw_key_str(j, "device", text);
}

static void gpu(struct jsonw *j, const struct world *w, uint32_t id)
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

/* Counts of values, and (sums) their sums, of equal spans. */
static void series(struct jsonw *j, const struct ops_summary *s, const struct series *x, bool sums)
{
	jsonw_key_object(j, "series");
	jsonw_key_i64(j, "t_ns", x->n ? x->first * x->span_ns - s->start_ns : 0);
	jsonw_key_i64(j, "span_ns", x->span_ns);
	jsonw_key_array(j, "counts");
	for (unsigned i = 0; i < x->n; i++)
		jsonw_u64(j, x->v[i].n);
	jsonw_array_end(j);
	if (sums) {
		jsonw_key_array(j, "means");
		for (unsigned i = 0; i < x->n; i++) {
			if (x->v[i].n)
				jsonw_double(j, x->v[i].sum / (double)x->v[i].n);
			else
				jsonw_null(j);
		}
		jsonw_array_end(j);
	}
	jsonw_object_end(j);
}

static bool in_section(const struct view *v, const struct view_metric *m)
{
	unsigned which = m->scope == VIEW_NODE	   ? VIEW_BIT(SYSTEM)
			 : m->scope == VIEW_DEVICE ? VIEW_BIT(IO)
						   : VIEW_BIT(GPU);

	return v->sections & which;
}

static void metrics(struct jsonw *j, const struct world *w, const struct ops_summary *s)
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
			gpu(j, w, (uint32_t)m->subject);
		if (m->scope == VIEW_GPU_PROCESS)
			view_json_process(j, w, m->process);
		if (m->scope == VIEW_DEVICE)
			device(j, m->subject);
		jsonw_key_u64(j, "samples", m->n);
		jsonw_key_double(j, "first", m->first);
		jsonw_key_double(j, "last", m->last);
		jsonw_key_double(j, "mean", m->sum / (double)m->n);
		jsonw_key_double(j, "max", m->max);
		view_json_grew(j, def, m->grew);
		jsonw_key_i64(j, "first_ns", m->first_ns - s->start_ns);
		jsonw_key_i64(j, "last_ns", m->last_ns - s->start_ns);
		series(j, s, m->series, true);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void gpus(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	const struct view *v = s->view;

	jsonw_key_array(j, "gpus");
	for (size_t i = 0; i < v->gpus.n; i++) {
		const struct view_gpu *g = &v->gpus.v[i];

		jsonw_object_begin(j);
		gpu(j, w, g->gpu);
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

static void parts(struct jsonw *j, const char *key, const uint64_t ns[PART_COUNT])
{
	jsonw_key_object(j, key);
	for (unsigned i = 0; i < PART_COUNT; i++)
		if (ns[i])
			jsonw_key_u64(j, part_name((enum part)i), ns[i]);
	jsonw_object_end(j);
}

static void times(struct jsonw *j, const struct world *w, const struct view *v)
{
	jsonw_key_array(j, "time");
	for (size_t i = 0; i < v->times.n; i++) {
		const struct view_time *t = &v->times.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, t->process);
		jsonw_key_u64(j, "threads", t->threads);
		jsonw_key_u64(j, "ns", t->ns);
		parts(j, "in_calls_ns", t->in_calls);
		parts(j, "outside_ns", t->outside);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void details(struct jsonw *j, const struct world *w, const struct view *v)
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

static void disks(struct jsonw *j, const struct world *w, const struct view *v)
{
	static const char *const ways[] = { "read", "write", "flush", "discard" };

	jsonw_key_array(j, "disks");
	for (size_t i = 0; i < v->disks.n; i++) {
		const struct view_disk *d = &v->disks.v[i];
		const struct world_node *n = world_get_node(w, d->node);

		jsonw_object_begin(j);
		view_json_text(j, w, "node", n ? n->name : 0);
		device(j, d->device);
		view_json_text(j, w, "origin", d->origin);
		view_json_text(j, w, "mount", d->mount);
		jsonw_key_str(j, "what", d->way < 4 ? ways[d->way] : "other");
		jsonw_key_u64(j, "count", d->count);
		jsonw_key_u64(j, "bytes", d->bytes);
		jsonw_key_u64(j, "queued", d->queued);
		jsonw_key_u64(j, "queue_ns", d->queue_ns);
		jsonw_key_u64(j, "device_ns", d->device_ns);
		jsonw_key_u64(j, "p50_ns", d->p50_ns);
		jsonw_key_u64(j, "p99_ns", d->p99_ns);
		jsonw_key_u64(j, "max_ns", d->max_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_key_array(j, "files");
	for (size_t i = 0; i < v->files.n; i++) {
		const struct view_file *f = &v->files.v[i];

		jsonw_object_begin(j);
		view_json_text(j, w, "path", f->path);
		view_json_text(j, w, "fstype", f->fstype);
		view_json_text(j, w, "mount", f->mount);
		view_json_text(j, w, "origin", f->origin);
		jsonw_key_u64(j, "count", f->count);
		jsonw_key_u64(j, "total_ns", f->ns);
		jsonw_key_u64(j, "max_ns", f->max_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void sockets(struct jsonw *j, const struct world *w, const struct view *v)
{
	jsonw_key_array(j, "sockets");
	for (size_t i = 0; i < v->sockets.n; i++) {
		const struct view_socket *x = &v->sockets.v[i];

		jsonw_object_begin(j);
		view_json_text(j, w, "protocol", x->protocol);
		view_json_text(j, w, "local", x->local);
		view_json_text(j, w, "remote", x->remote);
		jsonw_key(j, "remote_pid");
		if (x->peer_pid)
			jsonw_u64(j, x->peer_pid);
		else
			jsonw_null(j);
		view_json_text(j, w, "remote_process", x->peer_comm);
		jsonw_key_u64(j, "count", x->count);
		jsonw_key_u64(j, "total_ns", x->ns);
		jsonw_key_u64(j, "max_ns", x->max_ns);
		jsonw_key_u64(j, "retransmits", x->retransmits);
		jsonw_key_u64(j, "segments", x->segments);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void memory(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	const struct view *v = s->view;

	jsonw_key_array(j, "memory");
	for (size_t i = 0; i < v->memory.n; i++) {
		const struct view_memory *m = &v->memory.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, m->process);
		jsonw_key_u64(j, "live_bytes", m->live_bytes);
		jsonw_key_u64(j, "managed_bytes", m->managed_bytes);
		jsonw_key_u64(j, "pinned_bytes", m->pinned_bytes);
		jsonw_key_u64(j, "live", m->n);
		jsonw_key_u64(j, "peak_bytes", m->peak_bytes);
		jsonw_key_i64(j, "peak_ns", m->peak_bytes ? m->peak_ns - s->start_ns : 0);
		jsonw_key_u64(j, "allocations", m->allocations);
		jsonw_key_u64(j, "frees", m->frees);
		jsonw_key_u64(j, "failed", m->failed);
		jsonw_key_u64(j, "unknown_frees", m->unknown_frees);
		jsonw_key_u64(j, "not_kept", m->beyond);
		jsonw_key_bool(j, "ended", m->ended);
		jsonw_key_array(j, "sites");
		for (unsigned k = 0; k < m->nsites; k++) {
			jsonw_object_begin(j);
			view_json_text(j, w, "text", m->sites[k].text);
			jsonw_key_str(j, "op", m->sites[k].op ? m->sites[k].op->name : NULL);
			jsonw_key_u64(j, "live_bytes", m->sites[k].bytes);
			jsonw_key_u64(j, "live", m->sites[k].n);
			jsonw_key_u64(j, "bytes_at_peak", m->sites[k].at_peak_bytes);
			jsonw_key_u64(j, "allocations", m->sites[k].allocations);
			jsonw_object_end(j);
		}
		jsonw_array_end(j);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void graphs(struct jsonw *j, const struct world *w, const struct view *v)
{
	jsonw_key_array(j, "graphs");
	for (size_t i = 0; i < v->graphs.n; i++) {
		const struct view_graph *g = &v->graphs.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, g->process);
		view_json_text(j, w, "text", g->site);
		jsonw_key_str(j, "op", g->op ? g->op->name : NULL);
		jsonw_key_u64(j, "created", g->created);
		jsonw_key_u64(j, "again", g->again);
		jsonw_key_u64(j, "launches", g->launches);
		jsonw_key_u64(j, "alive", g->alive);
		jsonw_key_u64(j, "most_alive", g->most_alive);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void comms(struct jsonw *j, const struct world *w, const struct view *v)
{
	jsonw_key_array(j, "communicators");
	for (size_t i = 0; i < v->comms.n; i++) {
		const struct view_comm *c = &v->comms.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, c->process);
		handle(j, "handle", c->handle);
		jsonw_key(j, "rank");
		if (c->has_rank)
			jsonw_u64(j, c->rank);
		else
			jsonw_null(j);
		jsonw_key(j, "ranks");
		if (c->ranks)
			jsonw_u64(j, c->ranks);
		else
			jsonw_null(j);
		jsonw_key_u64(j, "calls", c->calls);
		jsonw_key_u64(j, "bytes", c->bytes);
		jsonw_key_u64(j, "total_ns", c->ns);
		jsonw_key_u64(j, "max_ns", c->max_ns);
		jsonw_key_u64(j, "errors", c->errors);
		jsonw_key_u64(j, "async_errors", c->async_errors);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void rates(struct jsonw *j, const struct ops_summary *s)
{
	const struct view *v = s->view;

	jsonw_key_array(j, "rates");
	for (size_t i = 0; i < v->rates.n; i++) {
		jsonw_object_begin(j);
		jsonw_key_str(j, "source", source_name(v->rates.v[i].source));
		series(j, s, v->rates.v[i].series, false);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void course_array(struct jsonw *j, const char *key, const struct view_course *c, size_t at)
{
	jsonw_key_array(j, key);
	for (unsigned i = 0; i < c->n; i++) {
		uint64_t v;

		memcpy(&v, (const char *)&c->v[i] + at, sizeof(v));
		if (c->v[i].n || !at)
			jsonw_u64(j, v);
		else
			jsonw_null(j);
	}
	jsonw_array_end(j);
}

static void courses(struct jsonw *j, const struct ops_summary *s)
{
	const struct view *v = s->view;

	jsonw_key_array(j, "latency");
	for (size_t i = 0; i < v->courses.n; i++) {
		const struct view_course *c = &v->courses.v[i];

		jsonw_object_begin(j);
		jsonw_key_str(j, "source", source_name(c->op->source));
		jsonw_key_str(j, "op", c->op->name);
		jsonw_key_i64(j, "t_ns", c->from_ns - s->start_ns);
		jsonw_key_i64(j, "span_ns", c->span_ns);
		course_array(j, "counts", c, offsetof(struct view_course_point, n));
		course_array(j, "p50_ns", c, offsetof(struct view_course_point, p50_ns));
		course_array(j, "p99_ns", c, offsetof(struct view_course_point, p99_ns));
		course_array(j, "max_ns", c, offsetof(struct view_course_point, max_ns));
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void states(struct jsonw *j, const struct ops_summary *s)
{
	const struct view_states *t = &s->view->states;

	jsonw_key_object(j, "states");
	jsonw_key_i64(j, "t_ns", t->n ? t->from_ns - s->start_ns : 0);
	jsonw_key_i64(j, "span_ns", t->span_ns);
	jsonw_key_object(j, "parts");
	for (unsigned p = 0; p < PART_COUNT; p++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < t->n; i++)
			sum += t->part_ns[i][p];
		if (!sum)
			continue;
		jsonw_key_array(j, part_name(p));
		for (unsigned i = 0; i < t->n; i++)
			jsonw_u64(j, t->part_ns[i][p]);
		jsonw_array_end(j);
	}
	jsonw_object_end(j);
	jsonw_object_end(j);
}

void view_json(struct jsonw *j, const struct world *w, const struct ops_summary *s)
{
	const struct view *v = s->view;

	if (v->sections & (VIEW_BIT(SYSTEM) | VIEW_BIT(GPU) | VIEW_BIT(IO)))
		metrics(j, w, s);
	if (v->sections & VIEW_BIT(GPU))
		gpus(j, w, s);
	if (s->brief)
		return; /* events were not looked at */
	if (v->sections & VIEW_BIT(TIME)) {
		jsonw_key_bool(j, "off_cpu_recorded", v->off_cpu);
		times(j, w, v);
		states(j, s);
	}
	if (v->sections & VIEW_BIT(HOST))
		details(j, w, v);
	if (v->sections & VIEW_BIT(IO))
		disks(j, w, v);
	if (v->sections & VIEW_BIT(NET))
		sockets(j, w, v);
	if (v->sections & VIEW_BIT(MEMORY))
		memory(j, w, s);
	if (v->sections & VIEW_BIT(GRAPHS))
		graphs(j, w, v);
	if (v->sections & VIEW_BIT(NCCL))
		comms(j, w, v);
	if (v->sections & VIEW_BIT(RATES))
		rates(j, s);
	if (v->sections & VIEW_BIT(LATENCY))
		courses(j, s);
}
