/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA graphs in the older agent's shapes: how many captures, instantiations and launches, and the
 * newest of them. The runtime's calls are counted where there are any, else the driver's (the
 * runtime makes those in turn), else what the older agent's recordings have.
 */
#include <fnmatch.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/event/section_rows.h"
#include "lib/compat/api/agent_api.h"
#include "lib/world/who.h"

#define NEWEST 100

enum graph_step { CAPTURE, INSTANTIATE, LAUNCH, OTHER, NO_GRAPH };

static enum graph_step step_of(const struct op_def *op)
{
	static const struct {
		const char *pattern;
		enum graph_step step;
	} steps[] = {
		{ "cu*StreamEndCapture*", CAPTURE }, { "cu*GraphInstantiate*", INSTANTIATE },
		{ "cu*GraphLaunch*", LAUNCH },	     { "cu*Graph*", OTHER },
		{ "cu*StreamBeginCapture*", OTHER }, { "*end*apture*", CAPTURE },
		{ "*nstantiate*", INSTANTIATE },     { "*aunch*", LAUNCH },
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		bool general = i >= 5; /* of the older agent's own source */

		if ((!general || op->source == SOURCE_GRAPH) &&
		    !fnmatch(steps[i].pattern, op->name, 0))
			return steps[i].step;
	}
	return op->source == SOURCE_GRAPH ? OTHER : NO_GRAPH;
}

/* The source to count, 0 none. */
static uint8_t graph_source(const struct ops_summary *s)
{
	static const uint8_t order[] = { SOURCE_CUDA, SOURCE_DRIVER, SOURCE_GRAPH };

	for (size_t k = 0; k < sizeof(order); k++)
		for (size_t i = 0; i < s->rows.n; i++)
			if (s->rows.v[i].op->source == order[k] &&
			    step_of(s->rows.v[i].op) != NO_GRAPH)
				return order[k];
	return 0;
}

static int use_metrics(void *ctx, const struct store_stat *st, struct err *e)
{
	double wall = (double)(st->ops->end_ns - st->ops->start_ns) / 1e9;
	uint64_t n[NO_GRAPH] = { 0 }, ns[NO_GRAPH] = { 0 }, all = 0;
	uint8_t source = graph_source(st->ops);
	struct api_request *q = ctx;
	struct jsonw *j = &q->j;

	for (size_t i = 0; i < st->ops->rows.n; i++) {
		const struct ops_row *r = &st->ops->rows.v[i];
		enum graph_step step = r->op->source == source ? step_of(r->op) : NO_GRAPH;

		if (step == NO_GRAPH)
			continue;
		n[step] += r->count;
		ns[step] += r->total_ns;
		all += r->count;
	}
	jsonw_object_begin(j);
	jsonw_key_u64(j, "captures", n[CAPTURE]);
	jsonw_key_u64(j, "instantiations", n[INSTANTIATE]);
	jsonw_key_u64(j, "launches", n[LAUNCH]);
	jsonw_key_u64(j, "total_events", all);
	if (n[CAPTURE])
		jsonw_key_double(j, "avg_capture_dur_us",
				 (double)ns[CAPTURE] / (double)n[CAPTURE] / 1e3);
	if (n[INSTANTIATE])
		jsonw_key_double(j, "avg_instantiate_dur_us",
				 (double)ns[INSTANTIATE] / (double)n[INSTANTIATE] / 1e3);
	if (n[LAUNCH] && wall > 0)
		jsonw_key_double(j, "launch_rate_per_sec", (double)n[LAUNCH] / wall);
	jsonw_object_end(j);
	return 0;
}

int agent_graph_metrics(struct api_request *q, struct err *e)
{
	return api_query_stat(q, use_metrics, e);
}

/* ---- events ---- */

struct newest {
	struct api_request *q;
	uint8_t source;
	uint64_t n;
	struct event ring[NEWEST];
};

static int use_source(void *ctx, const struct store_stat *st, struct err *e)
{
	((struct newest *)ctx)->source = graph_source(st->ops);
	return 0;
}

static void hex_column(struct jsonw *j, const char *key, const struct event *ev,
		       const struct op_def *op, uint16_t col)
{
	uint64_t v;

	if (!event_get(ev, op, col, &v))
		return;
	jsonw_key(j, key);
	jsonw_hex(j, v);
}

static void put_event(struct jsonw *j, const struct store_items *from, const struct event *ev,
		      int64_t real_minus_mono_ns)
{
	static const char *const modes[] = { "global", "thread_local", "relaxed" };
	const struct op_def *op = world_op(from->w, ev->op);
	struct who who = who_of(from->w, ev->ctx, ev->end_ns);
	uint64_t mode;
	char iso[48];

	jsonw_object_begin(j);
	jsonw_key_str(j, "timestamp",
		      time_iso(iso, sizeof(iso), event_start(ev) + real_minus_mono_ns));
	jsonw_key_u64(j, "pid", who.process ? who.process->tgid : 0);
	if (who.process_name)
		jsonw_key_bytes(j, "comm", world_text(from->w, who.process_name));
	jsonw_key_str(j, "op", op->name);
	jsonw_key_double(j, "duration_us", (double)ev->dur_ns / 1e3);
	hex_column(j, "stream_handle", ev, op, COL_STREAM);
	hex_column(j, "graph_handle", ev, op, COL_GRAPH);
	hex_column(j, "exec_handle", ev, op, COL_EXEC);
	if (event_get(ev, op, COL_MODE, &mode) && mode < 3)
		jsonw_key_str(j, "capture_mode", modes[mode]);
	jsonw_key_i64(j, "ret_code", ev->ret);
	jsonw_object_end(j);
}

static int on_item(void *ctx, const struct store_items *from, const struct stream_item *item,
		   struct err *e)
{
	struct newest *v = ctx;

	if (!item) { /* newest first */
		uint64_t n = v->n < NEWEST ? v->n : NEWEST;

		for (uint64_t i = 0; i < n; i++)
			put_event(&v->q->j, from, &v->ring[(v->n - 1 - i) % NEWEST],
				  from->late_names->has_real ? from->late_names->real_minus_mono_ns
							     : 0);
		return 0;
	}
	for (size_t i = 0; item->kind == STREAM_EVENTS && i < item->n; i++) {
		const struct op_def *op = world_op(from->w, item->events[i].op);

		if (op && op->source == v->source && step_of(op) != NO_GRAPH)
			v->ring[v->n++ % NEWEST] = item->events[i];
	}
	return 0;
}

int agent_graph_events(struct api_request *q, struct err *e)
{
	const struct store_stat_request want = { .words = q->words, .sections = VIEW_ALL };
	struct newest *v = calloc(1, sizeof(*v));
	int rc = v ? store_source_stat(q->api->source, &q->rctx, &want, use_source, v, e)
		   : err_nomem(e);

	if (!rc) {
		v->q = q;
		jsonw_array_begin(&q->j);
		if (v->source)
			rc = store_source_each_item(q->api->source, &q->rctx, &q->words, on_item, v,
						    e);
		jsonw_array_end(&q->j);
	}
	free(v);
	return rc;
}
