/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same events and the same questions elsewhere: how often, how long in all, and the exact
 * quantiles of each operation, asked of a SQLite file with the tables and indices of the Go agent
 * (version 0.9.1 of its schema) and of lines of JSON with jq. CPU seconds of the question alone
 * against those of the whole of `ingero-stat --brief --exact`; and the sizes of the files. SQLite's
 * answers have to be the same numbers.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "lib/base/json.h"
#include "tests/bench/corpus.h"

#if defined(__has_include)
#if __has_include(<sqlite3.h>)
#include <sqlite3.h>
#define HAVE_SQLITE 1
#endif
#endif

#define EVENTS	  1000000
#define JQ_EVENTS 100000 /* jq holds all of them, at 20 us each */
#define RUNS	  5

struct answer {
	uint64_t count, total, p50, p95, p99;
};

struct other {
	FILE *lines;
	uint64_t nlines, nrows;
	bool failed;
#ifdef HAVE_SQLITE
	sqlite3 *db;
	sqlite3_stmt *event, *stack;
	uint8_t *has_stack; /* by world id */
	size_t nstacks;
#endif
};

static struct answer ours[UINT16_MAX + 1];

/* ---- lines of JSON ---- */

static void put_line(struct other *o, const struct world *w, const struct event *ev)
{
	const struct op_def *def = world_op(w, ev->op);
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);
	const struct world_thread *thread = ctx ? world_get_thread(w, ctx->thread) : NULL;

	if (o->nlines++ >= JQ_EVENTS)
		return;
	fprintf(o->lines,
		"{\"timestamp\":%" PRId64 ",\"tid\":%u,\"source\":\"%s\",\"op\":\"%s\","
		"\"dur_ns\":%" PRIu64 ",\"ret\":%d,\"stack\":%u",
		event_start(ev), thread ? thread->tid : 0, def->source_name, def->name, ev->dur_ns,
		ev->ret, ev->stack);
	for (unsigned i = 0; i < def->ncols; i++)
		if (ev->present >> i & 1)
			fprintf(o->lines, ",\"%s\":\"0x%" PRIx64 "\"",
				world_column(w, def->cols[i])->name, ev->x[i]);
	fputs("}\n", o->lines);
}

static double ask_jq(const char *path)
{
	char *argv[] = {
		"jq",
		"-s",
		"-c",
		"group_by(.source, .op) | map((map(.dur_ns) | sort) as $d | ($d | length) as $n | "
		"{op: .[0].op, count: $n, total: ($d | add), p50: $d[($n * 0.5 | ceil) - 1], "
		"p95: $d[($n * 0.95 | ceil) - 1], p99: $d[($n * 0.99 | ceil) - 1]})",
		(char *)path,
		NULL
	};

	return bench_run(argv, -1, -1, NULL);
}

/* ---- SQLite ---- */

#ifdef HAVE_SQLITE
static const char tables[] = "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN;"
			     "CREATE TABLE events (id TEXT PRIMARY KEY, timestamp INTEGER NOT "
			     "NULL, pid INTEGER NOT NULL,"
			     " tid INTEGER NOT NULL, source INTEGER NOT NULL, op INTEGER NOT NULL, "
			     "duration INTEGER NOT NULL,"
			     " gpu_id INTEGER NOT NULL DEFAULT 0, arg0 INTEGER NOT NULL DEFAULT 0, "
			     "arg1 INTEGER NOT NULL DEFAULT 0,"
			     " ret_code INTEGER NOT NULL DEFAULT 0, stack_hash INTEGER NOT NULL "
			     "DEFAULT 0, node TEXT NOT NULL"
			     " DEFAULT '', rank INTEGER, local_rank INTEGER, world_size INTEGER, "
			     "stack_ips TEXT NOT NULL DEFAULT '',"
			     " cgroup_id INTEGER NOT NULL DEFAULT 0);"
			     "CREATE TABLE stack_traces (hash INTEGER PRIMARY KEY, ips TEXT NOT "
			     "NULL, frames TEXT NOT NULL DEFAULT '')";

/* Made afterwards: quicker for us, and denser than they grow in use. */
static const char indices[] =
	"CREATE INDEX idx_events_timestamp ON events(timestamp);"
	"CREATE INDEX idx_events_pid ON events(pid);"
	"CREATE INDEX idx_events_source_op_stack ON events(source, op, stack_hash);"
	"CREATE INDEX idx_events_cgroup ON events(cgroup_id) WHERE cgroup_id != 0; COMMIT";

static const char question[] =
	"WITH r AS (SELECT source, op, duration,"
	" ROW_NUMBER() OVER (PARTITION BY source, op ORDER BY duration) AS k,"
	" COUNT(*) OVER (PARTITION BY source, op) AS n FROM events) "
	"SELECT source << 8 | op, MAX(n), SUM(duration),"
	" MAX(CASE WHEN k = (n * 50 + 99) / 100 THEN duration END),"
	" MAX(CASE WHEN k = (n * 95 + 99) / 100 THEN duration END),"
	" MAX(CASE WHEN k = (n * 99 + 99) / 100 THEN duration END) FROM r GROUP BY source, op";

static void put_stack(struct other *o, const struct world *w, uint32_t id)
{
	static struct buf ips, text;
	unsigned n;
	const uint32_t *frames = world_get_stack(w, id, &n);

	if (id >= o->nstacks) {
		uint8_t *more = realloc(o->has_stack, id * 2 + 64);

		if (!more) {
			o->failed = true;
			return;
		}
		memset(more + o->nstacks, 0, id * 2 + 64 - o->nstacks);
		o->has_stack = more;
		o->nstacks = id * 2 + 64;
	}
	if (!id || o->has_stack[id])
		return;
	o->has_stack[id] = 1;
	buf_reset(&ips);
	buf_reset(&text);
	for (unsigned i = 0; i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);
		const struct world_symbol *s = world_get_symbol(w, frames[i]);
		struct bytes name = s ? world_text(w, s->name) : (struct bytes){ "", 0 };

		buf_printf(&ips, "%s\"0x%" PRIx64 "\"", i ? "," : "[", 0x7f0000000000 + f->offset);
		buf_printf(&text, "%s{\"s\":\"%.*s+0x%" PRIx64 "\",\"f\":\"libtorch_cuda.so\"}",
			   i ? "," : "[", (int)name.n, name.p, s ? s->delta : 0);
	}
	buf_puts(&ips, "]");
	buf_puts(&text, "]");
	sqlite3_bind_int64(o->stack, 1, (int64_t)(id * 0x9e3779b97f4a7c15u));
	sqlite3_bind_text(o->stack, 2, ips.p, (int)ips.n, SQLITE_STATIC);
	sqlite3_bind_text(o->stack, 3, text.p, (int)text.n, SQLITE_STATIC);
	o->failed |= sqlite3_step(o->stack) != SQLITE_DONE;
	sqlite3_reset(o->stack);
}

static void put_row(struct other *o, const struct world *w, const struct event *ev)
{
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);
	const struct world_thread *thread = ctx ? world_get_thread(w, ctx->thread) : NULL;
	const struct world_process *p = thread ? world_get_process(w, thread->process) : NULL;
	char id[40];
	int n = snprintf(id, sizeof(id), "node-0:%" PRIu64, ++o->nrows);
	const int64_t values[] = { event_start(ev),
				   p ? p->tgid : 0,
				   thread ? thread->tid : 0,
				   ev->op >> 8,
				   ev->op & 255,
				   (int64_t)ev->dur_ns,
				   (int64_t)ev->x[0],
				   (int64_t)ev->x[1],
				   ev->ret,
				   (int64_t)(ev->stack * 0x9e3779b97f4a7c15u),
				   p ? (p->tgid - 1000) / 100 : 0 };

	put_stack(o, w, ev->stack);
	sqlite3_bind_text(o->event, 1, id, n, SQLITE_STATIC);
	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		sqlite3_bind_int64(o->event, (int)i + 2, values[i]);
	o->failed |= sqlite3_step(o->event) != SQLITE_DONE;
	sqlite3_reset(o->event);
}

static bool open_db(struct other *o, const char *path)
{
	return sqlite3_open(path, &o->db) == SQLITE_OK &&
	       sqlite3_exec(o->db, tables, NULL, NULL, NULL) == SQLITE_OK &&
	       sqlite3_prepare_v2(o->db,
				  "INSERT INTO events (id, timestamp, pid, tid, source, op, "
				  "duration, arg0, arg1,"
				  " ret_code, stack_hash, node, rank, local_rank, world_size)"
				  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
				  "'node-0', ?12, ?12, 8)",
				  -1, &o->event, NULL) == SQLITE_OK &&
	       sqlite3_prepare_v2(o->db, "INSERT INTO stack_traces VALUES (?1, ?2, ?3)", -1,
				  &o->stack, NULL) == SQLITE_OK;
}

static bool close_db(struct other *o)
{
	sqlite3_finalize(o->event);
	sqlite3_finalize(o->stack);
	o->failed |= sqlite3_exec(o->db, indices, NULL, NULL, NULL) != SQLITE_OK;
	free(o->has_stack);
	return sqlite3_close(o->db) == SQLITE_OK && !o->failed;
}

/* CPU seconds; below 0: it failed, or says something else than we do. */
static double ask_sqlite(const char *path)
{
	sqlite3_stmt *q = NULL;
	sqlite3 *db = NULL;
	double from = bench_cpu_s();
	unsigned rows = 0, wrong = 0;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, question, -1, &q, NULL) != SQLITE_OK)
		return -1;
	while (sqlite3_step(q) == SQLITE_ROW) {
		const struct answer *a = &ours[sqlite3_column_int(q, 0) & UINT16_MAX];

		rows++;
		wrong += (uint64_t)sqlite3_column_int64(q, 1) != a->count ||
			 (uint64_t)sqlite3_column_int64(q, 2) != a->total ||
			 (uint64_t)sqlite3_column_int64(q, 3) != a->p50 ||
			 (uint64_t)sqlite3_column_int64(q, 4) != a->p95 ||
			 (uint64_t)sqlite3_column_int64(q, 5) != a->p99;
	}
	from = bench_cpu_s() - from;
	sqlite3_finalize(q);
	sqlite3_close(db);
	if (wrong)
		fprintf(stderr, "bench: versus: SQLite says otherwise of %u operations of %u\n",
			wrong, rows);
	return rows && !wrong ? from : -1;
}
#endif

/* ---- ours ---- */

static uint64_t number(struct json row, const char *key)
{
	struct json v = json_get(row, key);
	uint64_t n = (uint64_t)json_double(v, 0);

	json_free(v);
	return n;
}

static const struct op_def *op_of(struct json row)
{
	struct json source = json_get(row, "source"), name = json_get(row, "op");
	const struct op_def *ops, *found = NULL;
	unsigned n;

	ops = op_builtin_all(&n);
	for (unsigned i = 0; i < n; i++)
		if (bytes_equal(json_bytes(source), bytes_of(ops[i].source_name)) &&
		    bytes_equal(json_bytes(name), bytes_of(ops[i].name)))
			found = &ops[i];
	json_free(source);
	json_free(name);
	return found;
}

/* Our answers, as the program prints them. */
static bool learn(int fd)
{
	static char text[1 << 20];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	struct json all, rows;
	bool fine;

	if (n <= 0 || json_parse((struct bytes){ text, (size_t)n }, &all, NULL))
		return false;
	rows = json_get(all, "ops");
	fine = json_length(rows) > 0;
	for (size_t i = 0; i < json_length(rows); i++) {
		struct json row = json_at(rows, i);
		const struct op_def *op = op_of(row);

		if (op)
			ours[op->id] =
				(struct answer){ number(row, "count"), number(row, "total_ns"),
						 number(row, "p50_ns"), number(row, "p95_ns"),
						 number(row, "p99_ns") };
		fine &= op != NULL;
		json_free(row);
	}
	json_free(rows);
	json_free(all);
	return fine;
}

static double ask_ours(const char *path)
{
	const char *build = getenv("BUILD");
	char program[512];
	char *argv[] = { program, "--brief", "--exact", "--json", (char *)path, NULL };
	double best = 1e9;

	snprintf(program, sizeof(program), "%s/bin/ingero-stat", build ? build : "build");
	for (int i = 0; i < RUNS; i++) {
		FILE *out = tmpfile();
		double s = out ? bench_run(argv, -1, fileno(out), NULL) : -1;

		if (s < 0 || !learn(fileno(out)))
			return -1;
		fclose(out);
		best = s < best ? s : best;
	}
	return best;
}

static void each(void *arg, const struct world *w, const struct event *ev)
{
	struct other *o = arg;

	put_line(o, w, ev);
#ifdef HAVE_SQLITE
	put_row(o, w, ev);
#endif
}

static double size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (double)st.st_size;
}

static int compare(const char *ige, int fd, const char *db, const char *lines)
{
	struct other o = { .lines = fopen(lines, "w") };
	double mine, theirs;
	uint64_t n;

	if (!o.lines)
		return 1;
#ifdef HAVE_SQLITE
	if (!open_db(&o, db))
		return 1;
#endif
	n = bench_write_corpus(fd, bench_events(EVENTS), each, &o);
	if (fclose(o.lines) || !n)
		return 1;
	mine = ask_ours(ige);
	if (mine < 0)
		return 1;
#ifdef HAVE_SQLITE
	theirs = close_db(&o) ? ask_sqlite(db) : -1;
	if (theirs < 0)
		return 1;
	bench_say("ige.vs_sqlite_bytes_x", size_of(db) / size_of(ige), "x");
	bench_say("stat.vs_sqlite_x", theirs / mine, "x");
#else
	bench_skip("ige.vs_sqlite_bytes_x", "no headers of sqlite3 here");
	bench_skip("stat.vs_sqlite_x", "no headers of sqlite3 here");
#endif
	theirs = ask_jq(lines);
	if (theirs < 0)
		bench_skip("stat.vs_jq_x", "no jq here");
	else
		bench_say("stat.vs_jq_x",
			  theirs / (double)(n < JQ_EVENTS ? n : JQ_EVENTS) / (mine / (double)n),
			  "x");
	return 0;
}

int main(void)
{
	char ige[] = "/tmp/ingero-bench-XXXXXX", db[] = "/tmp/ingero-bench-XXXXXX",
	     lines[] = "/tmp/ingero-bench-XXXXXX";
	int fd, rc;

	/* It takes longer than all others together. */
	if (!bench_wanted("ige.vs_sqlite_bytes_x") && !bench_wanted("stat.vs_sqlite_x") &&
	    !bench_wanted("stat.vs_jq_x"))
		return 0;
	fd = mkstemp(ige);
	if (fd < 0 || close(mkstemp(db)) || close(mkstemp(lines)))
		return 1;
	rc = compare(ige, fd, db, lines);
	if (rc)
		fprintf(stderr, "bench: versus: failed\n");
	unlink(ige);
	unlink(db);
	unlink(lines);
	return rc;
}
