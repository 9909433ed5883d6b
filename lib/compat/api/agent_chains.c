/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers /api/v1/chains: findings in the JSON shape of the older agent. What it calls root cause
 * is the culprit; the newest stand first.
 */
#include <stdlib.h>

#include "lib/base/timetext.h"
#include "lib/compat/api/agent_api.h"

static void put_text(struct jsonw *j, const char *key, struct bytes text)
{
	jsonw_key_bytes(j, key, text.p ? text : bytes_of(""));
}

static void put_recommendations(struct jsonw *j, const struct finding *c)
{
	if (!c->fixes.n)
		return;
	jsonw_key_array(j, "recommendations");
	for (size_t i = 0; i < c->fixes.n; i++) {
		const struct finding_fix *f = &c->fixes.v[i];
		struct buf text = { 0 };

		buf_add(&text, f->action.p, f->action.n);
		if (f->command.p)
			buf_printf(&text, ": %.*s", (int)f->command.n, f->command.p);
		jsonw_bytes(j, buf_bytes(&text));
		buf_free(&text);
	}
	jsonw_array_end(j);
}

static void put_timeline(struct jsonw *j, const struct finding *c)
{
	if (!c->moments.n)
		return;
	jsonw_key_array(j, "timeline");
	for (size_t i = 0; i < c->moments.n; i++) {
		const struct finding_moment *m = &c->moments.v[i];

		jsonw_object_begin(j);
		put_text(j, "layer", m->layer);
		put_text(j, "detail", m->text);
		jsonw_key_double(j, "dur_us", (double)m->dur_ns / 1e3);
		jsonw_key_double(j, "t_ns", (double)m->start_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void put_symptom(struct jsonw *j, const struct finding *c)
{
	double p50 = c->symptoms.n ? (double)c->symptoms.v[0].p50_ns : 0,
	       p99 = c->symptoms.n ? (double)c->symptoms.v[0].p99_ns : 0;

	put_text(j, "cuda_op", c->op);
	jsonw_key_double(j, "cuda_p99_us", p99 / 1e3);
	jsonw_key_double(j, "cuda_p50_us", p50 / 1e3);
	jsonw_key_double(j, "tail_ratio", p50 > 0 ? p99 / p50 : 0);
}

void agent_write_chain(struct jsonw *j, const struct query_chains *a, const struct finding *c)
{
	char iso[48];

	jsonw_key_bytes(j, "id", c->id);
	jsonw_key(j, "detected_at");
	jsonw_str(j, a->has_real ? time_iso(iso, sizeof(iso), c->time_ns + a->real_minus_mono_ns)
				 : NULL);
	jsonw_key_str(j, "severity", finding_severity_name(c->severity));
	jsonw_key_bytes(j, "summary", c->summary);
	put_text(j, "root_cause", c->culprit.text);
	jsonw_key_bytes(j, "explanation", c->summary);
	put_recommendations(j, c);
	put_symptom(j, c);
	put_timeline(j, c);
	put_text(j, "node", c->node);
	jsonw_key_bytes(j, "kind", c->kind);
	jsonw_key_u64(j, "count", c->count);
	jsonw_key_u64(j, "lost_ns", c->lost_ns);
}

static int newest_first(const void *a, const void *b)
{
	const struct finding *x = *(const struct finding *const *)a,
			     *y = *(const struct finding *const *)b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	return x < y ? -1 : x > y;
}

static int write_answer(void *ctx, const struct store_chains *c, struct err *e)
{
	const struct finding **order = calloc(c->answer->list.v.n + 1, sizeof(*order));
	struct api_request *q = ctx;

	if (!order)
		return err_nomem(e);
	for (size_t i = 0; i < c->answer->list.v.n; i++)
		order[i] = &c->answer->list.v.v[i];
	qsort(order, c->answer->list.v.n, sizeof(*order), newest_first);
	jsonw_object_begin(&q->j);
	jsonw_key_array(&q->j, "chains");
	for (size_t i = 0; i < c->answer->list.v.n; i++) {
		jsonw_object_begin(&q->j);
		agent_write_chain(&q->j, c->answer, order[i]);
		jsonw_object_end(&q->j);
	}
	jsonw_array_end(&q->j);
	api_write_node_names(&q->j, c->w);
	jsonw_key_bool(&q->j, "partial", store_quality_partial(&c->quality));
	jsonw_object_end(&q->j);
	free(order);
	return 0;
}

int agent_chains(struct api_request *q, struct err *e)
{
	return store_source_chains(q->api->source, &q->rctx, &q->words, false, write_answer, q, e);
}
