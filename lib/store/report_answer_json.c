/* SPDX-License-Identifier: Apache-2.0 */
/* A row is an array, its numbers one text: they may be more than a JSON number holds. Rows below
 * stand behind their texts. */
#include "lib/store/report_answer_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS 12

/* ---- there ---- */

static void put_numbers(struct jsonw *j, const uint64_t *v, unsigned n)
{
	struct buf text = { 0 };

	for (unsigned i = 0; i < n; i++)
		buf_printf(&text, "%" PRIu64 " ", v[i]);
	jsonw_bytes(j, buf_bytes(&text));
	buf_free(&text);
}

static void put_failure(struct jsonw *j, const struct failure *f)
{
	const uint64_t numbers[] = { (uint64_t)f->ret,
				     f->pid,
				     f->count,
				     f->inside,
				     f->passed_on,
				     f->dur_ns,
				     (uint64_t)f->first_ns,
				     (uint64_t)f->last_ns,
				     f->elsewhere,
				     f->op->source };

	jsonw_array_begin(j);
	put_numbers(j, numbers, 10);
	jsonw_str(j, f->op->name);
	jsonw_str(j, f->op->source_name);
	jsonw_bytes(j, f->comm);
	jsonw_bytes(j, f->node);
	for (uint32_t i = 0; i < f->nsites; i++) {
		put_numbers(j, &f->sites[i].count, 1);
		jsonw_bytes(j, f->sites[i].text);
	}
	jsonw_array_end(j);
}

static void put_thread(struct jsonw *j, const struct oncpu_thread *t)
{
	const uint64_t numbers[] = { t->pid,	   t->tid,     t->count,  t->inside,
				     t->elsewhere, t->nowhere, t->wall_ns };

	jsonw_array_begin(j);
	put_numbers(j, numbers, 7);
	jsonw_bytes(j, t->name);
	for (uint32_t i = 0; i < t->nplaces; i++) {
		const struct oncpu_place *p = &t->places[i];
		const uint64_t place[] = { p->count, p->inside, p->leaf_count };

		put_numbers(j, place, 3);
		jsonw_bytes(j, p->text);
		jsonw_bytes(j, p->caller);
		jsonw_bytes(j, p->leaf);
	}
	jsonw_array_end(j);
}

void report_answer_json_write(struct jsonw *j, const struct failures *f, const struct oncpu *o)
{
	const uint64_t whole[] = { f->untold,
				   o->count,
				   o->untold,
				   o->hz,
				   o->window.steps,
				   (uint64_t)o->window.from_ns,
				   (uint64_t)o->window.until_ns };

	jsonw_key(j, "told");
	put_numbers(j, whole, 7);
	jsonw_key_array(j, "failures");
	for (size_t i = 0; i < f->v.n; i++)
		put_failure(j, &f->v.v[i]);
	jsonw_array_end(j);
	jsonw_key_array(j, "oncpu");
	for (size_t i = 0; i < o->v.n; i++)
		put_thread(j, &o->v.v[i]);
	jsonw_array_end(j);
}

/* ---- and back ---- */

/* Borrowed from what the array is in. */
static struct bytes text_at(struct json array, size_t at)
{
	struct json v = at < json_length(array) ? json_at(array, at) : JSON_NONE;
	struct bytes text = json_bytes(v);

	json_free(v);
	return text;
}

static bool numbers_of(struct bytes text, uint64_t *v, unsigned n)
{
	const char *p = text.p; /* ends with a zero */
	char *end;

	for (unsigned i = 0; i < n; i++, p = end) {
		v[i] = p ? strtoull(p, &end, 10) : 0;
		if (!p || end == p)
			return false;
	}
	return true;
}

static bool parse_failure(struct report_answer_json *out, struct json row, struct op_def *op)
{
	struct failure f = { .op = op };
	uint64_t v[NUMBERS];
	bool whole = numbers_of(text_at(row, 0), v, 10) && text_at(row, 1).p && text_at(row, 2).p;

	if (!whole)
		return false;
	*op = (struct op_def){ .source = (uint8_t)v[9],
			       .name = text_at(row, 1).p,
			       .source_name = text_at(row, 2).p };
	f.ret = (int32_t)v[0];
	f.pid = (uint32_t)v[1];
	f.count = v[2];
	f.inside = v[3];
	f.passed_on = v[4];
	f.dur_ns = v[5];
	f.first_ns = (int64_t)v[6];
	f.last_ns = (int64_t)v[7];
	f.elsewhere = v[8];
	f.comm = text_at(row, 3);
	f.node = text_at(row, 4);
	for (size_t i = 5; whole && i + 1 < json_length(row) && f.nsites < FAILURE_SITES; i += 2) {
		struct failure_site *s = &f.sites[f.nsites++];

		whole = numbers_of(text_at(row, i), &s->count, 1);
		s->text = text_at(row, i + 1);
	}
	return whole && vec_push(&out->failures.v, f);
}

static bool parse_thread(struct report_answer_json *out, struct json row)
{
	struct oncpu_thread t = { .name = text_at(row, 1) };
	uint64_t v[NUMBERS];
	bool whole = numbers_of(text_at(row, 0), v, 7);

	if (!whole)
		return false;
	t.pid = (uint32_t)v[0];
	t.tid = (uint32_t)v[1];
	t.count = v[2];
	t.inside = v[3];
	t.elsewhere = v[4];
	t.nowhere = v[5];
	t.wall_ns = v[6];
	for (size_t i = 2; whole && i + 3 < json_length(row) && t.nplaces < ONCPU_PLACES; i += 4) {
		struct oncpu_place *p = &t.places[t.nplaces++];

		whole = numbers_of(text_at(row, i), v, 3);
		p->count = v[0];
		p->inside = v[1];
		p->leaf_count = v[2];
		p->text = text_at(row, i + 1);
		p->caller = text_at(row, i + 2);
		p->leaf = text_at(row, i + 3);
	}
	return whole && vec_push(&out->oncpu.v, t);
}

bool report_answer_json_read(struct json o, struct report_answer_json *out)
{
	struct json failures = json_get(o, "failures"), threads = json_get(o, "oncpu"),
		    totals = json_get(o, "told");
	size_t n = json_length(failures);
	uint64_t v[NUMBERS];
	bool whole = numbers_of(json_bytes(totals), v, 7) &&
		     json_type(failures) == JSON_TYPE_ARRAY &&
		     json_type(threads) == JSON_TYPE_ARRAY;

	*out = (struct report_answer_json){ .text = o, .ops = calloc(n + 1, sizeof(*out->ops)) };
	if (whole) {
		out->failures.untold = v[0];
		out->oncpu.count = v[1];
		out->oncpu.untold = v[2];
		out->oncpu.hz = (uint32_t)v[3];
		out->oncpu.window = (struct oncpu_window){ .steps = v[4],
							   .from_ns = (int64_t)v[5],
							   .until_ns = (int64_t)v[6] };
	}
	whole = whole && out->ops;
	for (size_t i = 0; whole && i < n; i++) {
		struct json row = json_at(failures, i);

		whole = parse_failure(out, row, &out->ops[i]);
		json_free(row);
	}
	for (size_t i = 0; whole && i < json_length(threads); i++) {
		struct json row = json_at(threads, i);

		whole = parse_thread(out, row);
		json_free(row);
	}
	json_free(totals);
	json_free(threads);
	json_free(failures);
	return whole;
}

void report_answer_json_free(struct report_answer_json *s)
{
	vec_free(&s->failures.v);
	vec_free(&s->oncpu.v);
	free(s->ops);
	json_free(s->text);
	*s = (struct report_answer_json){ .text = JSON_NONE };
}
