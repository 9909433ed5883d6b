/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes records into the archive: each as it is into the table of its kind, and what it holds of
 * machine, session and findings into the Go agent's tables.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/archive/archive_internal.h"

#define MIB 1048576.0

/* ---- the table of each kind ---- */

static int prepare_kind(struct archive_writer *a, const struct record_def *def, struct err *e)
{
	struct buf sql = { 0 };
	int rc;

	buf_printf(&sql, "INSERT INTO %s_records (n, after_seq", def->name);
	for (unsigned i = 0; i < def->nfields; i++)
		buf_printf(&sql, ", \"%s\"", def->fields[i].name);
	buf_puts(&sql, ") VALUES (?, ?");
	for (unsigned i = 0; i < def->nfields; i++)
		buf_puts(&sql, ", ?");
	buf_puts(&sql, ")");
	rc = sql.failed ? err_nomem(e)
			: archive_prepare(a, &a->record_to[def->kind], buf_text(&sql), e);
	buf_free(&sql);
	return rc;
}

static void bind_field(sqlite3_stmt *s, int at, const struct record *r,
		       const struct record_field *f)
{
	const void *p = (const char *)&r->u + f->offset;

	switch (f->type) {
	case REC_I64:
	case REC_U64:
		sqlite3_bind_int64(s, at, *(const int64_t *)p);
		break;
	case REC_U32:
		sqlite3_bind_int64(s, at, *(const uint32_t *)p);
		break;
	case REC_F64:
		sqlite3_bind_double(s, at, *(const double *)p);
		break;
	case REC_TEXT:
		archive_bind_text(s, at,
				  (struct bytes){ ((const struct bytes *)p)->p
							  ? ((const struct bytes *)p)->p
							  : "",
						  ((const struct bytes *)p)->n });
		break;
	}
}

static int keep_record(struct archive_writer *a, const struct record *r, struct err *e)
{
	const struct record_def *def = record_builtin(r->kind);
	sqlite3_stmt *s;

	if (!def || def->kind >= RECORD_KINDS_MAX)
		return 0;
	if (!a->record_to[def->kind] && prepare_kind(a, def, e))
		return e->code;
	s = a->record_to[def->kind];
	sqlite3_clear_bindings(s);
	sqlite3_bind_int64(s, 1, (int64_t)++a->records);
	sqlite3_bind_int64(s, 2, (int64_t)a->events);
	for (unsigned i = 0; i < def->nfields; i++) {
		if (record_has(r, def->fields[i].number))
			bind_field(s, (int)i + 3, r, &def->fields[i]);
	}
	return archive_step(a, s, e);
}

/* ---- how the machine was ---- */

static int take_sample(struct archive_writer *a, const struct record *r, struct err *e)
{
	static const uint16_t metrics[5] = { METRIC_CPU_BUSY, METRIC_MEM_USED, METRIC_MEM_AVAILABLE,
					     METRIC_SWAP_USED, METRIC_LOAD_1 };
	uint32_t node = REC_HAS(r, SAMPLE, node) ? r->u.SAMPLE.node : a->node;
	struct archive_snapshot *s = NULL;

	if (REC_HAS(r, SAMPLE, process) || REC_HAS(r, SAMPLE, cgroup) || REC_HAS(r, SAMPLE, gpu) ||
	    REC_HAS(r, SAMPLE, cpu) || REC_HAS(r, SAMPLE, device))
		return 0;
	for (unsigned i = 0; i < 5; i++) {
		if (r->u.SAMPLE.metric != metrics[i])
			continue;
		/* Those of one time come together. */
		for (size_t k = a->snapshot.n; k > 0 && a->snapshot.n - k < 64 && !s; k--) {
			if (a->snapshot.v[k - 1].time_ns == r->u.SAMPLE.time_ns &&
			    a->snapshot.v[k - 1].node == node)
				s = &a->snapshot.v[k - 1];
		}
		if (!s && !vec_push(&a->snapshot,
				    (struct archive_snapshot){ .time_ns = r->u.SAMPLE.time_ns,
							       .node = node }))
			return err_nomem(e);
		s = s ? s : &a->snapshot.v[a->snapshot.n - 1];
		s->value[i] = r->u.SAMPLE.value;
		s->has |= 1u << i;
	}
	return 0;
}

static struct bytes name_of_node(const struct archive_writer *a, uint32_t id)
{
	const struct world_node *node = world_get_node(a->w, id ? id : a->node);
	struct bytes name = world_text(a->w, node ? node->name : 0);

	return name.p ? name : bytes_of("");
}

static int write_snapshots(struct archive_writer *a, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(
		a, &s,
		"INSERT OR IGNORE INTO system_snapshots (timestamp, cpu_pct, mem_pct,"
		" mem_avail, swap_mb, load_avg, node) VALUES (?,?,?,?,?,?,?)",
		e);

	for (size_t i = 0; i < a->snapshot.n && !rc; i++) {
		const struct archive_snapshot *v = &a->snapshot.v[i];
		uint64_t total = 0;
		double memory;

		if (!(v->has & 3) || archive_utc(a, v->time_ns) < a->keep_from_ns)
			continue;
		map_get(&a->memory, v->node, &total);
		memory = total ? (double)total : v->value[1] + v->value[2];
		sqlite3_bind_int64(s, 1, archive_utc(a, v->time_ns));
		sqlite3_bind_double(s, 2, v->value[0]);
		sqlite3_bind_double(s, 3, memory > 0 ? 100 * v->value[1] / memory : 0);
		sqlite3_bind_int64(s, 4, llround(v->value[2] / MIB));
		sqlite3_bind_int64(s, 5, llround(v->value[3] / MIB));
		sqlite3_bind_double(s, 6, v->value[4]);
		archive_bind_text(s, 7, name_of_node(a, v->node));
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- one record ---- */

int archive_facts_add(struct archive_writer *a, const struct record *r, struct err *e)
{
	int rc = 0;

	switch (r->kind) {
	case RECORD_CLOCK:
		if (!a->has_clock && record_tells_time(r) && REC_HAS(r, CLOCK, mono_ns)) {
			a->offset_ns = (int64_t)((uint64_t)r->u.CLOCK.real_ns -
						 (uint64_t)r->u.CLOCK.mono_ns);
			a->has_clock = true;
		}
		break;
	case RECORD_NODE:
		if (!a->node)
			a->node = r->u.NODE.node;
		if (REC_HAS(r, NODE, memory_bytes))
			rc = map_put(&a->memory, r->u.NODE.node, r->u.NODE.memory_bytes)
				     ? 0
				     : err_nomem(e);
		break;
	case RECORD_PLACE:
		archive_rows_place(a, r);
		break;
	case RECORD_SAMPLE:
		rc = take_sample(a, r, e);
		break;
	case RECORD_SAMPLED:
		rc = archive_sums_left_out(a, r, e);
		break;
	default:
		break;
	}
	rc = rc ? rc : keep_record(a, r, e);
	return rc ? rc : archive_sessions_add(a, r, e);
}

int archive_facts_lost(struct archive_writer *a, uint64_t lost, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(a, &s,
				 "INSERT INTO lost_events VALUES (?1, ?2) ON CONFLICT DO UPDATE "
				 "SET count = count + ?2",
				 e);

	if (!rc) {
		sqlite3_bind_int64(s, 1, (int64_t)a->events);
		sqlite3_bind_int64(s, 2, (int64_t)lost);
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- in the end, from the tables of records ---- */

/* ?1: from the recording's clock to UTC; ?2: the node that records without one are about; ?3: when
 * it ended; ?4: who wrote it. */
static const char *const derived[] = {
	"INSERT INTO sessions (started_at, stopped_at, gpu_model, cpu_cores, mem_total, kernel,"
	" ingero_ver, pid_filter, flags, node, rank, local_rank, world_size)"
	" SELECT s.start_ns + ?1, ingero_session_end(s.n) + ?1,"
	" coalesce((SELECT g.name FROM gpus g WHERE g.node = coalesce(s.node, ?2) ORDER BY "
	"g.number), ''),"
	" coalesce(n.cpus, 0), coalesce(n.memory_bytes, 0) / 1048576, coalesce(n.kernel, ''),"
	" CASE WHEN s.tool LIKE 'ingero trace %' THEN substr(s.tool, 14) ELSE coalesce(s.tool, '') "
	"END,"
	" CASE WHEN s.target LIKE 'pid %' THEN replace(substr(s.target, 5), ' ', ',') ELSE '' END,"
	" coalesce(s.command, ''), coalesce((SELECT name FROM nodes WHERE id = coalesce(s.node, "
	"?2)), ''),"
	" p.rank, p.local_rank, p.world_size"
	" FROM session_records s LEFT JOIN"
	" (SELECT node, max(cpus) cpus, max(memory_bytes) memory_bytes, max(kernel) kernel FROM "
	"node_records GROUP BY node) n"
	" ON n.node = coalesce(s.node, ?2) LEFT JOIN"
	/* Of a node with one rank it is the session's, too. */
	" (SELECT q.node, min(r.rank) rank, min(r.local_rank) local_rank, min(r.world_size) "
	"world_size"
	"  FROM place_records r JOIN processes q ON q.id = r.process WHERE r.rank IS NOT NULL"
	"  GROUP BY q.node HAVING min(r.rank) = max(r.rank)) p ON p.node = coalesce(s.node, ?2)"
	/* Filters may name themselves and no time. */
	" WHERE s.start_ns IS NOT NULL",

	"INSERT INTO process_names SELECT p.pid, coalesce(i.comm, i.exe), max(?1 + coalesce("
	" (SELECT min(time_ns) FROM place_records WHERE process = p.id), ?3))"
	" FROM images i JOIN processes p ON p.id = i.process WHERE coalesce(i.comm, i.exe, '') <> "
	"'' GROUP BY p.pid",

	"INSERT INTO cgroup_metadata SELECT g.cgroup_id, coalesce(max(r.container), ''), "
	"coalesce(max(g.path), ''),"
	" coalesce(max(r.pod), ''), coalesce(max(r.namespace), '') FROM cgroups g"
	" LEFT JOIN contexts c ON c.cgroup = g.id LEFT JOIN images i ON i.id = c.image"
	" LEFT JOIN place_records r ON r.process = i.process GROUP BY g.cgroup_id",

	"INSERT INTO causal_chains SELECT id, time_ns + ?1,"
	" CASE severity WHEN 3 THEN 'HIGH' WHEN 2 THEN 'MEDIUM' ELSE 'LOW' END, coalesce(summary, "
	"''),"
	" coalesce(json_extract(body, '$.culprit.text'), ''), coalesce(summary, ''),"
	" coalesce((SELECT json_group_array(CASE type WHEN 'object' THEN json_extract(value, "
	"'$.text') ELSE value END) FROM "
	"json_each(body, '$.recommendations')), ''),"
	" coalesce(json_extract(body, '$.op'), ''), coalesce(json_extract(body, "
	"'$.symptom[0].p99_ns'), 0) / 1000,"
	" coalesce(json_extract(body, '$.symptom[0].p50_ns'), 0) / 1000,"
	" coalesce(1.0 * (json_extract(body, '$.symptom[0].p99_ns')) / nullif(json_extract(body, "
	"'$.symptom[0].p50_ns'), 0), 0),"
	" coalesce((SELECT json_group_array(json_object('layer', json_extract(value, '$.layer'), "
	"'op', coalesce(json_extract(value, '$.event.op'), ''),"
	"  'detail', coalesce(json_extract(value, '$.text'), ''), 'dur_us', "
	"coalesce(json_extract(value, '$.dur_ns'), 0) / 1000))"
	"  FROM json_each(body, '$.timeline') WHERE type = 'object'), ''),"
	" coalesce(json_extract(body, '$.node'), (SELECT name FROM nodes WHERE nodes.id = ?2), ''),"
	" kind, \"match\", revision, first_ns, last_ns, count, lost_ns, body"
	" FROM (SELECT *, max(revision * 4294967296 + n) FROM"
	"  (SELECT n, time_ns, id, \"match\", coalesce(revision, 0) revision, kind, severity, "
	"first_ns, last_ns, count, lost_ns,"
	"   summary, CASE WHEN json_valid(body) THEN body END body FROM chain_records WHERE id IS "
	"NOT NULL AND kind IS NOT 'go-agent') GROUP BY id)",

	/* Those of the Go agent, as it had them (lib/compat). */
	"INSERT OR IGNORE INTO causal_chains SELECT coalesce(json_extract(body, '$.id'), id),"
	" time_ns + ?1, coalesce(json_extract(body, '$.severity'), ''), coalesce(summary, ''),"
	" coalesce(json_extract(body, '$.root_cause'), ''),"
	" coalesce(json_extract(body, '$.explanation'), ''),"
	" coalesce(json_extract(body, '$.recommendations'), ''),"
	" coalesce(json_extract(body, '$.cuda_op'), ''),"
	" coalesce(json_extract(body, '$.cuda_p99_us'), 0),"
	" coalesce(json_extract(body, '$.cuda_p50_us'), 0),"
	" coalesce(json_extract(body, '$.tail_ratio'), 0),"
	" coalesce(json_extract(body, '$.timeline'), ''), coalesce(json_extract(body, '$.node'), "
	"''),"
	" NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
	" FROM chain_records WHERE kind = 'go-agent' AND json_valid(body)",

	"INSERT INTO schema_info VALUES ('version', '0.9'), ('timestamp_unit', 'nanoseconds since "
	"1970 UTC'),"
	" ('duration_unit', 'nanoseconds'), ('arg0_note', 'bytes of copies and allocations; "
	"function of a launch;"
	" sectors of 512 bytes; descriptor'), ('arg1_note', 'direction of a copy 0 H2H 1 H2D 2 D2H "
	"3 D2D 4 default;"
	" stream of a launch; sector; child of a fork'), ('ret_code_note', '0 is success; names "
	"are in error_names'),"
	" ('stack_traces_note', 'events.stack_hash = stack_traces.hash'),"
	" ('node_note', 'events.node; ids are {node}:{number}'), ('comm_note', 'the name of the "
	"thread, else of the process'),"
	" ('archive', '1'), ('clock_offset_ns', CAST(?1 AS TEXT)), ('node', CAST(?2 AS TEXT)), "
	"('tool', ?4)",
};

/* Deletes records that end before the first minute that is kept; records about the whole recording
 * stay. */
static const char *const old[] = {
	"DELETE FROM sample_records WHERE time_ns + ?1 < ?5",
	"DELETE FROM chain_records WHERE last_ns + ?1 < ?5",
	"DELETE FROM open_records WHERE time_ns + ?1 < ?5",
	"DELETE FROM asleep_records WHERE time_ns + ?1 < ?5",
	"DELETE FROM loss_records WHERE until_ns + ?1 < ?5",
	"DELETE FROM sampled_records WHERE until_ns + ?1 < ?5",
	"DELETE FROM thinned_records WHERE until_ns + ?1 < ?5",
	"DELETE FROM cost_records WHERE until_ns + ?1 < ?5",
	"DELETE FROM event_values WHERE seq <= ?6",
	"DELETE FROM lost_events WHERE after_seq < ?6",
	("INSERT INTO schema_info VALUES ('left_out_before', CAST(?5 AS TEXT)), "
	 "('left_out_events', "
	 "CAST(?6 AS TEXT))"),
};

static int run_statement(struct archive_writer *a, const char *sql, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(a, &s, sql, e);

	if (!rc) {
		sqlite3_bind_int64(s, 1, a->offset_ns);
		sqlite3_bind_int64(s, 2, a->node);
		sqlite3_bind_int64(s, 3, a->last_ns);
		sqlite3_bind_text(s, 4, a->opt.tool ? a->opt.tool : "", -1, SQLITE_STATIC);
		sqlite3_bind_int64(s, 5, a->keep_from_ns);
		sqlite3_bind_int64(s, 6, (int64_t)a->left_out_rows);
		sqlite3_bind_text(s, 7, a->opt.recordings, -1, SQLITE_STATIC);
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}

int archive_facts_end(struct archive_writer *a, struct err *e)
{
	int rc = archive_sessions_end(a, e);

	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]) && a->left_out_rows && !rc; i++)
		rc = run_statement(a, old[i], e);
	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]) && !rc; i++)
		rc = run_statement(a, derived[i], e);
	if (!rc && (a->whole_known ? a->whole : a->ended))
		rc = archive_exec(a, "INSERT INTO schema_info VALUES ('complete', '1')", e);
	if (!rc && a->opt.recordings && *a->opt.recordings)
		rc = run_statement(a, "INSERT INTO schema_info VALUES ('recordings', ?7)", e);
	return rc ? rc : write_snapshots(a, e);
}

void archive_facts_free(struct archive_writer *a)
{
	for (unsigned i = 0; i < RECORD_KINDS_MAX; i++)
		sqlite3_finalize(a->record_to[i]);
	archive_sessions_free(a);
	vec_free(&a->snapshot);
	map_free(&a->memory);
}
