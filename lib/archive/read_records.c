/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an archive's records, from a table per kind. Column n, numbered across all kinds, is their
 * order, and after_seq is the event that each follows.
 */
#include <stdio.h>
#include <string.h>

#include "lib/archive/read_internal.h"

int read_records_pass(struct archive_reader *r, struct read_cursor *c, struct err *e)
{
	int rc = archive_database_next(r->db, r->path, c->s, e);

	c->n = c->after_seq = INT64_MAX;
	if (rc > 0) {
		c->n = sqlite3_column_int64(c->s, 0);
		c->after_seq = sqlite3_column_int64(c->s, 1);
	}
	return rc < 0 ? rc : 0;
}

int read_records_open(struct archive_reader *r, struct err *e)
{
	unsigned kinds;
	const struct record_def *all = record_builtin_all(&kinds);
	int rc = 0;

	for (unsigned k = 0; k < kinds && r->ncursors < READ_KINDS_MAX && !rc; k++) {
		struct read_cursor *c = &r->cursors[r->ncursors];
		const char *columns[2 + 32] = { "n", "after_seq" };
		char table[64];

		snprintf(table, sizeof(table), "%s_records", all[k].name);
		for (unsigned i = 0; i < all[k].nfields && i < 32; i++)
			columns[2 + i] = all[k].fields[i].name;
		rc = archive_database_select(r->db, r->path, &c->s, table, columns,
					     2 + all[k].nfields, "ORDER BY n", e);
		if (rc || !c->s)
			continue;
		c->def = &all[k];
		r->ncursors++;
		rc = read_records_pass(r, c, e);
	}
	return rc;
}

struct read_cursor *read_records_before(struct archive_reader *r, int64_t seq)
{
	struct read_cursor *first = NULL;

	for (unsigned i = 0; i < r->ncursors; i++) {
		if (r->cursors[i].n != INT64_MAX && (!first || r->cursors[i].n < first->n))
			first = &r->cursors[i];
	}
	return first && first->after_seq < seq ? first : NULL;
}

static uint64_t map_reference(const struct archive_reader *r, enum record_role role, int64_t value)
{
	switch (role) {
	case RROLE_NODE:
		return read_id(r, WORLD_NODE, value);
	case RROLE_PROCESS:
		return read_id(r, WORLD_PROCESS, value);
	case RROLE_THREAD:
		return read_id(r, WORLD_THREAD, value);
	case RROLE_CGROUP:
		return read_id(r, WORLD_CGROUP, value);
	case RROLE_GPU:
		return read_id(r, WORLD_GPU, value);
	case RROLE_STACK:
		return read_id(r, WORLD_STACK, value);
	default:
		return (uint64_t)value;
	}
}

void read_records_take(struct archive_reader *r, struct read_cursor *c)
{
	struct record *rec = &r->record;

	memset(rec, 0, sizeof(*rec));
	rec->kind = c->def->kind;
	for (unsigned i = 0; i < c->def->nfields; i++) {
		const struct record_field *f = &c->def->fields[i];
		void *p = (char *)&rec->u + f->offset;
		int at = (int)i + 2;

		if (sqlite3_column_type(c->s, at) == SQLITE_NULL)
			continue;
		rec->present |= 1u << (f->number - 1);
		switch (f->type) {
		case REC_I64:
		case REC_U64:
			*(int64_t *)p =
				(int64_t)map_reference(r, f->role, sqlite3_column_int64(c->s, at));
			break;
		case REC_U32:
			*(uint32_t *)p =
				(uint32_t)map_reference(r, f->role, sqlite3_column_int64(c->s, at));
			break;
		case REC_F64:
			*(double *)p = sqlite3_column_double(c->s, at);
			break;
		case REC_TEXT:
			*(struct bytes *)p = archive_database_text(c->s, at);
			if (!((struct bytes *)p)->p)
				*(struct bytes *)p = bytes_of("");
			break;
		}
	}
}
