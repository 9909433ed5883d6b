/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted SQLite database, opened read-only. Columns are selected by name, so that versions
 * with fewer of them can be read, too.
 */
#ifndef INGERO_ARCHIVE_DATABASE_H
#define INGERO_ARCHIVE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"

/* What was not yet merged into the file (FILE-wal) is read too where the folder allows it.
 * ERR_CANNOT: cannot be opened; ERR_DAMAGED: it is no database. */
int archive_database_open(sqlite3 **out, const char *path, struct err *e);

/* Everything that is read from now on takes steps in proportion to the file; beyond that it is
 * ERR_DAMAGED. For what reads whole tables: a tree whose pages share their children holds years of
 * rows in a few thousand bytes. */
int archive_database_bound(sqlite3 *db, const char *path, struct err *e);

/* What went wrong last, as an err: ERR_DAMAGED for what the file holds, ERR_NOMEM, ERR_CANNOT for
 * the rest. */
int archive_database_failed(sqlite3 *db, const char *path, struct err *e);

/* Call after a query whose errors are ignored because its table need not exist: records whether it
 * failed for lack of memory (lib/base/oom_flag.h). Before its statement is finalized. */
void archive_database_asked(sqlite3 *db);

/* Only tables are asked: a view may be any program. */
bool archive_database_table(sqlite3 *db, const char *table);
bool archive_database_column(sqlite3 *db, const char *table, const char *column);

/* Prepares "SELECT columns FROM table REST"; a column that the table does not have is NULL in every
 * row. n columns, at most
 * 24. *out NULL when there is no such table. */
int archive_database_select(sqlite3 *db, const char *path, sqlite3_stmt **out, const char *table,
			    const char *const *columns, unsigned n, const char *rest,
			    struct err *e);

/* 1: a row; 0: no more; < 0: error. A NULL statement has no rows. */
int archive_database_next(sqlite3 *db, const char *path, sqlite3_stmt *s, struct err *e);

/* Text or blob; no bytes for NULL. Borrowed until the next row. */
struct bytes archive_database_text(sqlite3_stmt *s, int column);

#endif
