/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens SQLite databases that others made, read-only. A file without a log beside it is opened as
 * immutable: no lock, no second file. Nothing is ever written, neither to the file nor beside it,
 * except where another program has it open and shares its locks.
 */
#include "lib/archive/database.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/archive/sqlite_memory.h"
#include "lib/base/buf.h"
#include "lib/base/oom_flag.h"

/*
 * Replaces the open(2) of SQLite, which waits for the other end of a pipe: a database can be
 * replaced by a FIFO after it was looked at, and a server's thread would stay in that call for
 * ever.
 */

static int open_at_once(const char *path, int flags, int mode)
{
	int fd = open(path, flags | O_NONBLOCK, mode);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
	    S_ISCHR(st.st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

static void replace_open(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

	/* All of SQLite's VFSs for Unix share one table of calls. */
	if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
		vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_at_once);
}

/* Before the first database of the process that others can replace is opened; again is nothing. */
static void archive_opening_bound(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, replace_open);
}

#define VALUE_MAX   (16 << 20) /* of a text: a stack takes a few KiB */
#define COLUMNS_MAX 24
#define PROGRAM_MAX 100000 /* steps of a statement's program; ours take a few hundred */
/* Steps allowed for each byte of the file; a file that takes more repeats itself: a page may name
 * itself as its child, so that a hundred bytes hold years of rows. A row takes 20 bytes or more and
 * a few hundred steps, with what is looked up. */
#define STEPS_PER_BYTE 512
#define STEPS_AT_LEAST (1 << 20)
#define STEPS_LOOKED   1000 /* at once */

static bool has_beside(const char *path, const char *ending)
{
	struct buf name = { 0 };
	struct stat st;
	bool has;

	buf_printf(&name, "%s%s", path, ending);
	has = stat(buf_text(&name), &st) == 0 && st.st_size > 0;
	buf_free(&name);
	return has;
}

static int on_progress(void *left)
{
	uint64_t *steps = left;

	*steps -= *steps < STEPS_LOOKED ? *steps : STEPS_LOOKED;
	return *steps == 0;
}

static void no_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	sqlite3_result_null(c);
}

int archive_database_bound(sqlite3 *db, const char *path, struct err *e)
{
	uint64_t *left = malloc(sizeof(*left));
	struct stat st;

	if (!left)
		return err_nomem(e);
	*left = STEPS_AT_LEAST;
	if (stat(path, &st) == 0 && (uint64_t)st.st_size < UINT64_MAX / 2 / STEPS_PER_BYTE)
		*left += (uint64_t)st.st_size * STEPS_PER_BYTE;
	/* A function that is never called: SQLite frees its context, `left`, when the database is
	 * closed, or at once on an error. */
	if (sqlite3_create_function_v2(db, "ingero_steps", 0, SQLITE_UTF8, left, no_function, NULL,
				       NULL, free) != SQLITE_OK)
		return archive_database_failed(db, path, e);
	sqlite3_progress_handler(db, STEPS_LOOKED, on_progress, left);
	return 0;
}

/* alone: nobody else has it open. */
static int open_as(sqlite3 **out, const char *path, const char *how, bool alone)
{
	struct buf uri = { 0 };
	int rc;

	buf_puts(&uri, "file:");
	if (*path == '/') /* two at its beginning would name a host */
		buf_puts(&uri, "//");
	for (const char *p = path; *p; p++) {
		if (strchr("?#%", *p))
			buf_printf(&uri, "%%%02X", (unsigned char)*p);
		else
			buf_putc(&uri, *p);
	}
	buf_printf(&uri, "?%s", how);
	archive_memory_watch();
	archive_opening_bound();
	rc = sqlite3_open_v2(buf_text(&uri), out,
			     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	buf_free(&uri);
	/* What only we read needs no index of the log beside it that others see, and its log stays
	 * as it is. */
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (rc == SQLITE_OK && alone)
		rc = sqlite3_exec(*out, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
	/* Opening reads nothing: this does. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(*out, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
	return rc;
}

int archive_database_failed(sqlite3 *db, const char *path, struct err *e)
{
	int code = db ? sqlite3_errcode(db) : SQLITE_NOMEM;
	int number = db ? sqlite3_system_errno(db) : 0;

	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return err_nomem(e);
	case SQLITE_INTERRUPT:
		return err_set(e, ERR_DAMAGED,
			       "%s: damaged SQLite database: it says the same over and over", path);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_TOOBIG:
	case SQLITE_FORMAT:
		return err_set(e, ERR_DAMAGED, "%s: damaged SQLite database: %s", path,
			       sqlite3_errmsg(db));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return err_set(
			e, ERR_CANNOT,
			"cannot read %s: another program is writing to it (try again, or copy it)",
			path);
	case SQLITE_READONLY:
		return err_set(e, ERR_CANNOT,
			       "cannot read %s: whoever wrote it did not finish (open it once with "
			       "sqlite3, which takes back what was begun)",
			       path);
	default:
		return err_set(e, ERR_CANNOT, "cannot read %s: %s%s%s", path, sqlite3_errmsg(db),
			       number ? ": " : "", number ? strerror(number) : "");
	}
}

int archive_database_open(sqlite3 **out, const char *path, struct err *e)
{
	/* Whoever has it open shares an index of the log; without one there is nobody to share it
	 * with. */
	bool log = has_beside(path, "-wal"), begun = has_beside(path, "-journal"),
	     alone = log && !begun && !has_beside(path, "-shm");
	int rc = open_as(out, path,
			 alone		? "mode=ro&vfs=unix-none"
			 : log || begun ? "mode=ro"
					: "immutable=1",
			 alone);

	/* Somebody who has it locked is in the middle of a change; so is one who left a journal. */
	if (rc != SQLITE_OK && log && !begun && (rc & 0xff) != SQLITE_NOTADB &&
	    (rc & 0xff) != SQLITE_BUSY) {
		sqlite3_close(*out);
		rc = open_as(out, path, "immutable=1", false);
	}
	if (rc != SQLITE_OK) {
		rc = archive_database_failed(*out, path, e);
		sqlite3_close(*out);
		*out = NULL;
		return rc;
	}
	sqlite3_db_config(*out, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(*out, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(*out, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	sqlite3_limit(*out, SQLITE_LIMIT_VDBE_OP, PROGRAM_MAX);
	sqlite3_exec(*out, "PRAGMA cell_size_check=1; PRAGMA mmap_size=0; PRAGMA temp_store=0",
		     NULL, NULL, NULL);
	return 0;
}

void archive_database_asked(sqlite3 *db)
{
	if (sqlite3_errcode(db) == SQLITE_NOMEM)
		oom_flag_set();
}

/* Whether a query of the schema, with the parameters a and b, has a row. */
static bool has_row(sqlite3 *db, const char *sql, const char *a, const char *b)
{
	sqlite3_stmt *s = NULL;
	bool is = false;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_text(s, 1, a, -1, SQLITE_STATIC);
		if (b)
			sqlite3_bind_text(s, 2, b, -1, SQLITE_STATIC);
		is = sqlite3_step(s) == SQLITE_ROW;
	}
	archive_database_asked(db);
	sqlite3_finalize(s);
	return is;
}

bool archive_database_table(sqlite3 *db, const char *table)
{
	return has_row(db,
		       "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 AND sql NOT "
		       "LIKE 'create virtual%'",
		       table, NULL);
}

bool archive_database_column(sqlite3 *db, const char *table, const char *column)
{
	return has_row(db, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", table, column);
}

int archive_database_select(sqlite3 *db, const char *path, sqlite3_stmt **out, const char *table,
			    const char *const *columns, unsigned n, const char *rest, struct err *e)
{
	struct buf sql = { 0 };
	int rc = 0;

	*out = NULL;
	if (!archive_database_table(db, table))
		return 0;
	buf_puts(&sql, "SELECT ");
	for (unsigned i = 0; i < n && i < COLUMNS_MAX; i++)
		if (archive_database_column(db, table, columns[i]))
			buf_printf(&sql, "%s\"%s\"", i ? ", " : "", columns[i]);
		else
			buf_puts(&sql, i ? ", NULL" : "NULL");
	buf_printf(&sql, " FROM main.%s %s", table, rest);
	if (sqlite3_prepare_v2(db, buf_text(&sql), -1, out, NULL) != SQLITE_OK)
		rc = archive_database_failed(db, path, e);
	buf_free(&sql);
	return rc;
}

int archive_database_next(sqlite3 *db, const char *path, sqlite3_stmt *s, struct err *e)
{
	int rc = s ? sqlite3_step(s) : SQLITE_DONE;

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : archive_database_failed(db, path, e);
}

struct bytes archive_database_text(sqlite3_stmt *s, int column)
{
	struct bytes text = { sqlite3_column_blob(s, column), 0 };

	text.n = text.p ? (size_t)sqlite3_column_bytes(s, column) : 0;
	return text;
}
