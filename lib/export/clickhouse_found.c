/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes findings and the analysis as rows for ClickHouse. Bodies are JSON of any version: a member
 * that is missing there is left out.
 */
#include <string.h>

#include "lib/export/clickhouse_internal.h"
#include "lib/event/chain.h"
#include "lib/event/part.h"
#include "lib/model/body.h"
#include "lib/model/finding_json.h"

#define LIST_MOST 100000 /* of processes, loops, slow steps of a body */

static double get_number(struct json o, const char *key)
{
	struct json v = json_get(o, key);
	double x = json_double(v, 0);

	json_free(v);
	return x;
}

/* start + ns, clamped: a number in a file may have any size. */
static int64_t time_after(int64_t start, double ns)
{
	int64_t x = ns >= 9.2e18 ? INT64_MAX : ns > -9.2e18 ? (int64_t)ns : INT64_MIN;

	return (int64_t)((uint64_t)start + (uint64_t)x);
}

static void copy_number(struct jsonw *j, struct json o, const char *from, const char *key)
{
	double x = get_number(o, from);

	if (x > 0)
		jsonw_key_u64(j, key, x < 1.8e19 ? (uint64_t)x : UINT64_MAX);
}

static void copy_text(struct jsonw *j, struct json o, const char *from, const char *key)
{
	struct json v = json_get(o, from);

	if (json_bytes(v).n)
		jsonw_key_bytes(j, key, json_bytes(v));
	json_free(v);
}

/* Begins a row about the process that an object of a body names. */
static void begin_row(struct jsonw *j, const struct clickhouse *c, const char *row, struct json of,
		      struct bytes node)
{
	double pid = get_number(of, "pid");

	clickhouse_begin(j, c, row, node,
			 process_place_pid(&c->placed, c->em.w, node,
					   pid > 0 && pid < UINT32_MAX ? (uint32_t)pid : 0));
	copy_number(j, of, "pid", "pid");
	copy_number(j, of, "tid", "tid");
	copy_text(j, of, "comm", "process");
}

static void put_text(struct jsonw *j, const char *key, struct bytes text)
{
	if (text.n)
		jsonw_key_bytes(j, key, text);
}

static void cause_row(const struct clickhouse *c, const struct rec_CHAIN *r,
		      const struct finding *f)
{
	struct jsonw j;

	clickhouse_begin(&j, c, "cause", f->node,
			 process_place_pid(&c->placed, c->em.w, f->node, f->victim.pid));
	if (f->victim.pid)
		jsonw_key_u64(&j, "pid", f->victim.pid);
	put_text(&j, "process", f->victim.comm);
	jsonw_key_i64(&j, "time_ns", clickhouse_time(c, r->first_ns));
	jsonw_key_i64(&j, "until_ns", clickhouse_time(c, r->last_ns));
	jsonw_key_bytes(&j, "id", r->id);
	jsonw_key_u64(&j, "revision", r->revision);
	jsonw_key_bytes(&j, "kind", r->kind);
	jsonw_key_str(&j, "severity", finding_severity_name(r->severity));
	jsonw_key_u64(&j, "count", r->count);
	jsonw_key_u64(&j, "lost_ns", r->lost_ns);
	jsonw_key_double(&j, "share", f->share);
	put_text(&j, "op", f->op);
	put_text(&j, "culprit", f->culprit.text);
	put_text(&j, "culprit_kind", f->culprit.kind);
	put_text(&j, "site", f->sites.n ? f->sites.v[0].text : (struct bytes){ 0 });
	put_text(&j, "fix", f->fixes.n ? f->fixes.v[0].command : (struct bytes){ 0 });
	jsonw_key_bytes(&j, "summary", r->summary);
	jsonw_key_bytes(&j, "body", r->body);
	clickhouse_end(&j);
}

void clickhouse_cause(const struct clickhouse *c, const struct rec_CHAIN *r)
{
	struct finding f = { 0 };

	finding_read_json(&f, r->body, BODY_SIZE_MAX, NULL);
	if (f.known)
		cause_row(c, r, &f);
	finding_free(&f);
}

/* A row for each state its threads were in. */
static void append_times(const struct clickhouse *c, struct json process, int64_t start)
{
	struct json parts = json_get(process, "parts"), node = json_get(process, "node");
	struct jsonw j;

	for (unsigned i = 0; i < PART_COUNT; i++) {
		if (get_number(parts, part_name((enum part)i)) <= 0)
			continue;
		begin_row(&j, c, "time", process, json_bytes(node));
		jsonw_key_i64(&j, "time_ns", start);
		jsonw_key_str(&j, "part", part_name((enum part)i));
		copy_number(&j, parts, part_name((enum part)i), "duration_ns");
		copy_number(&j, process, "wall_ns", "wall_ns");
		clickhouse_end(&j);
	}
	json_free(node);
	json_free(parts);
}

/* What a slow step lost more of than an average one; work is no loss. */
static void append_step_loss(struct jsonw *j, struct json step)
{
	struct json more = json_get(step, "more");

	for (size_t i = 0; i < json_length(more) && i < LIST_MOST; i++) {
		struct json one = json_at(more, i), work = json_get(one, "work");
		bool lost = !json_is_true(work);

		if (lost) {
			copy_text(j, one, "class", "part");
			copy_number(j, one, "more_ns", "lost_ns");
		}
		json_free(work);
		json_free(one);
		if (lost)
			break;
	}
	json_free(more);
}

/* A row for the loop, and one for each of its slow steps that the analysis kept. */
static void append_loop(const struct clickhouse *c, struct json l, int64_t start)
{
	struct json slow = json_get(l, "slow"), node = json_get(l, "node");
	struct jsonw j;

	begin_row(&j, c, "loop", l, json_bytes(node));
	jsonw_key_i64(&j, "time_ns", time_after(start, get_number(l, "first_ns")));
	copy_number(&j, l, "count", "count");
	copy_number(&j, l, "slow_count", "slow");
	copy_number(&j, l, "p50_ns", "p50_ns");
	copy_number(&j, l, "p99_ns", "p99_ns");
	copy_number(&j, l, "max_ns", "max_ns");
	clickhouse_end(&j);
	for (size_t i = 0; i < json_length(slow) && i < LIST_MOST; i++) {
		struct json step = json_at(slow, i);

		begin_row(&j, c, "step", l, json_bytes(node));
		jsonw_key_i64(&j, "time_ns", time_after(start, get_number(step, "t_ns")));
		copy_number(&j, step, "number", "sequence");
		copy_number(&j, step, "dur_ns", "duration_ns");
		copy_number(&j, l, "p50_ns", "p50_ns");
		append_step_loss(&j, step);
		clickhouse_end(&j);
		json_free(step);
	}
	json_free(node);
	json_free(slow);
}

void clickhouse_analysis(const struct clickhouse *c, const struct rec_ANALYSIS *r)
{
	struct json body = JSON_NONE, all;
	int64_t start;

	if (!body_read(r->body, &body, BODY_SIZE_MAX, NULL))
		return;
	/* Of what was analyzed: other recordings may stand beside it here. */
	start = time_after(clickhouse_time(c, r->time_ns), -get_number(body, "wall_ns"));
	for (unsigned what = 0; what < 2; what++) {
		all = json_get(body, what ? "steps" : "processes");
		for (size_t i = 0; i < json_length(all) && i < LIST_MOST; i++) {
			struct json one = json_at(all, i);

			if (what)
				append_loop(c, one, start);
			else
				append_times(c, one, start);
			json_free(one);
		}
		json_free(all);
	}
	json_free(body);
}
