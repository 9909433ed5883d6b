/* SPDX-License-Identifier: Apache-2.0 */
/* Writes time series and breakdowns of time as JSON. Arrays that belong together begin at the same
 * time and have equal spans; a span in which nothing was counted is null. */
#include "lib/report/report_internal.h"

#include <stddef.h>
#include <string.h>

#include "lib/report/view_json_parts.h"
#include "lib/event/part.h"

static void append_parts(struct jsonw *j, const char *key, const uint64_t ns[PART_COUNT])
{
	jsonw_key_object(j, key);
	for (unsigned i = 0; i < PART_COUNT; i++)
		if (ns[i])
			jsonw_key_u64(j, part_name((enum part)i), ns[i]);
	jsonw_object_end(j);
}

void view_json_times(struct jsonw *j, const struct world *w, const struct view *v)
{
	jsonw_key_array(j, "time");
	for (size_t i = 0; i < v->times.n; i++) {
		const struct view_time *t = &v->times.v[i];

		jsonw_object_begin(j);
		view_json_process(j, w, t->process);
		jsonw_key_u64(j, "threads", t->threads);
		jsonw_key_u64(j, "ns", t->ns);
		append_parts(j, "in_calls_ns", t->in_calls);
		append_parts(j, "outside_ns", t->outside);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

void view_json_rates(struct jsonw *j, const struct ops_summary *s)
{
	const struct view *v = s->view;

	jsonw_key_array(j, "rates");
	for (size_t i = 0; i < v->rates.n; i++) {
		jsonw_object_begin(j);
		jsonw_key_str(j, "source", source_name(v->rates.v[i].source));
		view_json_series(j, s, v->rates.v[i].series, false);
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

void view_json_courses(struct jsonw *j, const struct ops_summary *s)
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

void view_json_states(struct jsonw *j, const struct ops_summary *s)
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
