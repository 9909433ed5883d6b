/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes processes, threads and all else that events refer to, under the ids of the stream's world,
 * and the names of numbered things. Stacks are written when something refers to them; everything
 * else always is, for there is little of it.
 */
#include <stdio.h>

#include "lib/archive/ask.h"
#include "lib/archive/database.h"
#include "lib/archive/event_columns.h"
#include "lib/archive/archive_internal.h"

/* ---- names, before anything else ---- */

static int name_ops(struct archive_writer *a, struct err *e)
{
	struct archive_code_name c;
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(a, &s, "INSERT INTO ops VALUES (?,?,?,?)", e);

	for (unsigned i = 0; !rc && archive_code_name(i, &c); i++) {
		char text[128] = "";

		if (c.def)
			snprintf(text, sizeof(text), "%s:%s", c.def->source_name, c.def->name);
		sqlite3_bind_int(s, 1, c.code.source);
		sqlite3_bind_int(s, 2, c.code.op);
		sqlite3_bind_text(s, 3, c.name, -1, SQLITE_STATIC);
		archive_bind_text(s, 4, bytes_of(text));
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}

static int name_rest(struct archive_writer *a, struct err *e)
{
	static const struct {
		uint8_t source;
		int32_t ret;
	} codes[] = {
#define RUNTIME(code, name) { SOURCE_CUDA, code },
#define DRIVER(code, name)  { SOURCE_DRIVER, code },
#define NCCL(code, name)    { SOURCE_NCCL, code },
#include "formats/codes.def"
	};
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(a, &s, "INSERT INTO sources VALUES (?,?,?)", e);

	for (unsigned i = 0; !rc && archive_sources[i].name; i++) {
		sqlite3_bind_int(s, 1, archive_sources[i].id);
		sqlite3_bind_text(s, 2, archive_sources[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 3, archive_sources[i].text, -1, SQLITE_STATIC);
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	s = NULL;
	rc = rc ? rc : archive_prepare(a, &s, "INSERT INTO error_names VALUES (?,?,?)", e);
	for (size_t i = 0; !rc && i < sizeof(codes) / sizeof(codes[0]); i++) {
		sqlite3_bind_int(s, 1, codes[i].source);
		sqlite3_bind_int(s, 2, codes[i].ret);
		sqlite3_bind_text(s, 3, event_error_name(codes[i].source, codes[i].ret), -1,
				  SQLITE_STATIC);
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	s = NULL;
	rc = rc ? rc : archive_prepare(a, &s, "INSERT INTO metrics VALUES (?,?,?,?)", e);
	for (uint16_t i = 1; !rc && i < 1024; i++) {
		const struct metric_def *m = metric_builtin(i);

		if (!m)
			continue;
		sqlite3_bind_int(s, 1, m->id);
		sqlite3_bind_text(s, 2, m->name, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 3, m->unit, -1, SQLITE_STATIC);
		sqlite3_bind_int(s, 4, m->counter);
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}

static int add_column(struct archive_writer *a, const char *table, const char *name,
		      const char *type, struct err *e)
{
	struct buf sql = { 0 };
	int rc;

	if (archive_database_column(a->db, table, name))
		return 0;
	buf_printf(&sql, "ALTER TABLE %s ADD COLUMN \"%s\" %s", table, name, type);
	rc = sql.failed ? err_nomem(e) : archive_exec(a, buf_text(&sql), e);
	buf_free(&sql);
	return rc;
}

/* What formats/ defines and the text of the schema forgot is there all the same, at the end: a test
 * holds the text to it. */
static int complete_schema(struct archive_writer *a, struct err *e)
{
	static const char *const types[] = { [REC_I64] = "INTEGER",
					     [REC_U64] = "INTEGER",
					     [REC_U32] = "INTEGER",
					     [REC_F64] = "REAL",
					     [REC_TEXT] = "TEXT" };
	unsigned kinds;
	const struct record_def *all = record_builtin_all(&kinds);
	char table[64];
	int rc = 0;

	for (unsigned k = 0; k < kinds && !rc; k++) {
		struct buf sql = { 0 };

		snprintf(table, sizeof(table), "%s_records", all[k].name);
		buf_printf(&sql,
			   "CREATE TABLE IF NOT EXISTS %s (n INTEGER PRIMARY KEY, after_seq "
			   "INTEGER NOT NULL)",
			   table);
		rc = sql.failed ? err_nomem(e) : archive_exec(a, buf_text(&sql), e);
		buf_free(&sql);
		for (unsigned i = 0; i < all[k].nfields && !rc; i++)
			rc = add_column(a, table, all[k].fields[i].name,
					types[all[k].fields[i].type], e);
	}
	for (unsigned id = 1; id < 65536 && !rc; id++) {
		const struct column_def *c = column_builtin((uint16_t)id);

		if (c)
			rc = add_column(a, "events", archive_column_name(c), "INTEGER", e);
	}
	return rc;
}

int archive_names_write(struct archive_writer *a, struct err *e)
{
	int rc = archive_exec(a, archive_schema(), e);

	rc = rc ? rc : complete_schema(a, e);
	if (!rc)
		rc = name_ops(a, e);
	return rc ? rc : name_rest(a, e);
}

/* ---- subjects: a row each ---- */

static void bind_string(struct archive_writer *a, sqlite3_stmt *s, int i, uint32_t string)
{
	archive_bind_text(s, i, world_text(a->w, string));
}

static void bind_node(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_node *v = world_get_node(a->w, id);
	char uuid[33];

	for (unsigned i = 0; i < 16; i++)
		snprintf(uuid + 2 * i, 3, "%02x", v->uuid[i]);
	archive_bind_text(s, 2, (struct bytes){ uuid, 32 });
	sqlite3_bind_int64(s, 3, (int64_t)v->boot);
	bind_string(a, s, 4, v->name);
}

static void bind_process(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_process *v = world_get_process(a->w, id);

	archive_bind_id(s, 2, v->node);
	sqlite3_bind_int64(s, 3, v->tgid);
	sqlite3_bind_int64(s, 4, (int64_t)v->start_ns);
	sqlite3_bind_int64(s, 5, v->parent);
	sqlite3_bind_int64(s, 6, v->ns_tgid);
	sqlite3_bind_int64(s, 7, v->uid);
}

static void bind_image(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_image *v = world_get_image(a->w, id);

	archive_bind_id(s, 2, v->process);
	sqlite3_bind_int64(s, 3, v->exec);
	bind_string(a, s, 4, v->exe);
	bind_string(a, s, 5, v->cmdline);
	bind_string(a, s, 6, v->comm);
}

static void bind_thread(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_thread *v = world_get_thread(a->w, id);

	archive_bind_id(s, 2, v->process);
	sqlite3_bind_int64(s, 3, v->tid);
	sqlite3_bind_int64(s, 4, (int64_t)v->start_ns);
	bind_string(a, s, 5, v->comm);
}

static void bind_cgroup(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_cgroup *v = world_get_cgroup(a->w, id);

	archive_bind_id(s, 2, v->node);
	sqlite3_bind_int64(s, 3, (int64_t)v->id);
	bind_string(a, s, 4, v->path);
}

static void bind_gpu(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_gpu *v = world_get_gpu(a->w, id);

	archive_bind_id(s, 2, v->node);
	bind_string(a, s, 3, v->uuid);
	bind_string(a, s, 4, v->name);
	sqlite3_bind_int64(s, 5, v->index);
}

static void bind_module(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_module *v = world_get_module(a->w, id);

	bind_string(a, s, 2, v->path);
	bind_string(a, s, 3, v->build_id);
}

static void bind_frame(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_frame *v = world_get_frame(a->w, id);
	const struct world_symbol *symbol = world_get_symbol(a->w, id);

	sqlite3_bind_int(s, 2, v->kind);
	archive_bind_id(s, 3, v->module);
	sqlite3_bind_int64(s, 4, (int64_t)v->offset);
	bind_string(a, s, 5, v->name);
	bind_string(a, s, 6, v->file);
	if (!symbol)
		return;
	bind_string(a, s, 7, symbol->name);
	bind_string(a, s, 8, symbol->file);
	sqlite3_bind_int64(s, 9, symbol->line);
	sqlite3_bind_int64(s, 10, (int64_t)symbol->delta);
}

static void bind_ctx(struct archive_writer *a, sqlite3_stmt *s, uint32_t id)
{
	const struct world_ctx *v = world_get_ctx(a->w, id);

	archive_bind_id(s, 2, v->node);
	archive_bind_id(s, 3, v->image);
	archive_bind_id(s, 4, v->thread);
	archive_bind_id(s, 5, v->cgroup);
	archive_bind_id(s, 6, v->gpu);
}

static int write_kind(struct archive_writer *a, enum world_kind kind, const char *sql,
		      void (*bind)(struct archive_writer *, sqlite3_stmt *, uint32_t),
		      struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(a, &s, sql, e);

	for (uint32_t id = 1; !rc && id <= world_count(a->w, kind); id++) {
		sqlite3_clear_bindings(s);
		sqlite3_bind_int64(s, 1, id);
		bind(a, s, id);
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- what the recording brought with it ---- */

static int write_columns(struct archive_writer *a, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(a, &s, "INSERT INTO columns VALUES (?,?,?,?)", e);

	for (unsigned id = 1; !rc && id < 65536; id++) {
		const struct column_def *c = world_column(a->w, (uint16_t)id);

		if (!c || column_builtin((uint16_t)id))
			continue;
		sqlite3_bind_int(s, 1, c->id);
		archive_bind_text(s, 2, bytes_of(c->name));
		sqlite3_bind_int(s, 3, c->role);
		archive_bind_text(s, 4, bytes_of(c->unit));
		rc = archive_step(a, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}

static int write_ops(struct archive_writer *a, struct err *e)
{
	sqlite3_stmt *s = NULL, *name = NULL;
	struct buf cols = { 0 };
	int rc = archive_prepare(a, &s, "INSERT INTO op_definitions VALUES (?,?,?,?,?,?,?)", e);

	rc = rc ? rc : archive_prepare(a, &name, "INSERT INTO ops VALUES (?,?,?,?)", e);
	for (unsigned id = 1; !rc && id < 65536; id++) {
		const struct op_def *d = world_op(a->w, (uint16_t)id);

		if (!d || op_builtin((uint16_t)id))
			continue;
		buf_reset(&cols);
		for (unsigned i = 0; i < d->ncols; i++)
			buf_printf(&cols, "%c%u", i ? ',' : '[', d->cols[i]);
		buf_puts(&cols, d->ncols ? "]" : "[]");
		sqlite3_bind_int(s, 1, d->source);
		sqlite3_bind_int(s, 2, id & 0xff);
		archive_bind_text(s, 3, bytes_of(d->source_name));
		archive_bind_text(s, 4, bytes_of(d->name));
		sqlite3_bind_int(s, 5, d->track);
		sqlite3_bind_int64(s, 6, d->flags);
		archive_bind_text(s, 7, buf_bytes(&cols));
		rc = archive_step(a, s, e);
		sqlite3_bind_int(name, 1, d->source);
		sqlite3_bind_int(name, 2, (int)(id & 0xff) + ARCHIVE_FOREIGN_OP);
		archive_bind_text(name, 3, bytes_of(d->name));
		sqlite3_bind_null(name, 4);
		if (!rc)
			rc = archive_step(a, name, e);
	}
	sqlite3_finalize(s);
	sqlite3_finalize(name);
	buf_free(&cols);
	return rc;
}

int archive_subjects_write(struct archive_writer *a, struct err *e)
{
	static const struct {
		enum world_kind kind;
		const char *sql;
		void (*bind)(struct archive_writer *, sqlite3_stmt *, uint32_t);
	} kinds[] = {
		{ WORLD_NODE, "INSERT INTO nodes VALUES (?,?,?,?)", bind_node },
		{ WORLD_PROCESS, "INSERT INTO processes VALUES (?,?,?,?,?,?,?)", bind_process },
		{ WORLD_IMAGE, "INSERT INTO images VALUES (?,?,?,?,?,?)", bind_image },
		{ WORLD_THREAD, "INSERT INTO threads VALUES (?,?,?,?,?)", bind_thread },
		{ WORLD_CGROUP, "INSERT INTO cgroups VALUES (?,?,?,?)", bind_cgroup },
		{ WORLD_GPU, "INSERT INTO gpus VALUES (?,?,?,?,?)", bind_gpu },
		{ WORLD_MODULE, "INSERT INTO modules VALUES (?,?,?)", bind_module },
		{ WORLD_FRAME, "INSERT INTO frames VALUES (?,?,?,?,?,?,?,?,?,?)", bind_frame },
		{ WORLD_CTX, "INSERT INTO contexts VALUES (?,?,?,?,?,?)", bind_ctx },
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !rc; i++)
		rc = write_kind(a, kinds[i].kind, kinds[i].sql, kinds[i].bind, e);
	rc = rc ? rc : archive_stacks_write(a, e);
	rc = rc ? rc : write_columns(a, e);
	return rc ? rc : write_ops(a, e);
}
