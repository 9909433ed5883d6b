/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an older recording's metadata as records: who recorded what on which machine, how many
 * calls were made and not kept, and samples of the machine's CPU and memory.
 */
#include <stdio.h>
#include <string.h>

#include "lib/compat/agent_internal.h"
#include "lib/base/hash.h"
#include "lib/base/jsonw.h"

#define MINUTE_NS 60000000000 /* the agent counts per minute */
#define MIB	  1048576.0

enum stage {
	STAGE_SESSION,
	STAGE_NODE,
	STAGE_CLOCK,
	STAGE_PAUSES,
	STAGE_LOST,
	STAGE_LEFT_OUT,
	STAGE_CHAINS,
	STAGE_SAMPLES,
	STAGE_DONE
};

enum { S_START, S_STOP, S_CPUS, S_MEMORY, S_KERNEL, S_VERSION, S_PIDS, S_FLAGS, S_NODE, S_COLUMNS };

/* Of causal_chains, in this order; the first four and node are asked for themselves, too. */
static const char *const chain_columns[] = {
	"id",	       "detected_at",	  "severity", "summary",     "root_cause",
	"explanation", "recommendations", "cuda_op",  "cuda_p99_us", "cuda_p50_us",
	"tail_ratio",  "timeline",	  "node"
};
#define CHAIN_COLUMNS (sizeof(chain_columns) / sizeof(chain_columns[0]))

static void copy_text(struct agent_recording *l, unsigned i, const char *before, struct bytes text,
		      struct bytes *out)
{
	buf_reset(&l->text[i]);
	buf_puts(&l->text[i], before);
	buf_add(&l->text[i], text.p, text.n);
	*out = buf_bytes(&l->text[i]);
}

/* Rows are numbered as they are stored, per node: numbers that are missing are rows that were taken
 * out again, or whose storing failed. */
static int open_holes(struct agent_recording *l, struct err *e)
{
	static const char sql[] =
		"SELECT coalesce(since, 0), until, n, since IS NULL FROM"
		" (SELECT lag(timestamp) OVER w since, timestamp until,"
		"         seq - coalesce(lag(seq) OVER w, 0) - 1 n FROM"
		"  (SELECT timestamp, CAST(substr(id, instr(id, ':') + 1) AS INTEGER) seq,"
		"          substr(id, 1, instr(id, ':')) node FROM main.events)"
		"  WINDOW w AS (PARTITION BY node ORDER BY seq)) WHERE n > 0 ORDER BY since IS NOT "
		"NULL, "
		"until";
	sqlite3_stmt *first = NULL;
	int rc = 0;

	if (!archive_database_column(l->db, "events", "id"))
		return 0;
	if (sqlite3_prepare_v2(l->db, sql, -1, &l->holes, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(l->db,
			       "SELECT min(timestamp - CASE WHEN source IN (1, 4, 8) THEN 0 ELSE "
			       "duration END) FROM main.events",
			       -1, &first, NULL) != SQLITE_OK) {
		rc = archive_database_failed(l->db, l->path, e);
		goto out;
	}
	rc = archive_database_next(l->db, l->path, l->holes, e);
	l->has_hole = rc > 0;
	/* What is here begins with its first row when rows before it are gone. */
	if (rc > 0 && sqlite3_column_int(l->holes, 3)) {
		rc = archive_database_next(l->db, l->path, first, e);
		l->lost_since_ns = l->start_ns;
		if (rc > 0 && sqlite3_column_int64(first, 0) > l->start_ns)
			l->start_ns = sqlite3_column_int64(first, 0);
	}
out:
	sqlite3_finalize(first);
	return rc < 0 ? rc : 0;
}

int agent_facts_open(struct agent_recording *l, struct err *e)
{
	static const char *const session[S_COLUMNS] = { "started_at", "stopped_at", "cpu_cores",
							"mem_total",  "kernel",	    "ingero_ver",
							"pid_filter", "flags",	    "node" };
	static const char *const samples[] = { "timestamp", "cpu_pct",	"mem_pct", "mem_avail",
					       "swap_mb",   "load_avg", "node" };
	struct bytes name;
	int rc;

	if (archive_database_column(l->db, "sessions", "stopped_at") &&
	    archive_database_column(l->db, "sessions", "started_at") &&
	    sqlite3_prepare_v2(l->db,
			       "SELECT stopped_at, began FROM (SELECT stopped_at,"
			       " lead(started_at) OVER (ORDER BY started_at) began"
			       " FROM main.sessions) WHERE stopped_at > 0 AND began > stopped_at",
			       -1, &l->pauses, NULL) != SQLITE_OK)
		return archive_database_failed(l->db, l->path, e);
	rc = archive_database_select(l->db, l->path, &l->sessions, "sessions", session, S_COLUMNS,
				     "ORDER BY started_at LIMIT 1", e);
	if (rc == 0)
		rc = archive_database_select(l->db, l->path, &l->samples, "system_snapshots",
					     samples, 7, "ORDER BY timestamp", e);
	if (rc == 0 && archive_database_column(l->db, "causal_chains", "summary"))
		rc = archive_database_select(l->db, l->path, &l->chains, "causal_chains",
					     chain_columns, CHAIN_COLUMNS,
					     "ORDER BY detected_at, id", e);
	/* Rows of a minute that are there are counted: the agent's own count of them is of what it
	 * meant to keep. */
	if (rc == 0 && archive_database_table(l->db, "event_aggregates") &&
	    sqlite3_prepare_v2(
		    l->db,
		    "SELECT a.bucket, a.source, a.op, a.n - coalesce(k.n, 0) FROM"
		    " (SELECT bucket, source, op, sum(count) n FROM main.event_aggregates"
		    "  GROUP BY bucket, source, op) a LEFT JOIN"
		    " (SELECT timestamp - timestamp % 60000000000 bucket, source, op, count(*) n"
		    "  FROM main.events GROUP BY 1, 2, 3) k"
		    " ON a.bucket = k.bucket AND a.source = k.source AND a.op = k.op"
		    " ORDER BY 1, 2, 3",
		    -1, &l->aggregates, NULL) != SQLITE_OK) {
		archive_database_asked(l->db);
		l->aggregates = NULL; /* of a version that counts differently: nothing is known */
	}
	if (rc == 0)
		rc = archive_database_next(l->db, l->path, l->sessions, e);
	if (rc < 0)
		return rc;
	if (rc > 0) {
		l->start_ns = sqlite3_column_int64(l->sessions, S_START);
		l->latest_ns = sqlite3_column_int64(l->sessions, S_STOP);
		l->memory_bytes = (double)sqlite3_column_int64(l->sessions, S_MEMORY) * MIB;
		name = archive_database_text(l->sessions, S_NODE);
		l->started = true;
	} else {
		name = (struct bytes){ NULL, 0 };
	}
	if (!name.n)
		name = bytes_of(l->machine);
	l->node = agent_node(l, name);
	l->told.salt = (uint64_t)l->start_ns;
	return open_holes(l, e);
}

void agent_facts_close(struct agent_recording *l)
{
	sqlite3_finalize(l->sessions);
	sqlite3_finalize(l->holes);
	sqlite3_finalize(l->pauses);
	sqlite3_finalize(l->samples);
	sqlite3_finalize(l->chains);
	sqlite3_finalize(l->aggregates);
	for (unsigned i = 0; i < 3; i++)
		buf_free(&l->text[i]);
}

static void clock_record(struct agent_recording *l, int64_t ns, const char *source)
{
	struct record *r = &l->record;

	r->kind = RECORD_CLOCK;
	REC_SET(r, CLOCK, mono_ns, ns);
	REC_SET(r, CLOCK, real_ns, ns);
	REC_SET(r, CLOCK, source, bytes_of(source));
}

static void session_record(struct agent_recording *l)
{
	struct record *r = &l->record;
	struct bytes text, pids = archive_database_text(l->sessions, S_PIDS);

	r->kind = RECORD_SESSION;
	REC_SET(r, SESSION, start_ns, l->start_ns);
	copy_text(l, 0, "ingero trace ", archive_database_text(l->sessions, S_VERSION), &text);
	REC_SET(r, SESSION, tool, text);
	copy_text(l, 1, "", archive_database_text(l->sessions, S_FLAGS), &text);
	REC_SET(r, SESSION, command, text);
	copy_text(l, 2, pids.n ? "pid " : "all", pids, &text);
	REC_SET(r, SESSION, target, text);
	REC_SET(r, SESSION, off_cpu, l->off_cpu);
}

static void node_record(struct agent_recording *l)
{
	struct record *r = &l->record;
	const struct world_node *node = world_get_node(l->w, l->node);
	struct bytes text;

	r->kind = RECORD_NODE;
	REC_SET(r, NODE, node, l->node);
	if (node)
		REC_SET(r, NODE, hostname, world_text(l->w, node->name));
	if (!l->started)
		return;
	copy_text(l, 0, "", archive_database_text(l->sessions, S_KERNEL), &text);
	REC_SET(r, NODE, kernel, text);
	REC_SET(r, NODE, cpus, (uint32_t)sqlite3_column_int64(l->sessions, S_CPUS));
	REC_SET(r, NODE, memory_bytes, (uint64_t)l->memory_bytes);
}

/* A LOSS record with count 0 for the time between two sessions, which was not recorded. */
static int read_pause(struct agent_recording *l, bool *has, struct err *e)
{
	struct record *r = &l->record;
	int rc = archive_database_next(l->db, l->path, l->pauses, e);

	*has = rc > 0;
	if (rc <= 0)
		return rc;
	r->kind = RECORD_LOSS;
	REC_SET(r, LOSS, since_ns, sqlite3_column_int64(l->pauses, 0));
	REC_SET(r, LOSS, until_ns, sqlite3_column_int64(l->pauses, 1));
	REC_SET(r, LOSS, count, 0);
	l->told.pauses++;
	return 0;
}

static int read_loss(struct agent_recording *l, bool *has, struct err *e)
{
	struct record *r = &l->record;
	int64_t since, until;
	int rc;

	*has = l->has_hole;
	if (!*has)
		return 0;
	since = sqlite3_column_int64(l->holes, 0);
	until = sqlite3_column_int64(l->holes, 1);
	if (sqlite3_column_int(l->holes, 3)) {
		since = l->lost_since_ns;
		until = l->start_ns;
	}
	r->kind = RECORD_LOSS;
	REC_SET(r, LOSS, since_ns, since < until ? since : until);
	REC_SET(r, LOSS, until_ns, since < until ? until : since);
	REC_SET(r, LOSS, count, (uint64_t)sqlite3_column_int64(l->holes, 2));
	rc = archive_database_next(l->db, l->path, l->holes, e);
	l->has_hole = rc > 0;
	return rc < 0 ? rc : 0;
}

static int read_sampled(struct agent_recording *l, bool *has, struct err *e)
{
	struct record *r = &l->record;
	int rc;

	*has = false;
	while ((rc = archive_database_next(l->db, l->path, l->aggregates, e)) > 0) {
		int64_t bucket = sqlite3_column_int64(l->aggregates, 0),
			n = sqlite3_column_int64(l->aggregates, 3), until;
		uint16_t op = agent_op(sqlite3_column_int64(l->aggregates, 1),
				       sqlite3_column_int64(l->aggregates, 2));

		if (n <= 0 || !op || bucket < 0 || bucket > INT64_MAX - MINUTE_NS)
			continue;
		until = bucket + MINUTE_NS;
		if (l->latest_ns > bucket && until > l->latest_ns)
			until = l->latest_ns;
		r->kind = RECORD_SAMPLED;
		REC_SET(r, SAMPLED, since_ns, bucket > l->start_ns ? bucket : l->start_ns);
		REC_SET(r, SAMPLED, until_ns, until);
		REC_SET(r, SAMPLED, op, op);
		REC_SET(r, SAMPLED, left_out, (uint64_t)n);
		REC_SET(r, SAMPLED, reason, bytes_of("not kept"));
		*has = true;
		return 0;
	}
	return rc;
}

/* The row as JSON, which holds all of it. */
static void chain_body(struct agent_recording *l, struct buf *out)
{
	struct jsonw w;

	buf_reset(out);
	jsonw_init(&w, out, false);
	jsonw_object_begin(&w);
	for (unsigned i = 0; i < CHAIN_COLUMNS; i++) {
		switch (sqlite3_column_type(l->chains, (int)i)) {
		case SQLITE_INTEGER:
			jsonw_key_i64(&w, chain_columns[i],
				      sqlite3_column_int64(l->chains, (int)i));
			break;
		case SQLITE_FLOAT:
			jsonw_key_double(&w, chain_columns[i],
					 sqlite3_column_double(l->chains, (int)i));
			break;
		case SQLITE_NULL:
			break;
		default:
			jsonw_key_bytes(&w, chain_columns[i],
					archive_database_text(l->chains, (int)i));
		}
	}
	jsonw_object_end(&w);
}

/* A cause that the older agent found: kept under a kind of its own, as it is no finding of ours. */
static int read_chain(struct agent_recording *l, bool *has, struct err *e)
{
	struct record *r = &l->record;
	int rc = archive_database_next(l->db, l->path, l->chains, e);
	struct bytes id, severity, text;
	char hex[17];
	int64_t ns;

	*has = rc > 0;
	if (rc <= 0)
		return rc;
	id = archive_database_text(l->chains, 0);
	ns = sqlite3_column_int64(l->chains, 1);
	severity = archive_database_text(l->chains, 2);
	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)hash_bytes(id.p, id.n, 0));
	copy_text(l, 0, hex, (struct bytes){ NULL, 0 }, &text);
	r->kind = RECORD_CHAIN;
	REC_SET(r, CHAIN, time_ns, ns);
	REC_SET(r, CHAIN, id, text);
	REC_SET(r, CHAIN, match, text);
	REC_SET(r, CHAIN, revision, 1);
	REC_SET(r, CHAIN, kind, bytes_of(AGENT_CHAIN));
	REC_SET(r, CHAIN, severity,
		bytes_equal(severity, bytes_of("HIGH"))	    ? 3
		: bytes_equal(severity, bytes_of("MEDIUM")) ? 2
							    : 1);
	REC_SET(r, CHAIN, first_ns, ns);
	REC_SET(r, CHAIN, last_ns, ns);
	REC_SET(r, CHAIN, count, 1);
	REC_SET(r, CHAIN, lost_ns, 0);
	copy_text(l, 1, "", archive_database_text(l->chains, 3), &text);
	REC_SET(r, CHAIN, summary, text);
	chain_body(l, &l->text[2]);
	REC_SET(r, CHAIN, body, buf_bytes(&l->text[2]));
	return l->text[0].failed || l->text[1].failed || l->text[2].failed ? err_nomem(e) : 0;
}

struct sampled {
	uint16_t metric;
	int column;
	double unit; /* 0: a share of the memory in percent */
};

/* A metric is unknown if an older version has no column for it, or if it is a share of the memory
 * and the memory's size is unknown. */
static bool is_known(const struct agent_recording *l, const struct sampled *m, uint32_t node)
{
	return sqlite3_column_type(l->samples, m->column) != SQLITE_NULL &&
	       (m->unit > 0 || (l->memory_bytes > 0 && node == l->node));
}

static int read_sample(struct agent_recording *l, bool *has, struct err *e)
{
	static const struct sampled metrics[] = { { METRIC_CPU_BUSY, 1, 1 },
						  { METRIC_MEM_USED, 2, 0 },
						  { METRIC_MEM_AVAILABLE, 3, MIB },
						  { METRIC_SWAP_USED, 4, MIB },
						  { METRIC_LOAD_1, 5, 1 } };
	const unsigned n = sizeof(metrics) / sizeof(metrics[0]);
	struct record *r = &l->record;
	struct bytes name;
	uint32_t node;
	unsigned i;
	int rc;

	*has = false;
	do {
		i = l->metric % n;
		if (i == 0) {
			rc = archive_database_next(l->db, l->path, l->samples, e);
			if (rc <= 0)
				return rc;
		}
		l->metric++;
		name = archive_database_text(l->samples, 6);
		node = name.n ? agent_node(l, name) : l->node;
	} while (!is_known(l, &metrics[i], node));
	r->kind = RECORD_SAMPLE;
	REC_SET(r, SAMPLE, time_ns, sqlite3_column_int64(l->samples, 0));
	REC_SET(r, SAMPLE, metric, metrics[i].metric);
	REC_SET(r, SAMPLE, value,
		sqlite3_column_double(l->samples, metrics[i].column) *
			(metrics[i].unit > 0 ? metrics[i].unit : l->memory_bytes / 100));
	if (node != l->node)
		REC_SET(r, SAMPLE, node, node);
	*has = true;
	return 0;
}

int agent_facts_before(struct agent_recording *l, struct stream_item *item, struct err *e)
{
	bool has = false;
	int rc = 0;

	memset(&l->record, 0, sizeof(l->record));
	while (l->stage != STAGE_DONE && !has && rc == 0) {
		switch ((enum stage)l->stage) {
		case STAGE_SESSION:
			has = l->started;
			if (has)
				session_record(l);
			l->stage++;
			break;
		case STAGE_NODE:
			node_record(l);
			has = true;
			l->stage++;
			break;
		case STAGE_CLOCK:
			has = l->started;
			if (has)
				clock_record(l, l->start_ns, "start");
			l->stage++;
			break;
		case STAGE_PAUSES:
			rc = read_pause(l, &has, e);
			l->stage += !has;
			break;
		case STAGE_LOST:
			rc = read_loss(l, &has, e);
			l->stage += !has;
			break;
		case STAGE_LEFT_OUT:
			rc = read_sampled(l, &has, e);
			l->stage += !has;
			break;
		case STAGE_CHAINS:
			rc = read_chain(l, &has, e);
			l->stage += !has;
			break;
		default:
			rc = read_sample(l, &has, e);
			l->stage += !has;
			break;
		}
	}
	if (rc < 0 || !has)
		return rc;
	*item = (struct stream_item){ .kind = STREAM_RECORD,
				      .record = &l->record,
				      .watermark_ns = INT64_MIN,
				      .floor_ns = INT64_MIN };
	return 1;
}

void agent_facts_end(struct agent_recording *l, struct stream_item *item)
{
	memset(&l->record, 0, sizeof(l->record));
	if (l->emitted_ns > l->latest_ns)
		l->latest_ns = l->emitted_ns;
	clock_record(l, l->latest_ns, "end");
	*item = (struct stream_item){ .kind = STREAM_RECORD,
				      .record = &l->record,
				      .watermark_ns = l->latest_ns,
				      .floor_ns = l->latest_ns };
}
