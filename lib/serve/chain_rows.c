/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of chains are JSON of another program, perhaps of another version: what is not there is left out.
 */
#include "lib/serve/chain_rows.h"

#include <string.h>

#include "lib/base/human.h"
#include "lib/emit/report_recording.h"
#include "lib/serve/clean.h"
#include "lib/serve/tool.h"

#define SITES	3 /* call sites and fixes in a list of chains; one chain alone has all */
#define FIXES	2
#define MOMENTS 3

/* A member of a member goes over, under another name. */
static void take(struct json *to, const char *as, struct json from, const char *key)
{
	struct json v = json_get(from, key);

	if (v.is && json_type(v) != JSON_TYPE_NULL)
		json_set(to, as, v);
	else
		json_free(v);
}

static void take_ms(struct json *to, const char *as, struct json from, const char *key)
{
	struct json v = json_get(from, key);

	if (json_type(v) == JSON_TYPE_NUMBER)
		tool_set_ms(to, as, json_double(v, 0));
	json_free(v);
}

/* JSON_NONE: not this one. */
typedef struct json of_one(struct json v, bool whole);

static void take_list(struct json *to, const char *as, struct json from, const char *key,
		      of_one *one, size_t most, bool whole)
{
	struct json list = json_get(from, key), made = json_array();

	for (size_t i = 0; i < json_length(list) && (whole || json_length(made) < most); i++) {
		struct json v = json_at(list, i), row = one(v, whole);

		json_free(v);
		if (row.is)
			json_append(&made, row);
	}
	if (json_length(made))
		json_set(to, as, made);
	else
		json_free(made);
	json_free(list);
}

static struct json site(struct json v, bool whole)
{
	struct json o = json_object();

	take(&o, "op", v, "op");
	take(&o, "at", v, "text");
	take(&o, "file", v, "file");
	take(&o, "line", v, "line");
	take_ms(&o, "lost_ms", v, "lost_ns");
	take(&o, "affected", v, "affected");
	take(&o, "calls", v, "calls");
	take_ms(&o, "max_ms", v, "max_ns");
	if (whole)
		take(&o, "stack", v, "stack");
	return o;
}

static struct json fix(struct json v, bool whole)
{
	struct json o = json_object();

	take(&o, "action", v, "action");
	take(&o, "kind", v, "kind");
	take(&o, "command", v, "command");
	take_ms(&o, "gain_low_ms", v, "gain_low_ns");
	take_ms(&o, "gain_high_ms", v, "gain_high_ns");
	take(&o, "basis", v, "basis");
	return o;
}

/* The call of a moment by the name that explain_call takes. */
static void set_call(struct json *o, struct json event)
{
	struct json tid = json_get(event, "tid"), end = json_get(event, "end"),
		    op = json_get(event, "op");
	struct bytes b = json_bytes(end), name = json_bytes(op);
	struct buf id = { 0 };

	/* An interval off the CPU is no call. */
	if (b.n && json_type(tid) == JSON_TYPE_NUMBER &&
	    !(name.n == 6 && !memcmp(name.p, "offcpu", 6))) {
		buf_printf(&id, "%.0f@%.*s", json_double(tid, 0), (int)b.n, b.p);
		tool_set_bytes(o, "call", buf_bytes(&id));
	}
	buf_free(&id);
	json_free(tid);
	json_free(end);
	json_free(op);
}

static struct json moment(struct json v, bool whole)
{
	struct json o = json_object(), event = json_get(v, "event"), t = json_get(v, "t_ns");

	json_set(&o, "t_s", json_number(json_double(t, 0) / 1e9));
	take_ms(&o, "ms", v, "dur_ns");
	take(&o, "layer", v, "layer");
	take(&o, "text", v, "text");
	set_call(&o, event);
	json_free(event);
	json_free(t);
	/* In a list of causes only what can be asked about further. */
	v = json_get(o, "call");
	if (!whole && !v.is) {
		json_free(o);
		return JSON_NONE;
	}
	json_free(v);
	return o;
}

static struct json otherwise(struct json v, bool whole)
{
	struct json o = json_object();

	take(&o, "what", v, "what");
	take(&o, "op", v, "op");
	take_ms(&o, "from_ms", v, "from_ns");
	take_ms(&o, "low_ms", v, "low_ns");
	take_ms(&o, "high_ms", v, "high_ns");
	return o;
}

static struct json as_is(struct json v, bool whole)
{
	return clean_json(v);
}

struct json chain_row(const struct finding *c, bool whole)
{
	struct json o = json_object(), victim = json_get(c->body, "victim"),
		    culprit = json_get(c->body, "culprit"), share;

	tool_set_bytes(&o, "id", c->id);
	tool_set_text(&o, "severity", finding_severity_name(c->severity));
	tool_set_bytes(&o, "kind", c->kind);
	json_set(&o, "summary", json_string(c->summary));
	take(&o, "op", c->body, "op");
	take(&o, "pid", victim, "pid");
	take(&o, "process", victim, "comm");
	take(&o, "node", c->body, "node");
	tool_set_ms(&o, "lost_ms", (double)c->lost_ns);
	tool_set_number(&o, "count", (double)c->count);
	take(&o, "covered", c->body, "covered");
	take(&o, "measured_lost_ns", c->body, "measured_lost_ns");
	take(&o, "measured_count", c->body, "measured_count");
	take(&o, "at_least", c->body, "at_least");
	share = json_get(c->body, "share_of_wall");
	if (json_type(share) == JSON_TYPE_NUMBER)
		tool_set_percent(&o, "wall_percent", json_double(share, 0));
	json_free(share);
	take(&o, "culprit", culprit, "text");
	take_list(&o, "where", c->body, "sites", site, SITES, whole);
	take_list(&o, "fix", c->body, "recommendations", fix, FIXES, whole);
	take_list(&o, "timeline", c->body, "timeline", moment, MOMENTS, whole);
	take_list(&o, "without", c->body, "counterfactual", otherwise, SITES, whole);
	if (whole) {
		take_list(&o, "evidence", c->body, "evidence", as_is, 0, true);
		take_list(&o, "symptom", c->body, "symptom", as_is, 0, true);
		take(&o, "lost_ns_by_state", c->body, "lost");
	}
	json_free(victim);
	json_free(culprit);
	return o;
}

void chain_row_later(struct json *row, int64_t by_ns)
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
		shape_number(out, json_double(v, 0));
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
		shape_member(out, s, "op");
		buf_putc(out, ' ');
		shape_member(out, s, "at");
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
		shape_member(out, f, "action");
		if (json_bytes(command).n) {
			buf_puts(out, ": ");
			shape_value(out, command);
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
			shape_value(out, call);
			buf_putc(out, '\n');
		}
		json_free(call);
		json_free(m);
	}
	json_free(moments);
}

void chain_row_text(struct buf *out, struct json row, size_t at)
{
	buf_printf(out, "%zu. ", at + 1);
	shape_member(out, row, "severity");
	buf_putc(out, ' ');
	shape_member(out, row, "kind");
	buf_putc(out, ' ');
	shape_member(out, row, "id");
	buf_puts(out, ": ");
	shape_member(out, row, "summary");
	buf_putc(out, '\n');
	put_sites(out, row);
	put_fixes(out, row);
	put_call(out, row);
}

/* ---- the frame ---- */

static bool recorded(const struct ask_chains *a, const char *key)
{
	struct json v = json_get(a->list.analysis, key);
	bool is = json_is_true(v);

	json_free(v);
	return is;
}

/* Calls that may be missing, a line for each text. */
static void add_uncovered(struct json *texts, const struct ask_chains *a)
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
static struct json missing_of(const struct ask_chains *a)
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

void chain_rows_frame(struct json *o, const struct ask_chains *a, const struct finding *shown)
{
	struct json r = json_object(), missing = missing_of(a);
	double ns = a->has_start && a->end_ns > a->start_ns ? (double)(a->end_ns - a->start_ns) : 0;
	struct buf verdict = { 0 };

	if (shown)
		buf_add(&verdict, shown->summary.p, shown->summary.n);
	else
		buf_printf(&verdict, "no cause was found in %s events over %.3g s%s",
			   human_count(a->events).s, ns / 1e9,
			   recorded(a, "host_recorded") ? ""
							: " (what the host did was not recorded, "
							  "so nothing of it can be found)");
	json_set(o, "verdict", json_string(buf_bytes(&verdict)));
	buf_free(&verdict);
	tool_set_number(&r, "events", (double)a->events);
	tool_set_number(&r, "lost_events", (double)a->lost);
	take(&r, "calls", a->list.analysis, "calls");
	take(&r, "calls_left_out", a->list.analysis, "calls_left_out");
	tool_set_s(&r, "seconds", ns);
	json_set(&r, "host_recorded", json_bool(recorded(a, "host_recorded")));
	json_set(&r, "unfinished", json_bool(a->unfinished));
	if (json_length(missing))
		json_set(&r, "missing", missing);
	else
		json_free(missing);
	json_set(o, "recording", r);
}

/* Of a recording that was told to keep a part of the calls. */
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

void chain_rows_head(struct buf *out, struct json answer)
{
	struct json r = json_get(answer, "recording"), chains = json_get(answer, "chains"),
		    lost = json_get(r, "lost_events"), found = json_get(answer, "found");

	if (!json_length(chains)) {
		shape_member(out, answer, "verdict");
		buf_putc(out, '\n');
	}
	shape_value(out, found);
	buf_puts(out, json_double(found, 0) == 1 ? " cause in " : " causes in ");
	shape_member(out, r, "events");
	buf_puts(out, " events over ");
	shape_member(out, r, "seconds");
	buf_puts(out, " s");
	if (json_double(lost, 0) > 0) {
		buf_puts(out, ", ");
		shape_value(out, lost);
		buf_puts(out, " events lost");
	}
	put_left_out(out, r);
	shape_members(out, r, "missing", "; ", "; ");
	buf_putc(out, '\n');
	json_free(found);
	json_free(r);
	json_free(chains);
	json_free(lost);
}
