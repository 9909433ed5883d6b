/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one file that knows how a finding is written: a table per object of
 * formats/chain.schema.json, in its order. Fields that are absent in some findings only are left
 * out there, so that old readers see what they always saw.
 */
#include "lib/model/finding_json.h"

#include "lib/base/jsoncheck.h"
#include "lib/base/jsonmap_table.h"
#include "lib/model/body.h"

#define DEPTH_MAX 64 /* ours is six deep */

#define S finding_victim
static const struct jsonmap_member victim_members[] = {
	MEMBER_IF(known, "pid", U32, AS_IS, pid, NULL),
	MEMBER("comm", TEXT, AS_IS, comm),
	MEMBER("command", TEXT, NULL, command),
	MEMBER("calls", U64, AS_IS, calls),
};
MAP(victim_map, victim_members);
#undef S

#define S finding_culprit
static const struct jsonmap_member culprit_members[] = {
	MEMBER("kind", TEXT, AS_IS, kind),
	MEMBER("text", TEXT, AS_IS, text),
	MEMBER("pid", U32, NULL, pid),
	MEMBER("comm", TEXT, NULL, comm),
	MEMBER("processes", U32, AS_IS, processes),
	MEMBER("pids", NUMBERS, LEFT_OUT, pids),
	MEMBER("tids", NUMBERS, LEFT_OUT, tids),
	MEMBER("parent", U32, AS_IS, parent),
	MEMBER("cgroup", TEXT, NULL, cgroup),
	MEMBER("device", TEXT, NULL, device),
	MEMBER("via", TEXTS, AS_IS, via),
};
MAP(culprit_map, culprit_members);
#undef S

#define S finding_symptom
static const struct jsonmap_member symptom_members[] = {
	MEMBER("op", TEXT, AS_IS, op),
	MEMBER("source", TEXT, AS_IS, source),
	MEMBER("lost_ns", U64, AS_IS, lost_ns),
	MEMBER("affected", U64, AS_IS, affected),
	MEMBER_IF(timed, "n", U64, LEFT_OUT, n, NULL),
	MEMBER_IF(timed, "p50_ns", U64, LEFT_OUT, p50_ns, NULL),
	MEMBER_IF(timed, "p99_ns", U64, LEFT_OUT, p99_ns, NULL),
	MEMBER_IF(timed, "max_ns", U64, LEFT_OUT, max_ns, NULL),
	MEMBER_IF(timed, "expected_ns", U64, LEFT_OUT, expected_ns, NULL),
	MEMBER_IF(timed, "expected_borrowed", BOOL, LEFT_OUT, expected_borrowed, NULL),
	MEMBER_IF(timed, "p99_without_ns", U64, LEFT_OUT, p99_without_ns, NULL),
	MEMBER_IF(timed, "first_use", BOOL, LEFT_OUT, first_use, NULL),
	MEMBER("kernel", TEXT, LEFT_OUT, kernel),
	MEMBER("bytes_below", U64, LEFT_OUT, bytes_below),
};
MAP(symptom_map, symptom_members);
#undef S

#define S finding_site
static const struct jsonmap_member site_members[] = {
	MEMBER("op", TEXT, AS_IS, op),
	MEMBER("source", TEXT, AS_IS, source),
	MEMBER("text", TEXT, AS_IS, text),
	MEMBER("symbol", TEXT, NULL, symbol),
	MEMBER("module", TEXT, NULL, module),
	MEMBER("file", TEXT, NULL, file),
	MEMBER("line", U64, AS_IS, line),
	MEMBER("lost_ns", U64, AS_IS, lost_ns),
	MEMBER("affected", U64, AS_IS, affected),
	MEMBER_IF(timed, "calls", U64, LEFT_OUT, calls, NULL),
	MEMBER_IF(timed, "avg_ns", U64, LEFT_OUT, avg_ns, NULL),
	MEMBER_IF(timed, "max_ns", U64, LEFT_OUT, max_ns, NULL),
	MEMBER("bytes", U64, LEFT_OUT, bytes),
	MEMBER("stack", TEXTS, AS_IS, stack),
};
MAP(site_map, site_members);
#undef S

#define S finding_event
static const struct jsonmap_member event_members[] = {
	MEMBER("tid", U32, AS_IS, tid),
	MEMBER_IF(has_end, "end", I64TEXT, AS_IS, end_ns, NULL),
	MEMBER("op", TEXT, AS_IS, op),
};
MAP(event_map, event_members);
#undef S

#define S finding_moment
static const struct jsonmap_member moment_members[] = {
	MEMBER("layer", TEXT, AS_IS, layer),
	MEMBER("t_ns", I64, AS_IS, start_ns),
	MEMBER("dur_ns", U64, AS_IS, dur_ns),
	MEMBER("lost_ns", U64, AS_IS, lost_ns),
	MEMBER("text", TEXT, AS_IS, text),
	MEMBER_IF(has_event, "event", OBJECT, NULL, event, &event_map),
};
MAP(moment_map, moment_members);
#undef S

#define S finding_fix
static const struct jsonmap_member fix_members[] = {
	MEMBER("action", TEXT, AS_IS, action),
	MEMBER("kind", TEXT, LEFT_OUT, kind),
	MEMBER("command", TEXT, AS_IS, command),
	MEMBER("gain_low_ns", U64, AS_IS, gain_low_ns),
	MEMBER("gain_high_ns", U64, AS_IS, gain_high_ns),
	MEMBER("basis", TEXT, AS_IS, basis),
};
MAP(fix_map, fix_members);
#undef S

#define S finding_without
static const struct jsonmap_member without_members[] = {
	MEMBER("what", TEXT, AS_IS, what),	MEMBER("op", TEXT, LEFT_OUT, op),
	MEMBER("from_ns", U64, AS_IS, from_ns), MEMBER("low_ns", U64, AS_IS, low_ns),
	MEMBER("high_ns", U64, AS_IS, high_ns), MEMBER("replayed", BOOL, LEFT_OUT, replayed),
};
MAP(without_map, without_members);
#undef S

#define S finding_coverage
static const struct jsonmap_member coverage_members[] = {
	MEMBER("lost_events", U64, AS_IS, lost_events),
	MEMBER("late_events", U64, AS_IS, late_events),
	MEMBER("lower_bound", BOOL, AS_IS, lower_bound),
	MEMBER("upper_bound", BOOL, LEFT_OUT, upper_bound),
};
MAP(coverage_map, coverage_members);
#undef S

#define S finding_evidence
static const struct jsonmap_member evidence_members[] = {
	MEMBER("what", TEXT, AS_IS, what),
	MEMBER_IF(is_number, "value", DOUBLE, LEFT_OUT, value, NULL),
	MEMBER("unit", TEXT, LEFT_OUT, unit),
	MEMBER("text", TEXT, LEFT_OUT, text),
};
MAP(evidence_map, evidence_members);
#undef S

#define S finding
static const struct jsonmap_member finding_members[] = {
	MEMBER("node", TEXT, NULL, node),
	MEMBER_OF("victim", OBJECT, victim, victim_map),
	MEMBER("op", TEXT, AS_IS, op),
	MEMBER("first_ns", I64, AS_IS, first_after_ns),
	MEMBER("last_ns", I64, AS_IS, last_after_ns),
	MEMBER("share_of_wall", DOUBLE, AS_IS, share),
	MEMBER("worst_window_share", DOUBLE, AS_IS, worst_share),
	MEMBER("lost_ms_per_s", DOUBLE, AS_IS, lost_ms_per_s),
	MEMBER_IF(estimate, "covered", DOUBLE, LEFT_OUT, covered, NULL),
	MEMBER_IF(estimate, "measured_lost_ns", U64, LEFT_OUT, measured_lost_ns, NULL),
	MEMBER_IF(estimate, "measured_count", U64, LEFT_OUT, measured_count, NULL),
	MEMBER("at_least", BOOL, LEFT_OUT, at_least),
	MEMBER("explained", DOUBLE, NULL, explained),
	MEMBER("unexplained", DOUBLE, NULL, unexplained),
	MEMBER("lost", NAMED, AS_IS, parts),
	MEMBER_OF("culprit", OBJECT, culprit, culprit_map),
	MEMBER_OF("symptom", OBJECTS, symptoms, symptom_map),
	MEMBER_OF("sites", OBJECTS, sites, site_map),
	MEMBER_OF("timeline", OBJECTS, moments, moment_map),
	MEMBER_OF("recommendations", OBJECTS, fixes, fix_map),
	MEMBER_OF("counterfactual", OBJECTS, without, without_map),
	MEMBER_OF("coverage", OBJECT, coverage, coverage_map),
	MEMBER("counted", TEXT, AS_IS, counted),
	MEMBER_OF("evidence", OBJECTS, evidence, evidence_map),
};
static const struct jsonmap finding_map = { "ingero.chain/1", finding_members,
					    JSONMAP_COUNT(finding_members),
					    sizeof(struct finding) };
#undef S

void finding_write_json(const struct finding *f, struct jsonw *j)
{
	j->out->failed |= f->failed;
	jsonmap_write(&finding_map, f, j);
}

static void drop_evidence(struct finding *f)
{
	struct finding columns = { .id = f->id,
				   .match = f->match,
				   .kind = f->kind,
				   .summary = f->summary,
				   .revision = f->revision,
				   .severity = f->severity,
				   .time_ns = f->time_ns,
				   .first_ns = f->first_ns,
				   .last_ns = f->last_ns,
				   .count = f->count,
				   .lost_ns = f->lost_ns,
				   .hidden = f->hidden,
				   .explained = -1,
				   .unexplained = -1 };

	arena_free(&f->memory);
	*f = columns;
}

int finding_read_json(struct finding *f, struct bytes json, size_t size_max, struct err *e)
{
	size_t most = size_max < BODY_SIZE_MAX ? size_max : BODY_SIZE_MAX,
	       text = json.n / JSON_SIZE_BYTES;
	int rc;

	drop_evidence(f);
	if (text >= most)
		return err_set(e, ERR_LIMIT, "it is longer than is taken");
	rc = json_check_size(json, DEPTH_MAX, most - text, NULL, e);
	if (rc)
		return rc;
	f->json = finding_copy(f, json);
	rc = f->failed ? err_nomem(e) : jsonmap_read(&finding_map, f->json, f, &f->memory, e);
	f->known = rc == 0 || rc == ERR_DAMAGED;
	if (f->known) /* other versions ordered them by their ends */
		finding_sort_moments(f);
	if (rc == ERR_NOMEM)
		drop_evidence(f);
	return rc;
}
