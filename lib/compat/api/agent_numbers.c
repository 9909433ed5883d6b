/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overview, operations and samples of the system in the older agent's shapes: times in
 * microseconds, sizes in MiB. Its members come first; what it had not comes behind.
 */
#include <math.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/report/view_json_parts.h"
#include "lib/report/view_lines.h"
#include "lib/event/section_rows.h"
#include "lib/compat/api/agent_api.h"
#include "lib/store/sketch_json.h"
#include "lib/stat/series.h"

#define MIB 1048576

/* ---- the system ---- */

/* Of the first machine that was sampled: figures of several are not one machine's. */
static const struct view_metric *node_metric(const struct view *v, uint16_t id)
{
	/* Machines stand first, each with all of its own. */
	return v && v->metrics.n && v->metrics.v[0].scope == VIEW_NODE
		       ? view_find(v, VIEW_NODE, v->metrics.v[0].node, 0, id)
		       : NULL;
}

/* NAN: not known. */
static double mem_percent(const struct store_stat *st, const struct view_metric *of, double used)
{
	uint64_t all = of ? ops_machine_of(st->ops, of->node).memory_bytes : 0;

	return all ? 100 * used / (double)all : NAN;
}

/* Writes a number; null where it was not sampled. */
static void put_number(struct jsonw *j, const char *key, double value)
{
	if (isnan(value))
		jsonw_key_null(j, key);
	else
		jsonw_key_double(j, key, value);
}

static void known_mib(struct jsonw *j, const char *key, double bytes)
{
	if (isnan(bytes))
		jsonw_key_null(j, key);
	else
		jsonw_key_u64(j, key, view_bytes(bytes) / MIB);
}

static double last_of(const struct view_metric *m)
{
	return m ? m->last : NAN;
}

/* "system": what the machine was like at the end of the time looked at; nothing when it was not
 * sampled. */
static void write_system(struct jsonw *j, const struct store_stat *st)
{
	const struct view *v = st->ops->view;
	const struct view_metric *cpu = node_metric(v, METRIC_CPU_BUSY);
	const struct view_metric *mem = node_metric(v, METRIC_MEM_USED);
	const struct view_metric *swap = node_metric(v, METRIC_SWAP_USED);
	const struct view_metric *load = node_metric(v, METRIC_LOAD_1);

	if (!cpu && !mem && !load)
		return;
	jsonw_key_object(j, "system");
	put_number(j, "cpu_percent", last_of(cpu));
	put_number(j, "mem_percent", mem_percent(st, mem, last_of(mem)));
	known_mib(j, "swap_mb", last_of(swap));
	put_number(j, "load_avg", last_of(load));
	jsonw_object_end(j);
}

/* The mean at that time; NAN: there is none. */
static double mean_at(const struct view_metric *m, int64_t ns)
{
	const struct series *s = m ? m->series : NULL;
	int64_t at;

	if (!s || !s->n || !s->span_ns)
		return NAN;
	at = ns / s->span_ns - (ns % s->span_ns < 0) - s->first;
	if (at < 0 || at >= s->n || !s->v[at].n)
		return NAN;
	return s->v[at].sum / (double)s->v[at].n;
}

static void put_snapshot(struct jsonw *j, const struct store_stat *st, int64_t ns)
{
	const struct view *v = st->ops->view;
	const struct view_metric *mem = node_metric(v, METRIC_MEM_USED);
	double used = mean_at(mem, ns);
	double available = mean_at(node_metric(v, METRIC_MEM_AVAILABLE), ns), all;
	char iso[48];

	all = mem ? (double)ops_machine_of(st->ops, mem->node).memory_bytes : 0;
	if (isnan(available) && all > used)
		available = all - used;
	jsonw_object_begin(j);
	jsonw_key_str(j, "timestamp", time_iso(iso, sizeof(iso), ns + st->ops->real_minus_mono_ns));
	put_number(j, "cpu_percent", mean_at(node_metric(v, METRIC_CPU_BUSY), ns));
	put_number(j, "mem_percent", mem_percent(st, mem, used));
	known_mib(j, "mem_avail_mb", available);
	known_mib(j, "swap_mb", mean_at(node_metric(v, METRIC_SWAP_USED), ns));
	put_number(j, "load_avg", mean_at(node_metric(v, METRIC_LOAD_1), ns));
	jsonw_object_end(j);
}

static int use_snapshots(void *ctx, const struct store_stat *st, struct err *e)
{
	const struct view_metric *lead = node_metric(st->ops->view, METRIC_CPU_BUSY);
	struct api_request *q = ctx;
	const struct series *s;

	if (!lead)
		lead = node_metric(st->ops->view, METRIC_MEM_USED);
	s = lead ? lead->series : NULL;
	jsonw_object_begin(&q->j);
	jsonw_key_array(&q->j, "snapshots");
	for (unsigned i = 0; s && i < s->n; i++)
		if (s->v[i].n)
			put_snapshot(&q->j, st, (s->first + i) * s->span_ns);
	jsonw_array_end(&q->j);
	jsonw_object_end(&q->j);
	return 0;
}

static int answer_snapshots(struct api_request *q, struct err *e)
{
	if (!q->words.since && !q->words.until && !q->words.last_given)
		q->words.since = "60s";
	return api_query_stat(q, use_snapshots, e);
}

/* ---- operations ---- */

static int use_ops(void *ctx, const struct store_stat *st, struct err *e)
{
	struct api_request *q = ctx;
	const char *sketches = net_call_query(q->call, "sketch");
	struct jsonw *j = &q->j;

	jsonw_object_begin(j);
	jsonw_key_str(j, "mode", st->ops->rows.n ? "percentile" : "empty");
	jsonw_key_array(j, "ops");
	for (size_t i = 0; i < st->ops->rows.n; i++) {
		const struct ops_row *r = &st->ops->rows.v[i];

		jsonw_object_begin(j);
		jsonw_key_str(j, "operation", r->op->name);
		jsonw_key_str(j, "source", r->op->source_name);
		jsonw_key_u64(j, "count", r->count);
		view_json_estimate(j, r->count, &r->all);
		jsonw_key_double(j, "p50_us", (double)r->p50_ns / 1e3);
		jsonw_key_double(j, "p95_us", (double)r->p95_ns / 1e3);
		jsonw_key_double(j, "p99_us", (double)r->p99_ns / 1e3);
		jsonw_key_double(j, "avg_us",
				 r->count ? (double)r->total_ns / (double)r->count / 1e3 : 0);
		jsonw_key_double(j, "min_us", (double)r->min_ns / 1e3);
		jsonw_key_double(j, "max_us", (double)r->max_ns / 1e3);
		jsonw_key_str(j, "layer", source_layer(r->op->source));
		jsonw_key_u64(j, "errors", r->errors);
		jsonw_key_u64(j, "total_ns", r->total_ns);
		jsonw_key_u64(j, "self_ns", r->self_ns);
		jsonw_key_u64(j, "lost_ns", r->lost_ns);
		if (sketches && strcmp(sketches, "0") != 0 && r->durations) {
			jsonw_key(j, "sketch");
			sketch_json_write(j, r->durations);
		}
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	write_system(j, st);
	jsonw_key_bool(j, "partial", store_quality_partial(&st->quality));
	jsonw_object_end(j);
	return 0;
}

static int answer_ops(struct api_request *q, struct err *e)
{
	return api_query_stat(q, use_ops, e);
}

/* ---- overview ---- */

static void put_gpu(struct jsonw *j, const struct world *w)
{
	uint32_t n = world_count(w, WORLD_GPU);

	for (uint32_t id = 1; id <= n; id++) {
		const struct world_gpu *g = world_get_gpu(w, id);

		if (!g || !g->name)
			continue;
		jsonw_key_object(j, "gpu");
		jsonw_key_bytes(j, "model", world_text(w, g->name));
		jsonw_key_str(j, "driver_version", "");
		jsonw_key_str(j, "cuda_version", "");
		jsonw_key_u64(j, "gpus", n);
		jsonw_object_end(j);
		return;
	}
}

static int use_overview_stat(void *ctx, const struct store_stat *st, struct err *e)
{
	struct api_request *q = ctx;
	unsigned names;

	store_source_names(q->api->source, &names);
	jsonw_key_u64(&q->j, "event_count", st->ops->events);
	jsonw_key_u64(&q->j, "session_count", names);
	write_system(&q->j, st);
	put_gpu(&q->j, st->w);
	jsonw_key_i64(&q->j, "duration_ns", st->ops->end_ns - st->ops->start_ns);
	jsonw_key_u64(&q->j, "lost_events", st->ops->lost);
	jsonw_key_bool(&q->j, "growing", st->quality.input.growing);
	jsonw_key_bool(&q->j, "partial", store_quality_partial(&st->quality));
	return 0;
}

static int use_overview_chains(void *ctx, const struct store_chains *c, struct err *e)
{
	struct api_request *q = ctx;

	jsonw_key_u64(&q->j, "chain_count", c->answer->list.v.n);
	if (!c->answer->list.v.n)
		return 0;
	jsonw_key_object(&q->j, "top_chain");
	agent_write_chain(&q->j, c->answer, &c->answer->list.v.v[0]);
	jsonw_object_end(&q->j);
	return 0;
}

static int answer_overview(struct api_request *q, struct err *e)
{
	int rc;

	jsonw_object_begin(&q->j);
	rc = api_query_stat(q, use_overview_stat, e);
	rc = rc ? rc
		: store_source_chains(q->api->source, &q->rctx, &q->words, false,
				      use_overview_chains, q, e);
	jsonw_object_end(&q->j);
	return rc;
}

const struct api_route agent_routes[] = {
	{ "/api/v1/overview", "GET, HEAD", answer_overview, NULL },
	{ "/api/v1/ops", "GET, HEAD", answer_ops, NULL },
	{ "/api/v1/chains", "GET, HEAD", agent_chains, NULL },
	{ "/api/v1/snapshots", "GET, HEAD", answer_snapshots, NULL },
	{ "/api/v1/graph-metrics", "GET, HEAD", agent_graph_metrics, NULL },
	{ "/api/v1/graph-events", "GET, HEAD", agent_graph_events, NULL },
	{ 0 },
};
