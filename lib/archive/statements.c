/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs SQL statements while an archive is made: maps SQLite's errors to ours and binds text in a
 * form that any reader can read.
 */
#include "lib/archive/archive_internal.h"
#include "lib/base/oom_flag.h"
#include "lib/base/utf8.h"

int archive_failed(struct archive_writer *a, struct err *e)
{
	int code = a->db ? sqlite3_errcode(a->db) : SQLITE_NOMEM;

	if ((code & 0xff) == SQLITE_NOMEM)
		return err_nomem(e);
	return err_set(e, ERR_CANNOT, "cannot make the archive: %s", sqlite3_errmsg(a->db));
}

int archive_exec(struct archive_writer *a, const char *sql, struct err *e)
{
	return sqlite3_exec(a->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : archive_failed(a, e);
}

int archive_prepare(struct archive_writer *a, sqlite3_stmt **s, const char *sql, struct err *e)
{
	return sqlite3_prepare_v2(a->db, sql, -1, s, NULL) == SQLITE_OK ? 0 : archive_failed(a, e);
}

int archive_step(struct archive_writer *a, sqlite3_stmt *s, struct err *e)
{
	int rc = sqlite3_step(s) == SQLITE_DONE ? 0 : archive_failed(a, e);

	sqlite3_reset(s);
	return rc;
}

void archive_bind_text(sqlite3_stmt *s, int i, struct bytes text)
{
	size_t n = 0, len = 1;
	int rc;

	if (!text.p) {
		sqlite3_bind_null(s, i);
		return;
	}
	while (n < text.n && (len = utf8_length((const unsigned char *)text.p + n, text.n - n)))
		n += len;
	rc = len ? sqlite3_bind_text64(s, i, text.p, text.n, SQLITE_TRANSIENT, SQLITE_UTF8)
		 : sqlite3_bind_blob64(s, i, text.p, text.n, SQLITE_TRANSIENT);
	if (rc == SQLITE_NOMEM) /* it would be NULL */
		oom_flag_set();
}

void archive_bind_id(sqlite3_stmt *s, int i, uint32_t id)
{
	if (id)
		sqlite3_bind_int64(s, i, id);
	else
		sqlite3_bind_null(s, i);
}
