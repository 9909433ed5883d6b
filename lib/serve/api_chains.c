/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes in the older agent's shape. What it calls root cause is the culprit; the newest stand first.
 */
#include <stdlib.h>

#include "lib/base/timetext.h"
#include "lib/serve/api_state.h"

static void text_of(struct jsonw *j, const char *key, struct json v, const char *member)
{
	struct json x = json_get(v, member);

	jsonw_key_bytes(j, key, json_type(x) == JSON_TYPE_STRING ? json_bytes(x) : bytes_of(""));
	json_free(x);
}

static double number_of(struct json v, const char *member)
{
	struct json x = json_get(v, member);
	double d = json_double(x, 0);

	json_free(x);
	return d;
}

static void recommendations(struct jsonw *j, struct json body)
{
	struct json list = json_get(body, "recommendations");
	size_t n = json_length(list);

	if (n)
		jsonw_key_array(j, "recommendations");
	for (size_t i = 0; i < n; i++) {
		struct json r = json_at(list, i), action = json_get(r, "action");
		struct json command = json_get(r, "command");
		struct buf text = { 0 };

		if (json_type(action) == JSON_TYPE_STRING)
			buf_add(&text, json_bytes(action).p, json_bytes(action).n);
		if (json_type(command) == JSON_TYPE_STRING)
			buf_printf(&text, ": %.*s", (int)json_bytes(command).n,
				   (const char *)json_bytes(command).p);
		jsonw_bytes(j, buf_bytes(&text));
		buf_free(&text);
		json_free(command);
		json_free(action);
		json_free(r);
	}
	if (n)
		jsonw_array_end(j);
	json_free(list);
}

static void timeline(struct jsonw *j, struct json body)
{
	struct json list = json_get(body, "timeline");
	size_t n = json_length(list);

	if (n)
		jsonw_key_array(j, "timeline");
	for (size_t i = 0; i < n; i++) {
		struct json m = json_at(list, i);

		jsonw_object_begin(j);
		text_of(j, "layer", m, "layer");
		text_of(j, "detail", m, "text");
		jsonw_key_double(j, "dur_us", number_of(m, "dur_ns") / 1e3);
		jsonw_key_double(j, "t_ns", number_of(m, "t_ns"));
		jsonw_object_end(j);
		json_free(m);
	}
	if (n)
		jsonw_array_end(j);
	json_free(list);
}

static void symptom(struct jsonw *j, struct json body)
{
	struct json list = json_get(body, "symptom"), first = json_at(list, 0);
	double p50 = number_of(first, "p50_ns"), p99 = number_of(first, "p99_ns");

	text_of(j, "cuda_op", body, "op");
	jsonw_key_double(j, "cuda_p99_us", p99 / 1e3);
	jsonw_key_double(j, "cuda_p50_us", p50 / 1e3);
	jsonw_key_double(j, "tail_ratio", p50 > 0 ? p99 / p50 : 0);
	json_free(first);
	json_free(list);
}

void api_chain_members(struct jsonw *j, const struct ask_chains *a, const struct finding *c)
{
	struct json culprit = json_get(c->body, "culprit");
	char iso[48];

	jsonw_key_bytes(j, "id", c->id);
	jsonw_key(j, "detected_at");
	jsonw_str(j, a->has_real ? time_iso(iso, sizeof(iso), c->time_ns + a->real_minus_mono_ns)
				 : NULL);
	jsonw_key_str(j, "severity", finding_severity_name(c->severity));
	jsonw_key_bytes(j, "summary", c->summary);
	text_of(j, "root_cause", culprit, "text");
	jsonw_key_bytes(j, "explanation", c->summary);
	recommendations(j, c->body);
	symptom(j, c->body);
	timeline(j, c->body);
	text_of(j, "node", c->body, "node");
	jsonw_key_bytes(j, "kind", c->kind);
	jsonw_key_u64(j, "count", c->count);
	jsonw_key_u64(j, "lost_ns", c->lost_ns);
	json_free(culprit);
}

static int newest_first(const void *a, const void *b)
{
	const struct finding *x = *(const struct finding *const *)a,
			     *y = *(const struct finding *const *)b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? 1 : -1;
	return x < y ? -1 : x > y;
}

static int use(void *ctx, const struct serve_chains *c, struct err *e)
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
		api_chain_members(&q->j, c->answer, order[i]);
		jsonw_object_end(&q->j);
	}
	jsonw_array_end(&q->j);
	jsonw_key_bool(&q->j, "partial", serve_quality_partial(&c->quality));
	jsonw_object_end(&q->j);
	free(order);
	return 0;
}

int api_chains(struct api_request *q, struct err *e)
{
	return serve_source_chains(q->api->source, &q->asker, &q->words, false, use, q, e);
}
