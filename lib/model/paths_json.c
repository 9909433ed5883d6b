/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one file that knows how critical paths are written: a table per object of the member "paths"
 * of formats/analysis.schema.json, in its order.
 */
#include "lib/base/jsoncheck.h"
#include "lib/base/jsonmap_table.h"
#include "lib/model/body.h"
#include "lib/model/paths.h"

#define DEPTH_MAX 64 /* ours lie eight deep */

#define S paths_line
static const struct jsonmap_member line_members[] = {
	MEMBER("at", TEXT, NULL, at), MEMBER("line", TEXT, NULL, line),
	MEMBER("op", TEXT, NULL, op), MEMBER("sampled", BOOL, AS_IS, sampled),
	MEMBER("ns", U64, AS_IS, ns),
};
MAP(line_map, line_members);
#undef S

#define S paths_culprit
static const struct jsonmap_member culprit_members[] = {
	MEMBER("text", TEXT, AS_IS, text),
	MEMBER_IF(known, "pid", U32, LEFT_OUT, pid, NULL),
	MEMBER_IF(known, "tid", U32, LEFT_OUT, tid, NULL),
	MEMBER_IF(known, "threads", U64, LEFT_OUT, threads, NULL),
	MEMBER_IF(known, "other_process", BOOL, LEFT_OUT, other_process, NULL),
};
MAP(culprit_map, culprit_members);
#undef S

#define S paths_cause
static const struct jsonmap_member cause_members[] = {
	MEMBER("text", TEXT, AS_IS, text),
	MEMBER("ns", U64, AS_IS, ns),
	MEMBER("class", TEXT, AS_IS, class),
	MEMBER("pace", TEXT, LEFT_OUT, pace),
	MEMBER_IF(has_culprit, "culprit", OBJECT, NULL, culprit, &culprit_map),
	MEMBER("work", BOOL, AS_IS, work),
	MEMBER("severity", U32, AS_IS, severity),
	MEMBER("pieces", U64, AS_IS, pieces),
	MEMBER("longest_ns", U64, AS_IS, longest_ns),
	MEMBER("longest_at_ns", I64, AS_IS, longest_at_ns),
	MEMBER("once", TEXT, LEFT_OUT, once),
	MEMBER("course", TEXT, LEFT_OUT, course),
	MEMBER_OF("lines", OBJECTS, lines, line_map),
};
MAP(cause_map, cause_members);
#undef S

#define S paths_smaller
static const struct jsonmap_member smaller_members[] = {
	MEMBER("causes", U64, AS_IS, causes),
	MEMBER("ns", U64, AS_IS, ns),
};
MAP(smaller_map, smaller_members);
#undef S

#define S paths_note
static const struct jsonmap_member note_members[] = {
	MEMBER("kind", TEXT, AS_IS, kind),
	MEMBER("text", TEXT, AS_IS, text),
	MEMBER("ns", U64, AS_IS, ns),
	MEMBER("matters", BOOL, AS_IS, matters),
	MEMBER("command", TEXT, LEFT_OUT, command),
};
MAP(note_map, note_members);
#undef S

#define S paths_why
static const struct jsonmap_member why_members[] = {
	MEMBER("text", TEXT, AS_IS, text),
	MEMBER("ns", U64, AS_IS, ns),
	MEMBER("severity", U32, AS_IS, severity),
	MEMBER("class", TEXT, LEFT_OUT, class),
	MEMBER("course", TEXT, LEFT_OUT, course),
	MEMBER_IF(has_culprit, "culprit", OBJECT, LEFT_OUT, culprit, &culprit_map),
};
MAP(why_map, why_members);
#undef S

#define S paths_row
static const struct jsonmap_member row_members[] = {
	MEMBER("line", TEXT, NULL, line),
	MEMBER("site", TEXT, NULL, site),
	MEMBER("ns", U64, AS_IS, ns),
	MEMBER_OF("why", OBJECTS, why, why_map),
};
MAP(row_map, row_members);
#undef S

#define S paths_phase
static const struct jsonmap_member phase_members[] = {
	MEMBER("name", TEXT, AS_IS, name),
	MEMBER("from_ns", I64, AS_IS, from_ns),
	MEMBER("to_ns", I64, AS_IS, to_ns),
	MEMBER("ns", U64, AS_IS, ns),
	MEMBER_OF("causes", OBJECTS, causes, cause_map),
	MEMBER_IF(has_smaller, "smaller", OBJECT, LEFT_OUT, smaller, &smaller_map),
	MEMBER_OF("notes", OBJECTS, notes, note_map),
	MEMBER("lead", TEXTS, AS_IS, lead),
	MEMBER_OF("rows", OBJECTS, rows, row_map),
};
MAP(phase_map, phase_members);
#undef S

#define S paths_steps
static const struct jsonmap_member steps_members[] = {
	MEMBER("function", TEXT, NULL, function),
	MEMBER("file", TEXT, NULL, file),
	MEMBER("first_line", U64, AS_IS, first_line),
	MEMBER("last_line", U64, AS_IS, last_line),
	MEMBER_IF(by_calls, "calls", U64, LEFT_OUT, calls, NULL),
	MEMBER("call", TEXT, LEFT_OUT, call),
	MEMBER("count", U64, AS_IS, count),
	MEMBER("estimated", BOOL, AS_IS, estimated),
	MEMBER("at_least", BOOL, AS_IS, at_least),
	MEMBER_IF(estimated, "fewest", U64, LEFT_OUT, fewest, NULL),
	MEMBER_IF(estimated, "most", U64, LEFT_OUT, most, NULL),
	MEMBER("first_ns", I64, AS_IS, first_ns),
	MEMBER("last_ns", I64, AS_IS, last_ns),
	MEMBER("total_ns", U64, AS_IS, total_ns),
	MEMBER_IF(timed, "p50_ns", U64, LEFT_OUT, p50_ns, NULL),
	MEMBER_IF(timed, "p99_ns", U64, LEFT_OUT, p99_ns, NULL),
	MEMBER_IF(timed, "max_ns", U64, LEFT_OUT, max_ns, NULL),
	MEMBER("every", U64, LEFT_OUT, every),
	MEMBER("every_ns", U64, LEFT_OUT, every_ns),
};
MAP(steps_map, steps_members);
#undef S

#define S paths_track
static const struct jsonmap_member track_members[] = {
	MEMBER("pid", U32, AS_IS, pid),
	MEMBER("node", TEXT, AS_IS, node),
	MEMBER("comm", TEXT, AS_IS, comm),
	MEMBER("tid", U32, AS_IS, tid),
	MEMBER("thread", TEXT, AS_IS, thread),
	MEMBER("from_ns", I64, AS_IS, from_ns),
	MEMBER("to_ns", I64, AS_IS, to_ns),
	MEMBER_IF(has_steps, "steps", OBJECT, NULL, steps, &steps_map),
	MEMBER("held_by", TEXT, LEFT_OUT, held_by),
	MEMBER_OF("phases", OBJECTS, phases, phase_map),
};
MAP(track_map, track_members);
#undef S

#define S paths
static const struct jsonmap_member analysis_members[] = {
	MEMBER_OF("paths", OBJECTS, tracks, track_map),
};
/* The rest of an analysis is not read here. */
MAP(analysis_map, analysis_members);
#undef S

void paths_write_json(const struct paths *p, struct jsonw *j)
{
	j->out->failed |= p->failed;
	jsonw_key_array(j, "paths");
	for (size_t i = 0; i < p->tracks.n; i++)
		jsonmap_write(&track_map, &p->tracks.v[i], j);
	jsonw_array_end(j);
}

int paths_read_json(struct paths *p, struct bytes analysis, size_t size_max, struct err *e)
{
	size_t most = size_max < BODY_SIZE_MAX ? size_max : BODY_SIZE_MAX,
	       text = analysis.n / JSON_SIZE_BYTES;
	struct bytes copy;
	int rc;

	paths_free(p);
	if (text >= most)
		return err_set(e, ERR_LIMIT, "it is longer than is taken");
	rc = json_check_size(analysis, DEPTH_MAX, most - text, NULL, e);
	if (rc)
		return rc;
	copy = paths_copy(p, analysis);
	rc = p->failed ? err_nomem(e) : jsonmap_read(&analysis_map, copy, p, &p->memory, e);
	if (rc == ERR_NOMEM)
		paths_free(p);
	return rc;
}
