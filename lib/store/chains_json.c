/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are texts: nanoseconds of a clock may be more than a JSON number holds. */
#include "lib/store/chains_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/model/body.h"

static void put_number(struct jsonw *j, const char *key, int64_t x)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, x);
	jsonw_key_str(j, key, text);
}

static void put_value(struct jsonw *j, const char *key, struct json v)
{
	struct buf text = { 0 };

	if (!v.is)
		return;
	json_dump(&text, v, 0);
	jsonw_key(j, key);
	jsonw_raw(j, buf_bytes(&text));
	buf_free(&text);
}

static void put_chain(struct jsonw *j, const struct finding *c)
{
	struct json evidence;

	jsonw_object_begin(j);
	jsonw_key_bytes(j, "id", c->id);
	jsonw_key_bytes(j, "match", c->match);
	jsonw_key_bytes(j, "kind", c->kind);
	jsonw_key_bytes(j, "summary", c->summary);
	put_number(j, "revision", c->revision);
	put_number(j, "severity", c->severity);
	put_number(j, "time_ns", c->time_ns);
	put_number(j, "first_ns", c->first_ns);
	put_number(j, "last_ns", c->last_ns);
	put_number(j, "count", (int64_t)c->count);
	put_number(j, "lost_ns", (int64_t)c->lost_ns);
	body_read(c->json, &evidence, BODY_SIZE_MAX, NULL);
	put_value(j, "body", evidence);
	json_free(evidence);
	jsonw_object_end(j);
}

static void put_missing(struct jsonw *j, const struct missing_row *m)
{
	jsonw_object_begin(j);
	jsonw_key_str(j, "what", m->what);
	jsonw_key_str(j, "reason", m->reason);
	jsonw_key_str(j, "on", m->on);
	put_number(j, "node", m->node);
	put_number(j, "lost", m->lost);
	put_number(j, "of", m->of);
	jsonw_object_end(j);
}

void chains_json_write(struct jsonw *j, const struct query_chains *a)
{
	put_number(j, "events", (int64_t)a->events);
	put_number(j, "lost", (int64_t)a->lost);
	put_number(j, "end_ns", a->end_ns);
	if (a->has_start)
		put_number(j, "start_ns", a->start_ns);
	if (a->has_real)
		put_number(j, "real_minus_mono_ns", a->real_minus_mono_ns);
	put_value(j, "analysis", a->list.analysis);
	jsonw_key_array(j, "chains");
	for (size_t i = 0; i < a->list.v.n; i++)
		put_chain(j, &a->list.v.v[i]);
	jsonw_array_end(j);
	jsonw_key_array(j, "missing");
	for (size_t i = 0; i < a->missing.v.n; i++)
		put_missing(j, &a->missing.v.v[i]);
	jsonw_array_end(j);
}

/* ---- and back ---- */

static bool parse_number(struct json o, const char *key, int64_t *out)
{
	struct json v = json_get(o, key);
	char text[24], *end = text;

	snprintf(text, sizeof(text), "%.*s", (int)json_bytes(v).n,
		 json_bytes(v).p ? json_bytes(v).p : "");
	*out = strtoll(text, &end, 10);
	json_free(v);
	return end > text && !*end;
}

static bool parse_chain(struct chain_list *list, struct json o)
{
	struct json id = json_get(o, "id"), match = json_get(o, "match"),
		    kind = json_get(o, "kind"), summary = json_get(o, "summary"),
		    body = json_get(o, "body");
	struct record r = { .kind = RECORD_CHAIN };
	int64_t revision, severity, time, first, last, count, lost;
	struct buf text = { 0 };
	bool whole = parse_number(o, "revision", &revision) &
		     parse_number(o, "severity", &severity) & parse_number(o, "time_ns", &time) &
		     parse_number(o, "first_ns", &first) & parse_number(o, "last_ns", &last) &
		     parse_number(o, "count", &count) & parse_number(o, "lost_ns", &lost);
	struct err e;

	if (whole) {
		if (body.is)
			json_dump(&text, body, 0);
		REC_SET(&r, CHAIN, id, json_bytes(id));
		REC_SET(&r, CHAIN, match, json_bytes(match));
		REC_SET(&r, CHAIN, kind, json_bytes(kind));
		REC_SET(&r, CHAIN, summary, json_bytes(summary));
		REC_SET(&r, CHAIN, revision, (uint32_t)revision);
		REC_SET(&r, CHAIN, severity, (uint32_t)severity);
		REC_SET(&r, CHAIN, time_ns, time);
		REC_SET(&r, CHAIN, first_ns, first);
		REC_SET(&r, CHAIN, last_ns, last);
		REC_SET(&r, CHAIN, count, (uint64_t)count);
		REC_SET(&r, CHAIN, lost_ns, (uint64_t)lost);
		REC_SET(&r, CHAIN, body, buf_bytes(&text));
		whole = !text.failed && !chain_list_add(list, &r, &e);
	}
	buf_free(&text);
	json_free(id);
	json_free(match);
	json_free(kind);
	json_free(summary);
	json_free(body);
	return whole;
}

static void parse_text(struct json o, const char *key, char *to, size_t size)
{
	struct json v = json_get(o, key);
	struct bytes text = json_bytes(v);

	snprintf(to, size, "%.*s", (int)text.n, text.p ? text.p : "");
	json_free(v);
}

static bool parse_missing(struct missing *m, struct json o)
{
	struct missing_row row = { 0 };
	int64_t node, lost, of;
	bool whole = parse_number(o, "node", &node) & parse_number(o, "lost", &lost) &
		     parse_number(o, "of", &of);

	parse_text(o, "what", row.what, sizeof(row.what));
	parse_text(o, "reason", row.reason, sizeof(row.reason));
	parse_text(o, "on", row.on, sizeof(row.on));
	row.node = (uint32_t)node;
	row.lost = (uint32_t)lost;
	row.of = (uint32_t)of;
	return whole && vec_push(&m->v, row);
}

static bool parse_analysis(struct chain_list *list, struct json o)
{
	struct json analysis = json_get(o, "analysis");
	struct record r = { .kind = RECORD_ANALYSIS };
	struct buf text = { 0 };
	struct err e;
	bool whole;

	if (analysis.is)
		json_dump(&text, analysis, 0);
	REC_SET(&r, ANALYSIS, body, buf_bytes(&text));
	whole = !text.failed && !chain_list_add(list, &r, &e);
	buf_free(&text);
	json_free(analysis);
	return whole;
}

bool chains_json_read(struct json o, struct query_chains *out)
{
	struct json chains = json_get(o, "chains"), missing = json_get(o, "missing");
	int64_t events, lost;
	bool whole = parse_number(o, "events", &events) & parse_number(o, "lost", &lost) &
		     parse_number(o, "end_ns", &out->end_ns) &
		     (json_type(chains) == JSON_TYPE_ARRAY) &
		     (json_type(missing) == JSON_TYPE_ARRAY);

	out->events = (uint64_t)events;
	out->lost = (uint64_t)lost;
	out->has_start = parse_number(o, "start_ns", &out->start_ns);
	out->has_real = parse_number(o, "real_minus_mono_ns", &out->real_minus_mono_ns);
	whole &= parse_analysis(&out->list, o);
	for (size_t i = 0, n = json_length(chains); i < n && whole; i++) {
		struct json c = json_at(chains, i);

		whole = parse_chain(&out->list, c);
		json_free(c);
	}
	for (size_t i = 0, n = json_length(missing); i < n && whole; i++) {
		struct json m = json_at(missing, i);

		whole = parse_missing(&out->missing, m);
		json_free(m);
	}
	chain_list_sort(&out->list);
	json_free(chains);
	json_free(missing);
	return whole;
}
