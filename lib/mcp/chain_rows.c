/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes as rows of a tool's answer, and as lines of text: texts that a finding does not have are
 * left out.
 */
#include "lib/mcp/chain_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/report/report_recording.h"
#include "lib/model/body.h"
#include "lib/mcp/sanitize_text.h"
#include "lib/mcp/tool.h"

#define SITES	3 /* call sites and fixes in a list of chains; one chain alone has all */
#define FIXES	2
#define MOMENTS 3

/* Copies a member of another object, under the name as; null is left out. */
static void copy_member(struct json *to, const char *as, struct json from, const char *key)
{
	struct json v = json_get(from, key);

	if (v.is && json_type(v) != JSON_TYPE_NULL)
		json_set(to, as, v);
	else
		json_free(v);
}

static void put_text(struct json *to, const char *as, struct bytes text)
{
	if (text.p)
		json_set(to, as, json_string(text));
}

/* A list that holds something. */
static void put_list(struct json *to, const char *as, struct json list)
{
	if (json_length(list))
		json_set(to, as, list);
	else
		json_free(list);
}

static struct json sites_of(const struct finding *c, bool whole)
{
	struct json list = json_array();

	for (size_t i = 0; i < c->sites.n && (whole || i < SITES); i++) {
		const struct finding_site *s = &c->sites.v[i];
		struct json o = json_object(), stack;

		put_text(&o, "op", s->op);
		put_text(&o, "at", s->text);
		put_text(&o, "file", s->file);
		tool_set_number(&o, "line", (double)s->line);
		tool_set_ms(&o, "lost_ms", (double)s->lost_ns);
		tool_set_number(&o, "affected", (double)s->affected);
		if (s->timed) {
			tool_set_number(&o, "calls", (double)s->calls);
			tool_set_ms(&o, "max_ms", (double)s->max_ns);
		}
		if (whole) {
			stack = json_array();
			for (size_t k = 0; k < s->stack.n; k++)
				json_append(&stack, json_string(s->stack.v[k]));
			json_set(&o, "stack", stack);
		}
		json_append(&list, o);
	}
	return list;
}

static struct json fixes_of(const struct finding *c, bool whole)
{
	struct json list = json_array();

	for (size_t i = 0; i < c->fixes.n && (whole || i < FIXES); i++) {
		const struct finding_fix *f = &c->fixes.v[i];
		struct json o = json_object();

		put_text(&o, "action", f->action);
		put_text(&o, "kind", f->kind);
		put_text(&o, "command", f->command);
		tool_set_ms(&o, "gain_low_ms", (double)f->gain_low_ns);
		tool_set_ms(&o, "gain_high_ms", (double)f->gain_high_ns);
		put_text(&o, "basis", f->basis);
		json_append(&list, o);
	}
	return list;
}

bool chain_row_is_call(const struct finding_moment *m)
{
	/* An interval off the CPU is no call. */
	return m->has_event && m->event.has_end && !bytes_equal(m->event.op, bytes_of("offcpu"));
}

/* In a list of causes only what can be asked about further. */
static struct json moments_of(const struct finding *c, bool whole)
{
	struct json list = json_array();
	char call[40];

	for (size_t i = 0; i < c->moments.n && (whole || json_length(list) < MOMENTS); i++) {
		const struct finding_moment *m = &c->moments.v[i];
		struct json o;

		if (!whole && !chain_row_is_call(m))
			continue;
		o = json_object();
		json_set(&o, "t_s", json_number((double)m->start_ns / 1e9));
		tool_set_ms(&o, "ms", (double)m->dur_ns);
		put_text(&o, "layer", m->layer);
		put_text(&o, "text", m->text);
		if (chain_row_is_call(m)) {
			/* By the name that explain_call takes. */
			snprintf(call, sizeof(call), "%" PRIu32 "@%" PRId64, m->event.tid,
				 m->event.end_ns);
			tool_set_text(&o, "call", call);
		}
		json_append(&list, o);
	}
	return list;
}

static struct json without_of(const struct finding *c, bool whole)
{
	struct json list = json_array();

	for (size_t i = 0; i < c->without.n && (whole || i < SITES); i++) {
		const struct finding_without *w = &c->without.v[i];
		struct json o = json_object();

		put_text(&o, "what", w->what);
		put_text(&o, "op", w->op);
		tool_set_ms(&o, "from_ms", (double)w->from_ns);
		tool_set_ms(&o, "low_ms", (double)w->low_ns);
		tool_set_ms(&o, "high_ms", (double)w->high_ns);
		json_append(&list, o);
	}
	return list;
}

static struct json clean_list(struct json from, const char *key)
{
	struct json v = json_get(from, key), copy = sanitize_json(v);

	json_free(v);
	return copy;
}

/* As the evidence itself has it. */
static void put_proofs(struct json *o, const struct finding *c)
{
	struct json body;

	if (body_read(c->json, &body, BODY_SIZE_MAX, NULL)) {
		put_list(o, "evidence", clean_list(body, "evidence"));
		put_list(o, "symptom", clean_list(body, "symptom"));
		copy_member(o, "lost_ns_by_state", body, "lost");
	}
	json_free(body);
}

struct json chain_row_new(const struct finding *c, bool whole)
{
	struct json o = json_object();

	tool_set_bytes(&o, "id", c->id);
	tool_set_text(&o, "severity", finding_severity_name(c->severity));
	tool_set_bytes(&o, "kind", c->kind);
	json_set(&o, "summary", json_string(c->summary));
	put_text(&o, "op", c->op);
	if (c->victim.known)
		tool_set_number(&o, "pid", c->victim.pid);
	put_text(&o, "process", c->victim.comm);
	put_text(&o, "node", c->node);
	tool_set_ms(&o, "lost_ms", (double)c->lost_ns);
	tool_set_number(&o, "count", (double)c->count);
	if (c->estimate) {
		tool_set_number(&o, "covered", c->covered);
		tool_set_number(&o, "measured_lost_ns", (double)c->measured_lost_ns);
		tool_set_number(&o, "measured_count", (double)c->measured_count);
		if (c->at_least)
			json_set(&o, "at_least", json_bool(true));
	}
	if (c->known)
		tool_set_percent(&o, "wall_percent", c->share);
	put_text(&o, "culprit", c->culprit.text);
	put_list(&o, "where", sites_of(c, whole));
	put_list(&o, "fix", fixes_of(c, whole));
	put_list(&o, "timeline", moments_of(c, whole));
	put_list(&o, "without", without_of(c, whole));
	if (whole)
		put_proofs(&o, c);
	return o;
}

void chain_row_shift_time(struct json *row, int64_t by_ns)
{
	struct json list = json_get(*row, "timeline"), made = json_array();

	for (size_t i = 0; by_ns && i < json_length(list); i++) {
		struct json v = json_at(list, i), t = json_get(v, "t_s");

		json_set(&v, "t_s", json_number(json_double(t, 0) + (double)by_ns / 1e9));
		json_append(&made, v);
		json_free(t);
	}
	if (json_length(made))
		json_set(row, "timeline", made);
	else
		json_free(made);
	json_free(list);
}

/* ---- as text ---- */

/* " ms" of a member, when it is there. */
static void put_ms(struct buf *out, struct json o, const char *key, const char *before)
{
	struct json v = json_get(o, key);

	if (json_type(v) == JSON_TYPE_NUMBER) {
		buf_puts(out, before);
		token_budget_append_number(out, json_double(v, 0));
		buf_puts(out, " ms");
	}
	json_free(v);
}

static void put_sites(struct buf *out, struct json row)
{
	struct json sites = json_get(row, "where");

	for (size_t i = 0; i < json_length(sites); i++) {
		struct json s = json_at(sites, i);

		buf_puts(out, i ? "; " : " where: ");
		token_budget_append_member(out, s, "op");
		buf_putc(out, ' ');
		token_budget_append_member(out, s, "at");
		put_ms(out, s, "lost_ms", " lost ");
		json_free(s);
	}
	if (json_length(sites))
		buf_putc(out, '\n');
	json_free(sites);
}

static void put_fixes(struct buf *out, struct json row)
{
	struct json fixes = json_get(row, "fix");

	for (size_t i = 0; i < json_length(fixes); i++) {
		struct json f = json_at(fixes, i), command = json_get(f, "command");

		buf_puts(out, " fix: ");
		token_budget_append_member(out, f, "action");
		if (json_bytes(command).n) {
			buf_puts(out, ": ");
			token_budget_append_value(out, command);
		}
		put_ms(out, f, "gain_high_ms", "; gains up to ");
		buf_putc(out, '\n');
		json_free(command);
		json_free(f);
	}
	json_free(fixes);
}

/* One call to look at. */
static void put_call(struct buf *out, struct json row)
{
	struct json moments = json_get(row, "timeline");
	bool put = false;

	for (size_t i = 0; i < json_length(moments) && !put; i++) {
		struct json m = json_at(moments, i), call = json_get(m, "call");

		put = json_bytes(call).n != 0;
		if (put) {
			buf_puts(out, " call: ");
			token_budget_append_value(out, call);
			buf_putc(out, '\n');
		}
		json_free(call);
		json_free(m);
	}
	json_free(moments);
}

void chain_row_append_text(struct buf *out, struct json row, size_t at)
{
	struct json outside = json_get(row, "outside_steps");

	buf_printf(out, "%zu. ", at + 1);
	token_budget_append_member(out, row, "severity");
	buf_putc(out, ' ');
	token_budget_append_member(out, row, "kind");
	buf_putc(out, ' ');
	token_budget_append_member(out, row, "id");
	buf_puts(out, ": ");
	token_budget_append_member(out, row, "summary");
	if (json_is_true(outside))
		buf_puts(out, " (before the first step or after the last)");
	json_free(outside);
	buf_putc(out, '\n');
	put_sites(out, row);
	put_fixes(out, row);
	put_call(out, row);
}

/* ---- the frame ---- */

static bool is_recorded(const struct query_chains *a, const char *key)
{
	struct json v = json_get(a->list.analysis, key);
	bool is = json_is_true(v);

	json_free(v);
	return is;
}

/* Calls that may be missing, a line for each text. */
static void add_uncovered(struct json *texts, const struct query_chains *a)
{
	const struct report report = { .chains = &a->list };
	struct buf lines = { 0 };
	const char *at, *end;

	report_paused_lines(&lines, &report, "");
	report_uncovered_lines(&lines, &report, "");
	for (at = buf_text(&lines); (end = strchr(at, '\n')); at = end + 1)
		json_append(texts, json_string((struct bytes){ at, (size_t)(end - at) }));
	buf_free(&lines);
}

/* What is missing, calls and beside events, a text for each. */
static struct json missing_of(const struct query_chains *a)
{
	struct json texts = json_array();

	add_uncovered(&texts, a);

	for (size_t i = 0; i < a->missing.v.n; i++) {
		const struct missing_row *m = &a->missing.v.v[i];
		struct buf text = { 0 }, on = { 0 };

		if (*m->on)
			buf_printf(&on, " on %s", m->on);
		missing_text(&text, m->lost, m->of, bytes_of(m->what), buf_bytes(&on),
			     bytes_of(m->reason));
		json_append(&texts, json_string(buf_bytes(&text)));
		buf_free(&text);
		buf_free(&on);
	}
	return texts;
}

void chain_rows_set_summary(struct json *o, const struct query_chains *a,
			    const struct finding *shown)
{
	struct json r = json_object(), missing = missing_of(a);
	double ns = a->has_start && a->end_ns > a->start_ns ? (double)(a->end_ns - a->start_ns) : 0;
	struct buf verdict = { 0 };

	if (shown)
		buf_add(&verdict, shown->summary.p, shown->summary.n);
	else
		buf_printf(&verdict, "no cause was found in %s events over %.3g s%s",
			   fmt_count(a->events).s, ns / 1e9,
			   is_recorded(a, "host_recorded")
				   ? ""
				   : " (what the host did was not recorded, "
				     "so nothing of it can be found)");
	json_set(o, "verdict", json_string(buf_bytes(&verdict)));
	buf_free(&verdict);
	tool_set_number(&r, "events", (double)a->events);
	tool_set_number(&r, "lost_events", (double)a->lost);
	copy_member(&r, "calls", a->list.analysis, "calls");
	copy_member(&r, "calls_left_out", a->list.analysis, "calls_left_out");
	tool_set_s(&r, "seconds", ns);
	json_set(&r, "host_recorded", json_bool(is_recorded(a, "host_recorded")));
	json_set(&r, "unfinished", json_bool(a->unfinished));
	if (json_length(missing))
		json_set(&r, "missing", missing);
	else
		json_free(missing);
	json_set(o, "recording", r);
}

/* For a recording made with only a part of the calls stored. */
static void put_left_out(struct buf *out, struct json recording)
{
	struct json calls = json_get(recording, "calls"),
		    left = json_get(recording, "calls_left_out");
	double kept = json_double(calls, 0), missing = json_double(left, 0);

	if (missing > 0)
		buf_printf(out,
			   "; %.0f of %.0f calls were recorded, the others only counted: counts "
			   "and sums are lower bounds, times without calls upper bounds",
			   kept, kept + missing);
	json_free(calls);
	json_free(left);
}

void chain_rows_append_head(struct buf *out, struct json answer)
{
	struct json r = json_get(answer, "recording"), chains = json_get(answer, "chains"),
		    lost = json_get(r, "lost_events"), found = json_get(answer, "found"),
		    steps = json_get(answer, "steps");

	if (!json_length(chains) || json_length(steps)) {
		token_budget_append_member(out, answer, "verdict");
		buf_putc(out, '\n');
	}
	token_budget_append_value(out, found);
	buf_puts(out, json_double(found, 0) == 1 ? " cause in " : " causes in ");
	token_budget_append_member(out, r, "events");
	buf_puts(out, " events over ");
	token_budget_append_member(out, r, "seconds");
	buf_puts(out, " s");
	if (json_double(lost, 0) > 0) {
		buf_puts(out, ", ");
		token_budget_append_value(out, lost);
		buf_puts(out, " events lost");
	}
	put_left_out(out, r);
	token_budget_append_members(out, r, "missing", "; ", "; ");
	buf_putc(out, '\n');
	json_free(found);
	json_free(r);
	json_free(chains);
	json_free(lost);
	json_free(steps);
}
