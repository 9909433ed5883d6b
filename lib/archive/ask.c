/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs SQL queries on a database under an SQLite authorizer. It allows reading columns, functions
 * except those that reach outside, and pragmas that describe tables. Opening the file read-only
 * would still let a statement attach another file, or load code.
 */
#include "lib/archive/ask.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/archive/database.h"
#include "lib/archive/sqlite_memory.h"

#define STEPS	    1000    /* of SQLite's machine between two looks at the clock: about 0.1 ms */
#define SQL_MAX	    65536   /* bytes of a statement */
#define VALUE_MAX   4194304 /* bytes of a value, made or read */
#define COLUMNS_MAX 500

struct archive_ask {
	sqlite3 *db;
	char *path;
	struct archive_ask_limits limits;
	int64_t until_ns; /* as now_ns has it */
	bool late, stopped, refused;
	char what[120]; /* was refused */
};

/* Statements run in the calling thread, so its CPU clock is the statement's. */
static int64_t now_ns(const struct archive_ask *q)
{
	struct timespec t;

	clock_gettime(q->limits.own_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int on_progress(void *ctx)
{
	struct archive_ask *q = ctx;

	q->late |= q->limits.time_ns && now_ns(q) > q->until_ns;
	q->stopped |= q->limits.stop && q->limits.stop(q->limits.ctx);
	return q->late || q->stopped;
}

static bool is_listed(const char *word, const char *const *list)
{
	for (; *list; list++) {
		if (word && !sqlite3_stricmp(word, *list))
			return true;
	}
	return false;
}

static int authorize_action(void *ctx, int action, const char *a, const char *b,
			    const char *database, const char *trigger)
{
	static const char *const outside[] = { "load_extension", "readfile",   "writefile", "edit",
					       "fts3_tokenizer", "sqlite_log", "lsmode",    NULL };
	static const char *const describing[] = { "table_info",
						  "table_xinfo",
						  "table_list",
						  "index_list",
						  "index_info",
						  "index_xinfo",
						  "collation_list",
						  "compile_options",
						  "function_list",
						  "database_list",
						  NULL };
	/* with an argument these would change something */
	static const char *const asking[] = { "user_version",	 "application_id", "page_count",
					      "page_size",	 "encoding",	   "freelist_count",
					      "integrity_check", "quick_check",	   NULL };
	struct archive_ask *q = ctx;

	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		if (!is_listed(b, outside))
			return SQLITE_OK;
		break;
	case SQLITE_PRAGMA:
		if (is_listed(a, describing) || (is_listed(a, asking) && !b))
			return SQLITE_OK;
		break;
	default:
		break;
	}
	q->refused = true;
	sqlite3_snprintf(sizeof(q->what), q->what, "%s%s%s",
			 action == SQLITE_FUNCTION ? "the function "
			 : action == SQLITE_PRAGMA ? "PRAGMA "
						   : "a statement that does not only read",
			 action == SQLITE_FUNCTION && b ? b
			 : action == SQLITE_PRAGMA && a ? a
							: "",
			 "");
	return SQLITE_DENY;
}

static void set_limits(sqlite3 *db)
{
	static const int limits[][2] = {
		{ SQLITE_LIMIT_LENGTH, VALUE_MAX },	    { SQLITE_LIMIT_SQL_LENGTH, SQL_MAX },
		{ SQLITE_LIMIT_COLUMN, COLUMNS_MAX },	    { SQLITE_LIMIT_EXPR_DEPTH, 200 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 100 },	    { SQLITE_LIMIT_VDBE_OP, 250000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 100 },	    { SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 }, { SQLITE_LIMIT_VARIABLE_NUMBER, 100 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },	    { SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(db, limits[i][0], limits[i][1]);
}

/* Tables that SQLite makes of functions are made when they are first met, by what looks like a
 * change of the schema: that has to be over before changes are refused. */
static void meet_functions(sqlite3 *db)
{
	static const char *const names[] = { "json_each",
					     "json_tree",
					     "pragma_table_info",
					     "pragma_table_xinfo",
					     "pragma_table_list",
					     "pragma_index_list",
					     "pragma_index_info",
					     "pragma_index_xinfo",
					     "pragma_function_list",
					     "pragma_compile_options",
					     "pragma_page_count",
					     "pragma_page_size" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char sql[80];

		sqlite3_snprintf(sizeof(sql), sql, "SELECT 1 FROM %s LIMIT 0", names[i]);
		sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
}

int archive_ask_open(struct archive_ask **out, const char *path,
		     const struct archive_ask_limits *limits, struct err *e)
{
	struct archive_ask *q = calloc(1, sizeof(*q));
	int rc = q && (q->path = strdup(path)) ? 0 : err_nomem(e);

	*out = NULL;
	rc = rc ? rc : archive_database_open(&q->db, path, e);
	if (rc) {
		archive_ask_free(q);
		return rc;
	}
	q->limits = *limits;
	set_limits(q->db);
	sqlite3_exec(q->db, limits->memory_bytes ? "PRAGMA temp_store=2" : "PRAGMA temp_store=1",
		     NULL, NULL, NULL);
	sqlite3_exec(q->db, "PRAGMA query_only=1; PRAGMA cache_size=-32768", NULL, NULL, NULL);
	meet_functions(q->db);
	sqlite3_set_authorizer(q->db, authorize_action, q);
	sqlite3_progress_handler(q->db, STEPS, on_progress, q);
	*out = q;
	return 0;
}

bool archive_ask_partial(struct archive_ask *q)
{
	sqlite3_stmt *s = NULL;
	bool partial = false;

	/* The older agent's have no row of that name. */
	if (sqlite3_prepare_v2(
		    q->db,
		    "SELECT 1 FROM main.schema_info WHERE key = 'archive' AND NOT EXISTS "
		    "(SELECT 1 FROM main.schema_info WHERE key = 'complete')",
		    -1, &s, NULL) == SQLITE_OK)
		partial = sqlite3_step(s) == SQLITE_ROW;
	archive_database_asked(q->db);
	sqlite3_finalize(s);
	return partial;
}

void archive_ask_limit(struct archive_ask *q, const struct archive_ask_limits *limits)
{
	q->limits = *limits;
}

static int set_sql_error(struct archive_ask *q, struct err *e)
{
	if (q->refused)
		return err_set(e, ERR_USAGE, "refused: %s (questions only read)", q->what);
	switch (sqlite3_errcode(q->db) & 0xff) {
	case SQLITE_INTERRUPT:
		if (q->late)
			return err_set(e, ERR_LIMIT, "it took longer than %.3g s%s and was ended",
				       (double)q->limits.time_ns / 1e9,
				       q->limits.own_time ? " of processor time" : "");
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	case SQLITE_NOMEM:
		if (q->limits.memory_bytes)
			return err_set(e, ERR_LIMIT, "it took more memory than %llu MiB",
				       (unsigned long long)q->limits.memory_bytes >> 20);
		return err_nomem(e);
	case SQLITE_TOOBIG:
		return err_set(e, ERR_LIMIT, "a value or the statement is too large");
	case SQLITE_ERROR:
	case SQLITE_RANGE:
	case SQLITE_MISMATCH:
		return err_set(e, ERR_USAGE, "SQL: %s", sqlite3_errmsg(q->db));
	default:
		return archive_database_failed(q->db, q->path, e);
	}
}

/* Whether more than blanks, semicolons and comments follows. */
static bool more_follows(struct archive_ask *q, const char *tail)
{
	sqlite3_stmt *s = NULL;
	bool more;

	if (!tail || !*tail)
		return false;
	more = sqlite3_prepare_v2(q->db, tail, -1, &s, &tail) != SQLITE_OK || s;
	sqlite3_finalize(s);
	return more || (*tail && more_follows(q, tail));
}

static int prepare_statement(struct archive_ask *q, sqlite3_stmt **s, const char *sql,
			     struct err *e)
{
	const char *tail = NULL;

	q->refused = false;
	if (sqlite3_prepare_v2(q->db, sql, -1, s, &tail) != SQLITE_OK)
		return set_sql_error(q, e);
	if (!*s)
		return err_set(e, ERR_USAGE, "there is no statement in it");
	if (more_follows(q, tail))
		return err_set(e, ERR_USAGE, "one statement at a time");
	if (!sqlite3_stmt_readonly(*s))
		return err_set(e, ERR_USAGE, "refused: it would change something");
	return 0;
}

static void values_of(sqlite3_stmt *s, struct archive_value *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		v[i] = (struct archive_value){ .type = ARCHIVE_NULL };
		switch (sqlite3_column_type(s, (int)i)) {
		case SQLITE_INTEGER:
			v[i].type = ARCHIVE_INTEGER;
			v[i].integer = sqlite3_column_int64(s, (int)i);
			break;
		case SQLITE_FLOAT:
			v[i].type = ARCHIVE_REAL;
			v[i].real = sqlite3_column_double(s, (int)i);
			break;
		case SQLITE_NULL:
			break;
		default:
			v[i].type = sqlite3_column_type(s, (int)i) == SQLITE_TEXT ? ARCHIVE_TEXT
										  : ARCHIVE_BLOB;
			v[i].bytes = archive_database_text(s, (int)i);
			if (!v[i].bytes.p)
				v[i].bytes = bytes_of("");
			break;
		}
	}
}

static int run_statement(struct archive_ask *q, sqlite3_stmt *s, struct archive_answer *answer,
			 struct archive_asked *asked, struct err *e)
{
	unsigned n = (unsigned)sqlite3_column_count(s);
	struct archive_value *values = calloc(n + 1, sizeof(*values));
	const char **names = calloc(n + 1, sizeof(*names));
	int rc = values && names ? 0 : err_nomem(e), step;

	for (unsigned i = 0; i < n && !rc; i++) {
		names[i] = sqlite3_column_name(s, (int)i);
		rc = names[i] ? 0 : err_nomem(e);
	}
	rc = rc ? rc : answer->columns(answer, names, n, e);
	while (!rc) {
		step = sqlite3_step(s);
		if (step != SQLITE_ROW) {
			rc = step == SQLITE_DONE ? 0 : set_sql_error(q, e);
			break;
		}
		if (q->limits.rows && asked->rows >= q->limits.rows) {
			asked->truncated = true;
			break;
		}
		values_of(s, values, n);
		asked->rows++;
		rc = answer->row(answer, values, n, e);
	}
	free(values);
	free(names);
	return rc;
}

int archive_ask_run(struct archive_ask *q, const char *sql, struct archive_answer *answer,
		    struct archive_asked *asked, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc;

	*asked = (struct archive_asked){ 0 };
	q->late = q->stopped = false;
	q->until_ns = now_ns(q) + (int64_t)q->limits.time_ns;
	if (strlen(sql) > SQL_MAX)
		return err_set(e, ERR_LIMIT, "a statement of more than 64 KiB");
	archive_memory_allow(q->limits.memory_bytes);
	rc = prepare_statement(q, &s, sql, e);
	rc = rc ? rc : run_statement(q, s, answer, asked, e);
	sqlite3_finalize(s);
	asked->memory_bytes = archive_memory_most();
	asked->partial = !rc && archive_ask_partial(q);
	archive_memory_allow(0);
	return rc;
}

void archive_ask_free(struct archive_ask *q)
{
	if (!q)
		return;
	sqlite3_close(q->db);
	free(q->path);
	free(q);
}
