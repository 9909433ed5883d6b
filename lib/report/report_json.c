/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as JSON: each chain is its record's fields and its body's, side by side.
 */
#include "lib/base/json.h"
#include "lib/report/report_failures.h"
#include "lib/report/report_oncpu.h"
#include "lib/report/report_internal.h"
#include "lib/report/report_parts.h"
#include "lib/report/step_track.h"
#include "lib/report/stepless.h"
#include "lib/model/body.h"

/* Its evidence passes as it is, with what a later version says besides. */
static struct json chain_json(const struct report *r, const struct finding *c)
{
	static const char *const body[] = { "node",
					    "victim",
					    "op",
					    "first_ns",
					    "last_ns",
					    "share_of_wall",
					    "worst_window_share",
					    "lost_ms_per_s",
					    "explained",
					    "unexplained",
					    "lost",
					    "culprit",
					    "symptom",
					    "sites",
					    "timeline",
					    "recommendations",
					    "coverage",
					    "counted",
					    "evidence",
					    "counterfactual" };
	static const char *const estimates[] = { "covered", "measured_lost_ns", "measured_count",
						 "at_least" };
	struct json o = json_object(), evidence;

	json_set(&o, "id", json_string(c->id));
	json_set(&o, "match", json_string(c->match));
	json_set(&o, "revision", json_number(c->revision));
	json_set(&o, "kind", json_string(c->kind));
	json_set(&o, "severity", json_text(finding_severity_name(c->severity)));
	json_set(&o, "summary", json_string(c->summary));
	json_set(&o, "count", json_number((double)c->count));
	json_set(&o, "lost_ns", json_number((double)c->lost_ns));
	report_set_time(&o, "first", r, c->first_ns);
	report_set_time(&o, "last", r, c->last_ns);
	body_read(c->json, &evidence, BODY_SIZE_MAX, NULL);
	for (unsigned i = 0; i < sizeof(body) / sizeof(body[0]); i++) {
		struct json v = json_get(evidence, body[i]);

		json_set(&o, body[i], v.is ? v : json_null());
	}
	for (unsigned i = 0; i < sizeof(estimates) / sizeof(estimates[0]); i++) {
		struct json v = json_get(evidence, estimates[i]);

		if (v.is)
			json_set(&o, estimates[i], v);
	}
	json_free(evidence);
	if (step_track_is_outside(r, c))
		json_set(&o, "outside_steps", json_bool(true));
	return o;
}

/* Of the program with steps that the report is about; JSON_NONE: there is none. */
static struct json step_verdict_json(const struct report *r)
{
	struct json o;
	struct buf text = { 0 };
	struct step_track t;

	if (!step_track_main(r, &t))
		return JSON_NONE;
	step_track_print_verdict(&text, &t);
	o = json_object();
	json_set(&o, "text", json_string(buf_bytes(&text)));
	json_set(&o, "pid", json_number(t.track->pid));
	json_set(&o, "tid", json_number(t.track->tid));
	json_set(&o, "severity", json_number(step_track_severity(&t)));
	buf_free(&text);
	return o;
}

/* The same of all the time of a program without steps. */
static struct json stepless_verdict_json(const struct report *r)
{
	const struct paths_track *t = stepless_find(r);
	struct buf text = { 0 };
	struct json o;

	if (!t)
		return JSON_NONE;
	stepless_print(&text, r, t);
	o = json_object();
	json_set(&o, "text", json_string(buf_bytes(&text)));
	json_set(&o, "pid", json_number(t->pid));
	json_set(&o, "tid", json_number(t->tid));
	json_set(&o, "severity", json_number(stepless_severity(t)));
	buf_free(&text);
	return o;
}

/* Elements of a list of the analysis that are of processes, those asked for. */
static struct json processes_json(const struct report *r, const char *list)
{
	struct json all = json_get(r->chains->analysis, list), out = json_array();

	for (size_t i = 0; i < json_length(all); i++) {
		struct json p = json_at(all, i), pid = json_get(p, "pid");
		bool is = report_is_pid(r, json_double(pid, -1));

		json_free(pid);
		if (is)
			json_append(&out, p);
		else
			json_free(p);
	}
	json_free(all);
	return out;
}

static struct json missing_json(const struct report *r)
{
	struct json all = json_array();

	for (size_t i = 0; r->missing && i < r->missing->v.n; i++) {
		const struct missing_row *m = &r->missing->v.v[i];
		struct json row = json_object();

		json_set(&row, "what", json_text(m->what));
		json_set(&row, "lost", json_number(m->lost));
		json_set(&row, "of", json_number(m->of));
		json_set(&row, "reason", *m->reason ? json_text(m->reason) : json_null());
		json_set(&row, "node", *m->on ? json_text(m->on) : json_null());
		json_append(&all, row);
	}
	return all;
}

void report_json(struct buf *out, const struct report *r)
{
	struct json o = json_object(), chains = json_array(), coverage = json_object();
	struct json analysis = r->chains->analysis, v;
	unsigned shown = 0, selected = 0;
	uint64_t failed;

	json_set(&o, "schema", json_text("ingero.explain/1"));
	for (size_t i = 0; i < r->chains->v.n; i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (!report_selects(r, c))
			continue;
		selected++;
		if (r->top == 0 || shown < r->top) {
			json_append(&chains, chain_json(r, c));
			shown++;
		}
	}
	json_set(&o, "chains", chains);
	json_set(&o, "chains_found", json_number(selected));
	json_set(&o, "breakdown", processes_json(r, "processes"));
	json_set(&o, "standing", processes_json(r, "standing"));
	json_set(&o, "without_all", processes_json(r, "without_all"));
	v = json_get(analysis, "classes");
	json_set(&o, "classes", v.is ? v : json_array());
	json_set(&o, "memory", processes_json(r, "memory"));
	json_set(&o, "steps", processes_json(r, "steps"));
	json_set(&o, "paths", processes_json(r, "paths"));
	v = step_verdict_json(r);
	if (v.is) {
		json_set(&o, "step_verdict", v);
	} else {
		v = stepless_verdict_json(r);
		if (v.is)
			json_set(&o, "stepless_verdict", v);
	}
	json_set(&o, "errors", report_failures_json(r, &failed));
	json_set(&o, "errors_found", json_number((double)failed));
	json_set(&o, "on_cpu", report_oncpu_json(r));
	v = report_operations_json(r);
	if (v.is)
		json_set(&o, "operations", v);
	json_set(&coverage, "events", json_number((double)r->events));
	v = json_get(analysis, "lost_events");
	json_set(&coverage, "lost", v.is ? v : json_number((double)r->lost));
	v = json_get(analysis, "late_events");
	json_set(&coverage, "late", v.is ? v : json_number(0));
	json_set(&coverage, "duration_ns",
		 json_number(r->has_start && r->end_ns > r->start_ns
				     ? (double)(r->end_ns - r->start_ns)
				     : 0));
	v = json_get(analysis, "host_recorded");
	json_set(&coverage, "host_recorded", v.is ? v : json_bool(false));
	v = json_get(analysis, "steal_recorded");
	json_set(&coverage, "steal_recorded", v.is ? v : json_bool(false));
	json_set(&coverage, "uncovered", processes_json(r, "uncovered"));
	v = json_get(analysis, "paused");
	json_set(&coverage, "paused", v.is ? v : json_array());
	v = json_get(analysis, "recorder");
	json_set(&coverage, "recorder", v.is ? v : json_null());
	json_set(&coverage, "missing", missing_json(r));
	json_set(&coverage, "partial", json_bool(r->partial));
	json_set(&coverage, "partial_reason",
		 r->partial_text.n ? json_string(r->partial_text) : json_null());
	json_set(&coverage, "analyzed_by",
		 json_text(r->found_analyzed ? "ingero-correlate" : "ingero-explain"));
	json_set(&o, "coverage", coverage);
	if (r->has_start)
		report_set_time(&o, "start", r, r->start_ns);
	json_dump(out, o, JSON_DUMP_PRETTY);
	buf_putc(out, '\n');
	json_free(o);
}
